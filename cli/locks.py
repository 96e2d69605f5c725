"""Pulumi's locks: one that a killed process left behind would refuse every later call."""

from __future__ import annotations

import json
import socket
from pathlib import Path

from cli.surroundings import BACKEND

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
    name, state = _process(pid)
    # The number may have gone to another process since; a killed one stays in the list until its parent looks.
    return "pulumi" not in name or state == "Z"


def _process(pid: int) -> tuple[str, str]:
    """Name and state of a process; empty for one that is not there."""
    try:
        told = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return "", ""
    name, _, rest = told.partition("(")[2].rpartition(")")
    return name, rest.split()[0]
