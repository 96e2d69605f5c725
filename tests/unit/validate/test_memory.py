"""How much the driver takes: of all its processes the peaks, by what the kernel says of them."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

from validate.run import memory

if TYPE_CHECKING:
    from pathlib import Path

HUNGRY = "x = bytearray(200_000_000); x[::4096] = b'1' * len(x[::4096]); del x; print('done', flush=True); input()"


def process(proc: Path, pid: int, parent: int, **status: int) -> None:
    folder = proc / str(pid)
    folder.mkdir(parents=True)
    (folder / "stat").write_text(f"{pid} (a (strange) name) S {parent} 1 1 0")
    (folder / "status").write_text("Name:\tx\nGroups:\t\n" + "".join(f"{k}:\t  {v} kB\n" for k, v in status.items()))


def test_peaks_and_swap_of_a_process_and_all_its_descendants(tmp_path: Path) -> None:
    process(tmp_path, 10, 1, VmHWM=200 * 1024, VmSwap=0)
    process(tmp_path, 11, 10, VmHWM=1000 * 1024, VmSwap=3 * 1024)
    process(tmp_path, 12, 11, VmHWM=5 * 1024, VmSwap=1024)
    process(tmp_path, 13, 11)  # the kernel's own have none
    process(tmp_path, 20, 1, VmHWM=9999 * 1024, VmSwap=9999)
    (tmp_path / "14").mkdir()  # gone in the middle of the look
    assert sorted(memory.own(10, tmp_path)) == [10, 11, 12, 13]
    assert memory.driver(10, tmp_path) == (1205, 4)


def test_what_was_let_go_again_counts() -> None:
    """The peak of a child, while it lives."""
    before, _ = memory.driver(os.getpid())
    child = subprocess.Popen([sys.executable, "-c", HUNGRY], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert child.stdout is not None
    child.stdout.readline()
    after, _ = memory.driver(os.getpid())
    child.communicate(b"\n", timeout=30)
    assert after - before > 190
