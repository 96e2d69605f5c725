"""Ranges of offsets that hold nothing, reads that broke off, and replicas that differ."""

from __future__ import annotations

from typing import Any

from tests.spark.histories.book import History, allowed, history, violation

HERE: dict[str, Any] = {"topic": "orders", "partition": 0}
EXPLAINED = allowed("gap", **HERE, detail="explained")
UNEXPLAINED = allowed("gap", **HERE, detail="unexplained")

# -- gap -----------------------------------------------------------------------------------------------------------


@history("nothing explains a gap in plain records", UNEXPLAINED)
def gap(h: History) -> None:
    h.keep("orders", 0, seq=0, offset=0)
    h.keep("orders", 0, seq=1, offset=2)


@history("one finding per range, however long", UNEXPLAINED, UNEXPLAINED)
def gap_ranges(h: History) -> None:
    for seq, offset in enumerate((0, 1, 5, 6, 9)):
        h.keep("orders", 0, seq=seq, offset=offset)


@history("from the start to the first row", UNEXPLAINED)
def gap_at_start(h: History) -> None:
    h.kept("orders", 0, 2, offset=4)
    h.bounds("orders", start=3)


@history("from the last row to the end", UNEXPLAINED)
def gap_at_end(h: History) -> None:
    h.kept("orders", 0, 2)
    h.bounds("orders", end=3)


@history("nothing but a gap", UNEXPLAINED)
def gap_only(h: History) -> None:
    h.kept("bills", 0, 1)
    h.bounds("orders", start=3, end=4)


@history("no offsets, no gap")
def empty(h: History) -> None:
    h.kept("orders", 0, 1)
    h.bounds("orders", 1, start=3, end=3)
    h.bounds("orders", 2, end=0)


@history("a moved start is no gap, nor is what lies above the end")
def moved_start(h: History) -> None:
    h.kept("orders", 0, 2, offset=4)
    h.bounds("orders", start=4, end=6, hw=9)


@history("foreign rows and tombstones fill a range as well", foreign=2)
def filled_by_foreign(h: History) -> None:
    h.keep("orders", 0, seq=0, offset=0)
    h.foreign("orders", 0, offset=1)
    h.tombstone_in_log("orders", 0, 2, key=b"k")
    h.keep("orders", 0, seq=1, offset=3)


@history("transactions leave markers: explained", EXPLAINED)
def gap_of_markers(h: History) -> None:
    h.txn("tx#0")
    h.kept("orders", 0, 2, txn="tx#0")
    h.keep("orders", 0, seq=2, offset=3)


@history("transactions elsewhere explain nothing here", UNEXPLAINED)
def gap_beside_transactions(h: History) -> None:
    h.txn("tx#0")
    h.kept("orders", 1, 2, txn="tx#0")
    h.kept("bills", 0, 2, txn="tx#0")
    h.keep("orders", 0, seq=0, offset=0)
    h.keep("orders", 0, seq=1, offset=2)


@history("compaction explains", EXPLAINED, allowed("gap", topic="bills", detail="explained"))
def gap_compacted(h: History) -> None:
    for topic, policy in (("orders", "compact"), ("bills", "compact,delete")):
        h.keep(topic, 0, seq=0, offset=0, key=b"a")
        h.keep(topic, 0, seq=1, offset=2, key=b"b")
        h.bounds(topic, policy=policy)


@history("one partition's gap says nothing of the other", allowed("gap", partition=1, detail="unexplained"))
def gap_per_partition(h: History) -> None:
    h.kept("orders", 0, 3)
    h.keep("orders", 1, seq=0, offset=0)
    h.keep("orders", 1, seq=1, offset=2)


# -- unreadable ----------------------------------------------------------------------------------------------------


@history("the final read broke off: a violation, one per partition", violation("unreadable", **HERE))
def unreadable(h: History) -> None:
    h.kept("orders", 0, 2)
    h.bounds("orders", end=9, read_to=2)


@history("two partitions, two findings", violation("unreadable", partition=0), violation("unreadable", partition=1))
def unreadable_twice(h: History) -> None:
    for partition in (0, 1):
        h.kept("orders", partition, 2)
        h.bounds("orders", partition, end=9, read_to=2)


@history("what was acked at read_to is undecided, and what above it", violation("unreadable"), undecided=2)
def at_read_to(h: History) -> None:
    h.kept("orders", 0, 2)
    h.acked("orders", 0, seq=2, offset=2)
    h.acked("orders", 0, seq=3, offset=3)
    h.bounds("orders", end=9, read_to=2)


@history(
    "just below read_to it is lost",
    violation("unreadable"),
    violation("lost", seq=1, offset=1, detail="hole"),
    UNEXPLAINED,
)
def below_read_to(h: History) -> None:
    h.kept("orders", 0, 1)
    h.acked("orders", 0, seq=1, offset=1)
    h.bounds("orders", end=9, read_to=2)


@history("undecided comes before truncated", violation("unreadable"), undecided=1)
def beyond_end_and_read_to(h: History) -> None:
    h.kept("orders", 0, 1)
    h.acked("orders", 0, seq=1, offset=9)
    h.bounds("orders", end=5, read_to=1)


@history("without an offset it may lie where nothing was read", violation("unreadable"), undecided=1)
def unplaced_and_read_to(h: History) -> None:
    h.kept("orders", 0, 1)
    h.acked("orders", 0, seq=1, offset=None)
    h.bounds("orders", end=5, read_to=1)


@history(
    "the other partition was read to its end: unplaced there is lost",
    violation("unreadable", partition=0),
    violation("lost", partition=1, detail="unplaced"),
)
def read_to_of_neighbour(h: History) -> None:
    h.kept("orders", 0, 1)
    h.bounds("orders", 0, end=5, read_to=1)
    h.acked("orders", 1, seq=0, offset=None)


@history("expired comes before undecided", violation("unreadable"), allowed("expired", seq=0))
def below_start_and_read_to(h: History) -> None:
    h.acked("orders", 0, seq=0, offset=1)
    h.bounds("orders", start=2, end=5, read_to=2)


@history("gaps are looked for below read_to only", violation("unreadable"), UNEXPLAINED)
def gap_below_read_to(h: History) -> None:
    h.keep("orders", 0, seq=0, offset=0)
    h.keep("orders", 0, seq=1, offset=2)
    h.bounds("orders", end=9, read_to=3)


@history(
    "a weak record that is undecided stays undecided, and the broken read a violation",
    violation("unreadable"),
    undecided=1,
)
def unreadable_unclean(h: History) -> None:
    h.kept("orders", 0, 1)
    h.acked("orders", 0, seq=1, offset=1, acks="1", idempotent=False)
    h.bounds("orders", end=5, read_to=1)
    h.unclean("orders")


# -- replica-divergence --------------------------------------------------------------------------------------------

A, B, C = (0, 1, 100), (2, 3, 200), (4, 5, 300)


def replicated(h: History, *replicas: tuple[tuple[int, int, int], ...], hw: int = 6) -> None:
    h.kept("orders", 0, hw)
    for broker, batches in enumerate(replicas):
        h.replica("orders", 0, broker, *batches)


@history("three replicas, batch for batch the same")
def replicas_clean(h: History) -> None:
    replicated(h, (A, B, C), (A, B, C), (A, B, C))


@history("one checksum differs", violation("replica-divergence", **HERE, offset=2))
def replica_checksum(h: History) -> None:
    replicated(h, (A, B, C), (A, (2, 3, 999), C), (A, B, C))


@history("all three differ: one finding per base offset", violation("replica-divergence", offset=2))
def replica_three_checksums(h: History) -> None:
    replicated(h, (A, B, C), (A, (2, 3, 999), C), (A, (2, 3, 998), C))


@history("one bound differs though the checksum does not", violation("replica-divergence", offset=0))
def replica_bounds(h: History) -> None:
    replicated(h, ((0, 1, 100), B, C), ((0, 0, 100), B, C))


@history(
    "other cuts: every base offset that differs",
    violation("replica-divergence", offset=0),
    violation("replica-divergence", offset=2),
)
def replica_other_cut(h: History) -> None:
    replicated(h, (A, B, C), ((0, 3, 500), C))


@history("one lacks a batch in the middle", violation("replica-divergence", offset=2))
def replica_lacks(h: History) -> None:
    replicated(h, (A, B, C), (A, C))


@history("one of three lacks the last batch", violation("replica-divergence", offset=4))
def replica_lacks_last(h: History) -> None:
    replicated(h, (A, B, C), (A, B), (A, B, C))


@history("a replica without batches lacks them all", violation("replica-divergence", 3))
def replica_without_batches(h: History) -> None:
    replicated(h, (A, B, C), ())


@history("above the high watermark a follower may lag")
def replica_lags(h: History) -> None:
    replicated(h, (A, B, C), (A, B), hw=4)


@history("a batch that ends at the high watermark is not below it")
def replica_ends_at_watermark(h: History) -> None:
    replicated(h, (A, B, C), (A, B), hw=5)


@history("a batch that ends just below it is", violation("replica-divergence", offset=2))
def replica_ends_below_watermark(h: History) -> None:
    replicated(h, (A, B, C), (A, (2, 3, 999), C), hw=4)


@history("one replica has nothing to differ from")
def replica_single(h: History) -> None:
    replicated(h, (A, B, C))


@history("partitions are compared with themselves")
def replica_other_partition(h: History) -> None:
    replicated(h, (A, B, C), (A, B, C))
    h.kept("orders", 1, 2)
    h.replica("orders", 1, 0, (0, 1, 777))
    h.replica("orders", 1, 1, (0, 1, 777))


@history("what one broker has deleted already is not compared")
def replica_start_moved(h: History) -> None:
    replicated(h, (A, B, C))
    h.replica("orders", 0, 1, B, C, start=2)


@history("a batch at the log start is compared", violation("replica-divergence", offset=2))
def replica_at_start(h: History) -> None:
    replicated(h, (A, B, C))
    h.replica("orders", 0, 1, (2, 3, 999), C, start=2)


@history("a batch below one log start is not, even if the others differ")
def replica_below_one_start(h: History) -> None:
    replicated(h, (A, B, C), ((0, 1, 999), B, C))
    h.replica("orders", 0, 2, B, C, start=2)


@history("an empty replica whose log starts above all batches lacks none")
def replica_empty_and_moved(h: History) -> None:
    replicated(h, (A, B, C))
    h.replica("orders", 0, 1, start=6)


@history("an unclean topic excuses no divergence", violation("replica-divergence", offset=2))
def replica_unclean(h: History) -> None:
    replicated(h, (A, B, C), (A, (2, 3, 999), C))
    h.unclean("orders")
