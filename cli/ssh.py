"""Log in on a host of a stack as its login user, or run a command there through a shell; its exit code is passed on."""

from __future__ import annotations

import argparse
import os
import sys

from cli.stack import hosts_of
from cli.surroundings import DEFAULT_STACK, checked_stack
from common.errors import UsageError
from common.names import nearest
from common.ssh import ssh_argv

HELP = "log in on a host, or run a command there"


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--stack", default=DEFAULT_STACK, help="default: %(default)s")
    parser.add_argument("host", metavar="HOST", help="e.g. broker-1")
    parser.add_argument("command", metavar="COMMAND", nargs=argparse.REMAINDER, help="none: a shell")


def run(arguments: argparse.Namespace) -> int:
    hosts = {host.name: host for host in hosts_of(checked_stack(arguments.stack))}
    if arguments.host not in hosts:
        raise UsageError(
            f"Stack {arguments.stack} has no host {arguments.host!r}.",
            details=f"Its hosts: {', '.join(hosts)}.",
            resolution=nearest(arguments.host, hosts).capitalize(),
        )
    command = arguments.command[1:] if arguments.command[:1] == ["--"] else arguments.command
    argv = ssh_argv(hosts[arguments.host].login, *command, interactive=not command and sys.stdin.isatty())
    os.execvp(argv[0], argv)
