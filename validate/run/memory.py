"""What a run itself takes of the machine it judges on: its processes, Spark's JVM among them, and swap."""

from __future__ import annotations

import contextlib
import os
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from collections.abc import Iterator

PROC = Path("/proc")
MIB = 1024
EVERY_S = 1.0


def own(pid: int, proc: Path = PROC) -> list[int]:
    """The process and all that it has started, and those theirs."""
    parents: dict[int, list[int]] = {}
    for stat in proc.glob("[0-9]*/stat"):
        try:
            parent = int(stat.read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()[1])
        except (OSError, ValueError, IndexError):
            continue  # it ended meanwhile
        parents.setdefault(parent, []).append(int(stat.parent.name))
    found, left = [], [pid]
    while left:
        found.append(left.pop())
        left += parents.get(found[-1], [])
    return found


def taken(pid: int, proc: Path = PROC) -> tuple[int, int]:
    """KiB of the process and all its descendants, in memory and in swap: a page that several share counts once."""
    held = swapped = 0
    for one in own(pid, proc):
        try:
            lines = (proc / str(one) / "smaps_rollup").read_text(encoding="ascii").splitlines()
        except OSError:
            continue  # it ended meanwhile, or is the kernel's own
        facts = {name: int(rest.split()[0]) for name, _, rest in (line.partition(":") for line in lines[1:])}
        held += facts.get("Pss", 0)
        swapped += facts.get("SwapPss", 0)
    return held, swapped


class Watch:
    """The most that a process and its descendants took at once while the block lasted, those that ended too."""

    def __init__(self, pid: int, proc: Path = PROC, every_s: float = EVERY_S) -> None:
        self._pid, self._proc, self._every_s = pid, proc, every_s
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._go_on, daemon=True)
        self._held = self._swapped = self._before = 0

    @property
    def most_mib(self) -> int:
        return self._held // MIB

    @property
    def swapped_mib(self) -> int:
        """More than at the beginning. What lay idle then may have been pushed out by anybody."""
        return (self._swapped - self._before) // MIB

    def _look(self) -> None:
        held, swapped = taken(self._pid, self._proc)
        self._held, self._swapped = max(self._held, held), max(self._swapped, swapped)

    def _go_on(self) -> None:
        while not self._ended.wait(self._every_s):
            self._look()

    def __enter__(self) -> Self:
        self._look()
        self._before = self._swapped
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()
        self._look()


@contextlib.contextmanager
def noted(notes: list[str]) -> Iterator[None]:
    """One note for the report on what this process and all that it starts took meanwhile."""
    with Watch(os.getpid()) as watch:
        yield
    notes.append(
        f"The driver and its JVM had {watch.most_mib:,} MiB in memory at most, as seen every {EVERY_S:.0f} s; "
        f"{watch.swapped_mib:,} MiB more of them lay in swap than before."
    )
