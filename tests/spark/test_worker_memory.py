"""Ten minutes of load: the Python workers that send take no more memory at the end than after two minutes."""

from __future__ import annotations

import os
import statistics
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Self

import pytest

from tests.unit.validate.mock_brokers import mock_brokers
from validate.run import memory
from validate.workload import bulk

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.long, pytest.mark.timeout(1800)]

RECORDS_PER_S, LOAD_S, WARM_S, EVERY_S = 10_000, 600, 120, 1.0
MOST_MIB = 8.0  # an allocator's own ups and downs; a byte kept of each of 4.8 million records is 4.6 MiB
KIB = 1024


def workers() -> list[int]:
    """Forked by PySpark's daemon, which itself sends nothing."""
    found = [pid for pid in memory.own(os.getpid()) if b"pyspark.daemon" in words_of(pid)]
    return [pid for pid in found if any(parent in found for parent in parents_of(pid))]


def words_of(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def parents_of(pid: int) -> list[int]:
    try:
        return [int(Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[1])]
    except OSError:
        return []


class Looks:
    """What each worker takes, once a second."""

    def __init__(self) -> None:
        self.at: list[tuple[float, dict[int, int]]] = []
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)

    def _look(self) -> None:
        began_s = time.monotonic()
        while not self._over.wait(EVERY_S):
            self.at.append((time.monotonic() - began_s, {pid: private(pid) for pid in workers()}))

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def sending(self, from_s: float, to_s: float) -> set[int]:
        """Who was there all the time. Idle ones, of the jobs before a load, end a minute later."""
        return set.intersection(*(set(held) for _, held in self.between(from_s, to_s)))

    def median_mib(self, pids: set[int], from_s: float, to_s: float) -> float:
        return statistics.median(sum(held[pid] for pid in pids) / KIB for _, held in self.between(from_s, to_s))

    def between(self, from_s: float, to_s: float) -> list[tuple[float, dict[int, int]]]:
        return [(at, held) for at, held in self.at if from_s <= at < to_s]


def private(pid: int) -> int:
    """KiB of one process: what is its own, not what it shares with its daemon."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii").splitlines()
    except OSError:
        return 0
    return sum(int(line.split()[1]) for line in lines if line.startswith(("Private_", "Swap:")))


def test_workers_stay_as_large_as_they_are(spark: SparkSession, tmp_path: Path) -> None:
    count = RECORDS_PER_S * LOAD_S
    with mock_brokers(2) as brokers, Looks() as looks:
        brokers.make_topic("two")
        outcomes = bulk.load(
            spark,
            {
                "run_id": "r", "name": "loader", "ledger": str(tmp_path), "count": count, "seed": 1,
                "records_per_s": RECORDS_PER_S, "topics": [{"name": "two", "partitions": 2}],
                "client": {"bootstrap.servers": brokers.bootstrap}, "clock": "here", "clock_offset_ns": 0,
            },
        )  # fmt: skip
    assert outcomes == {"acked": count}
    pids = looks.sending(WARM_S, LOAD_S)
    assert len(pids) >= 2, "two tasks send, and each may have a second worker that gave it its row"
    early = looks.median_mib(pids, WARM_S, 2 * WARM_S)
    late = looks.median_mib(pids, LOAD_S - WARM_S, LOAD_S)
    print(f"{early:.1f} MiB after {WARM_S} s, {late:.1f} MiB at the end")
    assert late - early < MOST_MIB, looks.at[::60]
