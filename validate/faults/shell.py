"""Root's shell on a host: a script goes in by standard input, what it prints comes out."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING, Protocol

from common.ssh import ssh_argv
from validate.faults.errors import FaultError, NoAccess

if TYPE_CHECKING:
    from validate.cluster import Host

SHOWN_LINES = 8
REFUSED = 3  # a script's own word that it cannot do what it should


class Shell(Protocol):
    """Runs a script as root on a host; tests put a stand-in here."""

    def __call__(self, host: Host, script: str, *, timeout_s: float) -> str: ...


def over_ssh(host: Host, script: str, *, timeout_s: float) -> str:
    """What the script printed. FaultError with its last words if it ended badly or not in time."""
    if host.login is None:
        raise NoAccess(
            f"There is no ssh access to {host.name}.",
            details="Its ssh is null in cluster.json.",
            resolution="Add user, port, key_file and known_hosts_file there, or run scenarios without faults.",
        )
    # A session of its own: Ctrl-C at the terminal must not kill a healing half-way.
    try:
        done = subprocess.run(
            ssh_argv(host.login, "sudo -n bash -s"), input=script, capture_output=True, text=True,
            timeout=timeout_s, check=False, start_new_session=True,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        raise FaultError(
            f"{host.name} did not finish a command within {timeout_s:.0f} s.",
            resolution=f"Look at {host.name}; python -m validate heal cleans up.",
        ) from None
    if done.returncode != 0:
        words = "\n".join((done.stderr.strip() or done.stdout.strip()).splitlines()[-SHOWN_LINES:])
        if done.returncode == REFUSED:
            raise FaultError(f"{host.name}: {words}")
        raise FaultError(
            f"A command on {host.name} ended with {done.returncode}.",
            details=words,
            resolution=f"The login user {host.login.user} needs sudo without a password, and the key must fit.",
        )
    return done.stdout.strip()
