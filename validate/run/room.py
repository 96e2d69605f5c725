"""Room for the ledger: a load is ended while what it has written can still be sealed, read back and judged."""

from __future__ import annotations

import contextlib
import shutil
import threading
import time
from typing import TYPE_CHECKING

from common.errors import UnreadableError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

MIB = 1024 * 1024
LEAST_BYTES = 128 * MIB
# A journal's record is 24 bytes, in the sealed ledger it is 15, and 29 more come with the final read (validate.plan).
TIMES_WRITTEN = 2
EVERY_S = 1.0


class NoRoom(UnreadableError):
    """Ended by us, in time: what was sent until then is sealed and judged."""

    def __init__(self, folder: Path, free: int, needed: int) -> None:
        super().__init__(
            "The disk of the ledger is filling up: the load was ended.",
            details=f"{folder}: {free // MIB:,} MiB are free; sealing it and reading everything back may take "
            f"{needed // MIB:,} MiB.",
            resolution="Free some space and run again.",
        )


def free_bytes(folder: Path) -> int:
    return shutil.disk_usage(folder).free


def written_bytes(folder: Path) -> int:
    """Files of a running load come and go, Spark's above all."""
    found = 0
    for path in folder.rglob("*"):
        with contextlib.suppress(OSError):
            found += path.stat().st_size
    return found


class Room:
    def __init__(self, ledger: Path, free: Callable[[Path], int] = free_bytes) -> None:
        self._ledger, self._free, self._next_s = ledger, free, 0.0

    def check(self) -> None:
        """Once a second, however often it is asked; NoRoom if there is too little."""
        if time.monotonic() < self._next_s:
            return
        self._next_s = time.monotonic() + EVERY_S
        free, needed = self._free(self._ledger), LEAST_BYTES + TIMES_WRITTEN * written_bytes(self._ledger)
        if free < needed:
            raise NoRoom(self._ledger, free, needed)


@contextlib.contextmanager
def watched(room: Room, end: Callable[[], None]) -> Iterator[list[NoRoom]]:
    """Beside a load that nobody can look after meanwhile: `end` is called once room gets scarce, and why is told."""
    told: list[NoRoom] = []
    over = threading.Event()

    def watch() -> None:
        while not told and not over.wait(EVERY_S):
            try:
                room.check()
            except NoRoom as error:
                told.append(error)
                end()

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    try:
        yield told
    finally:
        over.set()
        thread.join()
