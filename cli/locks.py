"""Pulumi's locks: one that a killed process left behind would refuse every later call."""

from __future__ import annotations

import json
import os
import socket
from typing import TYPE_CHECKING

from cli.surroundings import BACKEND

if TYPE_CHECKING:
    from pathlib import Path

LOCKS = BACKEND / ".pulumi" / "locks"


def dead_locks(stack: str, folder: Path = LOCKS) -> list[Path]:
    """Locks of this machine whose process is gone. One of another machine may be alive: it is left alone."""
    return [path for path in sorted(folder.glob(f"**/{stack}/*.json")) if _is_dead(path)]


def clear_dead_locks(stack: str) -> list[Path]:
    """The native remedy is `pulumi cancel`, which does not look whether the holder lives."""
    cleared = dead_locks(stack)
    for path in cleared:
        path.unlink(missing_ok=True)
    return cleared


def _is_dead(path: Path) -> bool:
    try:
        lock = json.loads(path.read_text(encoding="utf-8"))
        pid, host = int(lock["pid"]), str(lock["hostname"])
    except (OSError, ValueError, KeyError):
        return False
    if host != socket.gethostname():
        return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    except PermissionError:
        return False
    return "pulumi" not in _command(pid)


def _command(pid: int) -> str:
    """The number may have gone to another process since."""
    try:
        with open(f"/proc/{pid}/comm", encoding="utf-8", errors="replace") as file:  # noqa: PTH123 - proc is no tree of ours
            return file.read()
    except OSError:
        return ""
