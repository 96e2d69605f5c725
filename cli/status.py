"""Say whether a stack's hosts are well: each answers by its pinned key, systemd runs, disks have room.
Exit code 0 if all are.
"""

from __future__ import annotations

import json
import subprocess
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from cli.stack import StackHost, hosts_of
from cli.surroundings import DEFAULT_STACK, checked_stack
from common.errors import EXIT_FAILED
from common.ssh import ssh_argv

if TYPE_CHECKING:
    import argparse

HELP = "say whether the hosts are well"
LOOK_TIMEOUT_S = 30
# systemd's own word, then the fullest of the file systems that are disks.
LOOK = """
systemctl is-system-running
systemctl list-units --failed --plain --no-legend | cut -d' ' -f1 | tr '\\n' ' '; echo
df --local --output=pcent,target -x tmpfs -x devtmpfs -x squashfs | grep '% /' | grep -v ' /run/host' \\
  | sort -rn | sed 1q
"""
LOOK_LINES = 3
FULL_PERCENT = 95


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("stack", nargs="?", default=DEFAULT_STACK, help="default: %(default)s")
    parser.add_argument("--json", action="store_true", help="one JSON object on standard output")


def run(arguments: argparse.Namespace) -> int:
    stack = checked_stack(arguments.stack)
    hosts = hosts_of(stack)
    with ThreadPoolExecutor(max_workers=16) as pool:
        seen = list(pool.map(look, hosts))
    well = all(host["well"] for host in seen)
    if arguments.json:
        print(json.dumps({"stack": stack, "well": well, "hosts": seen}, indent=1))
    else:
        show(stack, seen)
    return 0 if well else EXIT_FAILED


def look(host: StackHost) -> dict[str, Any]:
    facts = {"name": host.name, "address": host.login.address, "roles": host.roles}
    try:
        done = subprocess.run(
            ssh_argv(host.login, LOOK), capture_output=True, text=True, timeout=LOOK_TIMEOUT_S, check=False
        )
    except subprocess.TimeoutExpired:
        return {**facts, "well": False, "state": "silent", "detail": f"no answer in {LOOK_TIMEOUT_S} s"}
    lines = done.stdout.splitlines()
    if len(lines) < LOOK_LINES:
        return {**facts, "well": False, "state": "unreachable", "detail": done.stderr.strip()}
    return {**facts, **judge(lines)}


def judge(lines: list[str]) -> dict[str, Any]:
    """What the three lines of LOOK mean."""
    state, failed, fullest = (line.strip() for line in lines[:LOOK_LINES])
    percent, _, folder = fullest.partition("% ")
    full = int(percent) >= FULL_PERCENT
    detail = f"failed: {failed}" if failed else f"{folder.strip()} {percent}% full"
    return {"well": state == "running" and not full, "state": "disk full" if full else state, "detail": detail}


def show(stack: str, hosts: list[dict[str, Any]]) -> None:
    rows = [("host", "address", "state", "detail", "roles")]
    rows += [(host["name"], host["address"], host["state"], host["detail"], ", ".join(host["roles"])) for host in hosts]
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    for row in rows:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
    ill = [host["name"] for host in hosts if not host["well"]]
    print(
        f"\nNot well: {', '.join(ill)}. ./kastellan up {stack} repairs what it made."
        if ill
        else "\nAll hosts are well."
    )
