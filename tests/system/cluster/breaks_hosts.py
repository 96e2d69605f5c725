"""Breaks on one host that need no restart: ports, files, users, limits, clocks, secrets that lie about."""

from __future__ import annotations

import base64
import contextlib
import shlex
from typing import TYPE_CHECKING

from tests.system.cluster.breaking import DROP_IN, HOST, QUIETLY, STOP, Ground, Sabotage, shell

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

PID = "$(systemctl show -p MainPID --value kafka)"
AS_KAFKA = "runuser -u kafka --"
HARD = f"$(awk '/open files/ {{print $5}}' /proc/{PID}/limits)"
SSHD = "/etc/ssh/sshd_config.d/00-sabotage.conf"
DATA = "/var/lib/kafka/data"
FILTER = "nft -f /etc/kastellan/firewall.nft"
LIBS = "/opt/kafka/versions/*/libs"
DATE = "/usr/local/bin/date"  # before the system's own in the path of whoever logs in


def nft(rule: str) -> str:
    """Before all other rules."""
    return f"nft insert rule inet kastellan input {rule}"


def kept_until_mended(path: str, content: str) -> str:
    return f"install -m 0600 /dev/null {path}; printf %s {shlex.quote(content)} > {path}"


PORTS = (
    Sabotage("a port that is let through", frozenset({65}), shell(nft("tcp dport 4444 accept"), FILTER)),
    Sabotage(
        "a stranger that listens", frozenset({1, 65}),
        shell(
            f"{QUIETLY} nc -lk 5005 && {nft('tcp dport 5005 accept')}",
            STOP, FILTER,
        ),
    ),
    Sabotage(
        "a stranger behind the packet filter", frozenset({1}), shell(f"{QUIETLY} nc -lk 5005", STOP),
        said={1: f"{HOST}: undeclared and listening, by others: [5005]"},
    ),
    Sabotage("controllers within reach", frozenset({51}), shell(nft("tcp dport 9093 accept"), FILTER)),
    Sabotage("brokers' listener within reach", frozenset({28}), shell(nft("tcp dport 9091 accept"), FILTER)),
)  # fmt: skip
PEOPLE = (
    Sabotage(
        "passwords for sshd", frozenset({64}),
        shell(
            f"echo 'PasswordAuthentication yes' > {SSHD} && systemctl reload ssh",
            f"rm -f {SSHD} && systemctl reload ssh",
        ),
    ),
    Sabotage(
        "sudo for the service", frozenset({57}),
        shell(
            "echo 'kafka ALL=(ALL) NOPASSWD: ALL' > /etc/sudoers.d/sabotage && chmod 0440 /etc/sudoers.d/sabotage",
            "rm -f /etc/sudoers.d/sabotage",
        ),
    ),
    Sabotage(
        "sudo for one command", frozenset({57}),
        shell(
            "echo 'kafka ALL=(root) NOPASSWD: /usr/bin/true' > /etc/sudoers.d/sabotage && chmod 0440 /etc/sudoers.d/sabotage",
            "rm -f /etc/sudoers.d/sabotage",
        ),
        said={57: f"{HOST}: rules of sudo for kafka:"},
    ),
    Sabotage(
        "root let in by sshd", frozenset({64}),
        shell(
            f"echo 'PermitRootLogin yes' > {SSHD} && systemctl reload ssh", f"rm -f {SSHD} && systemctl reload ssh",
        ),
        said={64: f"{HOST}: sshd has for root permitrootlogin yes"},
    ),
    Sabotage(
        "a shell for the service", frozenset({57}),
        shell("usermod -s /bin/bash kafka", "usermod -s /usr/sbin/nologin kafka"),
        said={57: f"{HOST}: a login of kafka:"},
    ),
)  # fmt: skip
FILES = (
    Sabotage(
        "an open configuration", frozenset({58}),
        shell(
            "chmod o+rx /etc/kafka && chmod o+r /etc/kafka/server.properties",
            "chmod o-rwx /etc/kafka /etc/kafka/server.properties",
        ),
    ),
    Sabotage(
        "an open file in a closed folder", frozenset({58}),
        shell("chmod o+r /etc/kafka/server.properties", "chmod o-r /etc/kafka/server.properties"),
        said={58: f"{HOST}: open to others under /etc/kafka: /etc/kafka/server.properties"},
    ),
    Sabotage(
        "a copy of the settings", frozenset({58}),
        shell("cp /etc/kafka/server.properties /var/tmp/sabotage", "rm -f /var/tmp/sabotage"),
        said={58: f"{HOST}: in temporary folders: /var/tmp/sabotage"},
    ),
    Sabotage(
        "data within reach of all", frozenset({58}), shell(f"chmod o+rx {DATA}", f"chmod o-rwx {DATA}"),
        said={58: f"{HOST}: {DATA} "},
    ),
    Sabotage(
        "a dump that lies about", frozenset({62}),
        shell("install -m 0600 -o kafka /dev/null /core.4711", "rm -f /core.4711"),
        said={62: f"{HOST}: dumps: /core.4711"},
    ),
    # The process keeps the file that it opened; what lies at its old path is a copy, so nothing misses it.
    Sabotage(
        "a jar by another name", frozenset({67}),
        shell(
            f"jar=$(readlink /proc/{PID}/fd/* | grep '^/opt/kafka/.*[.]jar$' | grep -v kafka-clients | sort | head -n 1)\n"
            'mv "$jar" "$jar.kept" && cp -p "$jar.kept" "$jar"',
            f'for kept in {LIBS}/*.jar.kept; do [ ! -e "$kept" ] || mv -f "$kept" "${{kept%.kept}}"; done',
        ),
        said={67: ".jar.kept"},
    ),
)  # fmt: skip
UNIT = (
    Sabotage(
        "few files", frozenset({63}),
        shell(
            f"{AS_KAFKA} prlimit --pid {PID} --nofile=4096:", f"{AS_KAFKA} prlimit --pid {PID} --nofile={HARD}:"
        ),
    ),
    Sabotage(
        "a unit that will cage less", frozenset({61}),
        shell(
            f"printf '[Service]\\nProtectSystem=no\\nProtectHome=no\\nPrivateTmp=no\\nRestrictNamespaces=no\\n"
            f"SystemCallFilter=\\n' > {DROP_IN} && systemctl daemon-reload",
            f"rm -f {DROP_IN} && systemctl daemon-reload",
        ),
        said={61: f"{HOST}: exposure"},
    ),
    # Hosts of this machine share its kernel's clock, so it is what the host says of the time that is ahead.
    Sabotage(
        "a clock that is ahead", frozenset({66}),
        shell(
            f"printf '#!/bin/sh\\nexec /usr/bin/date -d \"+2 seconds\" \"$@\"\\n' > {DATE} && chmod 0755 {DATE}",
            f"rm -f {DATE}",
        ),
        said={66: f"{HOST}: +"},
    ),
)  # fmt: skip


def planted(
    user: str, do: Callable[[str], str], *undo: str
) -> Callable[[Ground], contextlib.AbstractContextManager[None]]:
    """A user's password where it must not be; it goes there by standard input of root's shell."""

    @contextlib.contextmanager
    def act(ground: Ground) -> Iterator[None]:
        with shell(do(str(ground.cluster.bundle(user)["sasl.password"])), *undo)(ground):
            yield

    return act


def everywhere(secret: str) -> str:
    """In a process's environment, a log, a history and the unit: as it stands, in hex and in base64. The journal keeps
    what it has heard, so nothing is said to it: the transient unit has a description instead of its command.
    """
    coded = base64.b64encode(f"user:{secret}:".encode()).decode()
    return "\n".join((
        kept_until_mended("/run/sabotage.env", f"SABOTAGE={secret}\n"),
        f"{QUIETLY} --property EnvironmentFile=/run/sabotage.env sleep 600",
        kept_until_mended("/var/log/sabotage.log", secret.encode().hex()),
        kept_until_mended("/root/.sabotage_history", f"login --as {coded}\n"),
        f"printf '[Service]\\nEnvironment=SABOTAGE=%s\\n' {shlex.quote(secret)} > {DROP_IN}",
        f"chmod 0600 {DROP_IN} && systemctl daemon-reload",
    ))  # fmt: skip


LEFT_ABOUT = "/var/tmp/sabotage"  # noqa: S108  on a host of the test's own
SECRETS = (
    Sabotage(
        "a secret that lies about", frozenset({59}),
        planted(
            "usercc",
            lambda secret: kept_until_mended(LEFT_ABOUT, base64.b64encode(f"user:{secret}:".encode()).decode()),
            f"rm -f {LEFT_ABOUT}",
        ),
        said={59: "secrets: password of usercc in temporary files, homes and histories"},
        neighbours=(),
    ),
    Sabotage(
        "a secret in four places", frozenset({59}),
        planted(
            "usercc", everywhere, STOP, f"rm -f /run/sabotage.env /var/log/sabotage.log /root/.sabotage_history {DROP_IN}",
            "systemctl daemon-reload",
        ),
        said={59: "; ".join(f"password of usercc in {place}" for place in (
            "logs", "processes", "temporary files, homes and histories", "unit"))},
        neighbours=(57, 58, 61),
    ),
    Sabotage(
        "the first password in a history", frozenset({53}),
        planted(
            "admin", lambda secret: kept_until_mended("/root/.sabotage_history", f"add-scram {secret}\n"),
            "rm -f /root/.sabotage_history",
        ),
        beside=frozenset({59}),
        said={53: f"{HOST}: admin in temporary files, homes and histories"},
        neighbours=(57, 58),
    ),
)  # fmt: skip
HOSTS = (*PORTS, *PEOPLE, *FILES, *UNIT, *SECRETS)
