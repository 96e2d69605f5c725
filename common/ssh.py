"""Reaching a host by ssh: always with the key that was pinned before the first login."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

CONNECT_TIMEOUT_S = 10


@dataclass(frozen=True)
class Login:
    address: str
    port: int
    user: str
    key_file: Path
    known_hosts_file: Path


def ssh_argv(login: Login, *command: str, interactive: bool = False) -> list[str]:
    """The command goes through a shell on the host, as ssh always does it."""
    options = {
        "UserKnownHostsFile": f'"{login.known_hosts_file}"',
        "StrictHostKeyChecking": "yes",
        "IdentitiesOnly": "yes",
        "BatchMode": "yes",
        "ConnectTimeout": str(CONNECT_TIMEOUT_S),
        "LogLevel": "ERROR",
    }
    argv = ["ssh", "-i", str(login.key_file), "-p", str(login.port)]
    for name, value in options.items():
        argv += ["-o", f"{name}={value}"]
    argv += ["-t"] if interactive else []
    return [*argv, f"{login.user}@{login.address}", *(["--", *command] if command else [])]
