"""What a proof of so many records costs: bytes and seconds by phase. Every figure says where it is from.

scaled: measured on fewer records (docs/reference/scale.md says where), what grows with them multiplied; computed:
follows from formats; given: named by the caller. What nobody measured and nobody named is not made up: it is left open.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

from common.errors import UsageError
from validate.run import room

SCALED, COMPUTED, GIVEN, OPEN = "scaled", "computed", "given", "open"
# Parquet of a load by Spark: 100,000,000 records, 12 partitions, two tasks (tests/bench/scale_bench.py).
SENT_BYTES, LOG_BYTES = 24.2, 27.4
LEDGER_BYTES = SENT_BYTES + LOG_BYTES
# That and 2,000,000: seconds however few there are, and of one core for each record, of 100 bytes in the read.
READ_START_S, READ_CORE_S, READ_VALUE_BYTES = 5.5, 2.4e-6, 100
# Of the verdict of `run` where all adds up and no groups are judged: nothing else was measured at such a size.
JUDGE_START_S, JUDGE_CORE_S = 6.5, 1.15e-6
# A journal of 2,000,000 records in blocks of 1,000; memory that its sealing takes for each further record.
JOURNAL_BYTES, SEAL_MEMORY_BYTES = 24.07, 145
# Sums of what is joined of one topic are of 24 bits each and have 63 (validate.tally).
MOST_OF_A_TOPIC = 2**39
TASKS_PER_CORE = 3
BATCH_HEAD_BYTES = 61
BATCH_BYTES = 262_144
BLOCK_SEQS = 64
TIMELINE_BUCKETS, TIMELINE_BYTES = 36_000, 3 * 8  # three outcomes in each step of 100 ms, for each partition


@dataclass(frozen=True)
class Line:
    phase: str
    what: str
    value: float | None
    unit: str
    source: str


@dataclass(frozen=True)
class Plan:
    topics: int
    partitions: int
    """Of each topic."""
    records_per_partition: int
    lines: list[Line]

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True)
class Wish:
    records: int
    value_bytes: int = 100
    replication: int = 3
    cores: int = 2
    partition_bytes: float = 8 * 2**30
    load_per_s: float | None = None
    read_per_s: float | None = None
    judge_per_s: float | None = None

    def check(self) -> None:
        for name, value in asdict(self).items():
            if value is not None and not (math.isfinite(value) and value > 0):
                raise UsageError(f"{name} is {value}.", resolution="Everything here is a number above 0.")


def varint_bytes(value: int) -> int:
    """Of a zig-zag variable-length integer that is not negative."""
    return max(1, math.ceil((2 * value).bit_length() / 7))


def record_bytes(value_bytes: int) -> float:
    """In a broker's log, without key, headers and compression: in batches that are full."""
    # attributes, time and offset in the batch (two bytes each in a full one), no key, value, no headers
    body = 1 + 2 + 2 + 1 + varint_bytes(value_bytes) + value_bytes + 1
    whole = varint_bytes(body) + body
    return whole + BATCH_HEAD_BYTES / max(1, (BATCH_BYTES - BATCH_HEAD_BYTES) // whole)


def plan(wish: Wish) -> Plan:
    wish.check()
    topics = math.ceil(wish.records / MOST_OF_A_TOPIC)
    on_disk = wish.records * record_bytes(wish.value_bytes)
    # Enough that no core waits for another's partition, none is larger than asked, and all topics are alike.
    least = max(wish.cores * TASKS_PER_CORE, math.ceil(on_disk / wish.partition_bytes), topics)
    partitions = math.ceil(least / topics)
    each = math.ceil(wish.records / (topics * partitions))
    return Plan(topics, partitions, each, [*_bytes(wish, on_disk, each, topics * partitions), *_seconds(wish)])


def room_bytes(records: int) -> float:
    """What `run` wants free for a load by Spark: it looks ahead with some to spare (validate.run.room)."""
    return room.LEAST_BYTES + records * SENT_BYTES * (1 + room.TIMES_ROWS)


def _bytes(wish: Wish, on_disk: float, each: int, partitions: int) -> list[Line]:
    n = wish.records
    return [
        Line("cluster", "a partition on each replica's disk", each * record_bytes(wish.value_bytes), "B", COMPUTED),
        Line("cluster", f"all {wish.replication} replicas on disks", on_disk * wish.replication, "B", COMPUTED),
        Line("cluster", "over the network: to leaders, to followers, to the final read",
             on_disk * (wish.replication + 1), "B", COMPUTED),
        Line("ledger", "sent", n * SENT_BYTES, "B", SCALED),
        Line("ledger", "log", n * LOG_BYTES, "B", SCALED),
        Line("ledger", "free on its disk: run ends a load before the rest has no room", room_bytes(n), "B", SCALED),
        Line("judge", "rows that the first pass joins, a side, at least", n / BLOCK_SEQS, "rows", COMPUTED),
        Line("judge", "rows that one task sorts, of the largest partition", each / BLOCK_SEQS, "rows", COMPUTED),
        Line("report", "memory for the timeline of an hour or more, at least",
             partitions * TIMELINE_BUCKETS * TIMELINE_BYTES, "B", COMPUTED),
        Line("one process", "its journal, if one process sent all", n * JOURNAL_BYTES, "B", SCALED),
        Line("one process", "memory to seal that", n * SEAL_MEMORY_BYTES, "B", SCALED),
    ]  # fmt: skip


def _seconds(wish: Wish) -> list[Line]:
    """Rates are of the whole Spark cluster; what was measured on a core is taken to grow with cores, which was not.

    What a load takes is up to the brokers and the network: no number of cores here says it.
    """
    n, cores = wish.records, wish.cores
    read_s = READ_START_S + n * READ_CORE_S / cores if wish.value_bytes == READ_VALUE_BYTES else None
    return [
        _rate("load", "load", n, wish.load_per_s),
        _rate("final read", "final read", n, wish.read_per_s, read_s),
        _rate("judge", "judge, if all adds up", n, wish.judge_per_s, JUDGE_START_S + n * JUDGE_CORE_S / cores),
    ]


def _rate(phase: str, what: str, records: int, per_s: float | None, otherwise_s: float | None = None) -> Line:
    if per_s is not None:
        return Line(phase, what, records / per_s, "s", GIVEN)
    return Line(phase, what, otherwise_s, "s", OPEN if otherwise_s is None else SCALED)
