"""The fault ledger: a line for each begin, bite and healing, on the disk before anything else happens."""

from __future__ import annotations

import contextlib
import json
import os
import threading
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from validate.full import NotWritten

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

FAULTS_FILE = "faults.jsonl"


def now() -> datetime:
    return datetime.now(UTC)


def iso(at: datetime) -> str:
    return at.isoformat(timespec="microseconds").replace("+00:00", "Z")


class FaultLedger:
    """`clock` is the run's own: times of faults are compared with those of records."""

    def __init__(self, folder: Path, clock: Callable[[], datetime] = now) -> None:
        self.path = folder / FAULTS_FILE
        self._lock, self._clock = threading.Lock(), clock

    def write(self, fault: str, target: str, phase: str, detail: str = "") -> datetime:
        at = self._clock()
        line = json.dumps({"fault": fault, "target": target, "phase": phase, "at": iso(at), "detail": detail})
        with self._lock:
            try:
                self._append(f"{line}\n")
            except OSError as error:
                raise NotWritten(error, self.path) from error
        return at

    def _append(self, line: str) -> None:
        """Whole or not at all. A line that a power cut tore is ended first, or this one were unreadable with it."""
        with self.path.open("a+b", buffering=0) as file:
            length = file.seek(0, os.SEEK_END)
            file.seek(max(0, length - 1))
            left = memoryview((b"" if file.read(1) in {b"", b"\n"} else b"\n") + line.encode())
            try:
                while left:
                    left = left[file.write(left) :]
                os.fsync(file.fileno())
            except OSError:
                with contextlib.suppress(OSError):
                    file.truncate(length)
                raise
