"""Room for the ledger: a load is ended while what it has written can still be sealed, read back and judged."""

from __future__ import annotations

import contextlib
import os
import shutil
import threading
import time
from typing import TYPE_CHECKING

from common.errors import UnreadableError
from validate.workload.journal import FOLDER

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

MIB = 1024 * 1024
LEAST_BYTES = 128 * MIB
# What is still to come for each byte there is (docs/reference/scale.md). A journal's record is 24 bytes: 28 of the
# sealed ledger and 27 of the final read come. A row that Spark has written is 23 or 24 bytes: the final read alone.
TIMES_JOURNALS, TIMES_ROWS = 2.5, 1.25
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
    """Files and folders of a running load come and go, Spark's above all: os.walk passes over what is gone."""
    found = 0
    for place, _, names in os.walk(folder):
        for name in names:
            with contextlib.suppress(OSError):
                found += os.stat(os.path.join(place, name)).st_size  # noqa: PTH116, PTH118  of very many files
    return found


class Room:
    def __init__(self, ledger: Path, free: Callable[[Path], int] = free_bytes) -> None:
        self._ledger, self._free, self._next_s = ledger, free, 0.0

    def check(self) -> None:
        """Once a second, however often it is asked; NoRoom if there is too little."""
        if time.monotonic() < self._next_s:
            return
        self._next_s = time.monotonic() + EVERY_S
        journals = written_bytes(self._ledger / FOLDER)
        rows = max(0, written_bytes(self._ledger) - journals)
        free, needed = self._free(self._ledger), LEAST_BYTES + int(TIMES_JOURNALS * journals + TIMES_ROWS * rows)
        if free < needed:
            raise NoRoom(self._ledger, free, needed)


@contextlib.contextmanager
def watched(room: Room, end: Callable[[], None]) -> Iterator[list[NoRoom]]:
    """Beside a load that nobody can look after meanwhile; NoRoom if there is too little before it begins.

    Once room gets scarce, why is told and `end` is called until it is over: what begins after one call, as another job
    of Spark's does, is not ended by it.
    """
    room.check()
    told: list[NoRoom] = []
    over = threading.Event()

    def watch() -> None:
        while not over.wait(EVERY_S):
            try:
                if not told:
                    room.check()
            except NoRoom as error:
                told.append(error)
            except OSError:
                continue  # not to be looked at for now: asked again, or nobody would watch for the rest of the load
            if told:
                end()

    thread = threading.Thread(target=watch, name="room", daemon=True)
    thread.start()
    try:
        yield told
    finally:
        over.set()
        thread.join()
