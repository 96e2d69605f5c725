"""How much the driver takes: of all its processes together the most at once, by what the kernel says of them."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from typing import TYPE_CHECKING

from common.wait import wait_until
from validate.run import memory
from validate.run.memory import Watch

if TYPE_CHECKING:
    from pathlib import Path

HUNGRY = """
import os, sys
held = bytearray(100 * 2**20)
held[::4096] = b"1" * len(held[::4096])
children = []
for _ in range(3):
    if not (child := os.fork()):
        sys.stdin.read()
        os._exit(0)
    children.append(child)
sys.stdin.read()
for child in children:
    os.waitpid(child, 0)
"""


def process(proc: Path, pid: int, parent: int, held_mib: int | None = None, swapped_mib: int = 0) -> None:
    folder = proc / str(pid)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "stat").write_text(f"{pid} (a (strange) name) S {parent} 1 1 0")
    if held_mib is not None:
        facts = {"Rss": 10 * held_mib, "Pss": held_mib, "Pss_Anon": 1, "Swap": 10 * swapped_mib, "SwapPss": swapped_mib}
        told = "".join(f"{name}:\t  {count * 1024} kB\n" for name, count in facts.items())
        (folder / "smaps_rollup").write_text(f"55d0-7ffc ---p 00000000 00:00 0    [rollup]\n{told}")


def test_a_process_and_all_its_descendants_count_together(tmp_path: Path) -> None:
    process(tmp_path, 10, 1, 200)
    process(tmp_path, 11, 10, 1000, 3)
    process(tmp_path, 12, 11, 5, 1)
    process(tmp_path, 13, 11)  # the kernel's own have none
    process(tmp_path, 20, 1, 9999, 9999)
    (tmp_path / "14").mkdir()  # gone in the middle of the look
    assert sorted(memory.own(10, tmp_path)) == [10, 11, 12, 13]
    assert memory.taken(10, tmp_path) == (1205 * 1024, 4 * 1024)


def test_of_swap_the_rise_counts(tmp_path: Path) -> None:
    process(tmp_path, 10, 1, 300, 40)
    with Watch(10, tmp_path) as watch:
        process(tmp_path, 10, 1, 200, 70)
    assert (watch.most_mib, watch.swapped_mib) == (300, 30)


def test_what_ended_before_counts_and_shared_pages_count_once() -> None:
    before, _ = memory.taken(os.getpid())
    hungry = [sys.executable, "-c", HUNGRY]
    with Watch(os.getpid(), every_s=0.02) as watch, subprocess.Popen(hungry, stdin=subprocess.PIPE) as child:
        try:
            assert wait_until(lambda: len(memory.own(child.pid)) == 4, timeout_s=30)
            assert wait_until(lambda: watch.most_mib - before // 1024 >= 100, timeout_s=30)
            child.communicate(timeout=30)
        finally:
            child.kill()  # its children end as well: nobody holds their standard input open any more
    assert memory.own(child.pid) == [child.pid], "its children ended with it"
    assert 100 <= watch.most_mib - before // 1024 < 200


def test_a_note_tells_both() -> None:
    notes: list[str] = []
    with memory.noted(notes):
        pass
    (note,) = notes
    assert re.fullmatch(
        r"The driver and its JVM had \d+ MiB in memory at most, as seen every 1 s; \d+ MiB more of them lay in swap than "
        r"before\.",
        note,
    )
