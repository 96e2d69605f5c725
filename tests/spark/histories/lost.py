"""Acked and gone: what is lost, and what only looks like it."""

from __future__ import annotations

from tests.spark.histories.book import History, allowed, expected, history, violation

GAP = allowed("gap", detail="unexplained")


@history("every acked record lies where it was acked: nothing to say")
def clean(h: History) -> None:
    h.kept("orders", 0, 4)
    h.kept("orders", 1, 2)


@history(
    "an acked offset inside the bounds that holds nothing is a hole",
    violation("lost", topic="orders", partition=0, producer="p", seq=2, attempt=0, offset=2, detail="hole"),
    GAP,
)
def hole(h: History) -> None:
    h.kept("orders", 0, 2)
    h.acked("orders", 0, seq=2, offset=2)
    h.keep("orders", 0, seq=3, offset=3)


@history("an acked offset equal to the end was cut off: truncated", violation("lost", seq=2, detail="truncated"))
def truncated_at_end(h: History) -> None:
    h.kept("orders", 0, 2)
    h.acked("orders", 0, seq=2, offset=2)


@history("an acked offset far above the end is truncated too", violation("lost", seq=2, detail="truncated"))
def truncated_beyond_end(h: History) -> None:
    h.kept("orders", 0, 2)
    h.acked("orders", 0, seq=2, offset=9)


@history("the last offset below the end is no truncation but a hole", violation("lost", seq=2, detail="hole"), GAP)
def hole_at_last_offset(h: History) -> None:
    h.kept("orders", 0, 2)
    h.acked("orders", 0, seq=2, offset=2)
    h.bounds("orders", end=3)


@history("an acked offset equal to the start is not below it: a hole", violation("lost", seq=0, detail="hole"), GAP)
def hole_at_start(h: History) -> None:
    h.acked("orders", 0, seq=0, offset=5)
    h.keep("orders", 0, seq=1, offset=6)
    h.bounds("orders", start=5)


@history("a topic emptied and its end set back: all truncated", violation("lost", 2, detail="truncated"))
def truncated_to_nothing(h: History) -> None:
    h.acked("orders", 0, seq=0, offset=0)
    h.acked("orders", 0, seq=1, offset=1)
    h.bounds("orders", end=0)


@history(
    "another record of ours lies at the acked offset: replaced, and that offset is bound to two",
    violation("lost", producer="p", seq=1, offset=1, detail="replaced"),
    violation("inconsistent-offset", topic="orders", partition=0, offset=1),
    allowed("unacked-read", producer="q", seq=0),
)
def replaced_by_ours(h: History) -> None:
    h.keep("orders", 0, seq=0, offset=0)
    h.acked("orders", 0, seq=1, offset=1)
    h.unknown("orders", 0, seq=0, producer="q")
    h.in_log("orders", 0, offset=1, seq=0, producer="q")


@history(
    "somebody else's record lies at the acked offset: replaced",
    violation("lost", seq=1, offset=1, detail="replaced"),
    violation("inconsistent-offset", topic="orders", partition=0, offset=1),
    foreign=1,
)
def replaced_by_foreign(h: History) -> None:
    h.keep("orders", 0, seq=0, offset=0)
    h.acked("orders", 0, seq=1, offset=1)
    h.foreign("orders", 0, offset=1)


@history(
    "the same name in another run is another record: replaced",
    violation("lost", seq=1, offset=1, detail="replaced"),
    violation("inconsistent-offset", topic="orders", partition=0, offset=1),
    foreign=1,
)
def replaced_by_other_run(h: History) -> None:
    h.keep("orders", 0, seq=0, offset=0)
    h.acked("orders", 0, seq=1, offset=1)
    h.in_log("orders", 0, offset=1, seq=1, run_id="20250101T000000Z-s1")


@history("acked without an offset, absent, nothing ever deleted: unplaced", violation("lost", seq=1, detail="unplaced"))
def unplaced(h: History) -> None:
    h.keep("orders", 0, seq=0, offset=0)
    h.acked("orders", 0, seq=1, offset=None)


@history("acked without an offset and in the log: found")
def placed_after_all(h: History) -> None:
    h.keep("orders", 0, seq=0, offset=0)
    h.acked("orders", 0, seq=1, offset=None)
    h.in_log("orders", 0, offset=1, seq=1)


@history("without an offset it may have been below a start that has moved: undecided", undecided=1)
def unplaced_start_moved(h: History) -> None:
    h.acked("orders", 0, seq=0, offset=None)
    h.keep("orders", 0, seq=1, offset=1)
    h.bounds("orders", start=1)


@history("a tombstone is found by its offset only: without one it is undecided", undecided=1)
def tombstone_unplaced(h: History) -> None:
    h.keep("orders", 0, seq=0, offset=0)
    h.acked("orders", 0, seq=1, offset=None, key=b"k", value_null=True)


@history("a tombstone without an offset stays undecided though one with its key is there", undecided=1, foreign=1)
def tombstone_unplaced_like_one(h: History) -> None:
    h.acked("orders", 0, seq=0, offset=None, key=b"k", value_null=True)
    h.tombstone_in_log("orders", 0, 0, key=b"k")


@history("tombstones are found by place and key, with and without a key")
def tombstones_found(h: History) -> None:
    h.acked("orders", 0, seq=0, offset=0, key=b"k", value_null=True)
    h.tombstone_in_log("orders", 0, 0, key=b"k")
    h.acked("orders", 0, seq=1, offset=1, key=None, value_null=True)
    h.tombstone_in_log("orders", 0, 1, key=None)


@history(
    "a null value under another key is not the tombstone that was sent",
    violation("lost", seq=0, offset=0, detail="replaced"),
    violation("inconsistent-offset", topic="orders", partition=0, offset=0),
    foreign=1,
)
def tombstone_other_key(h: History) -> None:
    h.acked("orders", 0, seq=0, offset=0, key=b"k", value_null=True)
    h.tombstone_in_log("orders", 0, 0, key=b"other")


@history("a tombstone lost from a topic cleaned by delete is lost", violation("lost", seq=0, detail="hole"), GAP)
def tombstone_hole(h: History) -> None:
    h.acked("orders", 0, seq=0, offset=0, key=b"k", value_null=True)
    h.keep("orders", 0, seq=1, offset=1)


@history("the tombstone of the neighbour partition is not ours", violation("lost", partition=0, detail="hole"), GAP)
def tombstone_other_partition(h: History) -> None:
    h.acked("orders", 0, seq=0, offset=0, key=b"k", value_null=True)
    h.keep("orders", 0, seq=1, offset=1)
    h.acked("orders", 1, seq=0, offset=0, key=b"k", value_null=True)
    h.tombstone_in_log("orders", 1, 0, key=b"k")


@history("records are told apart by producer", violation("lost", producer="q", seq=0, detail="truncated"))
def other_producer(h: History) -> None:
    h.keep("orders", 0, seq=0, offset=0)
    h.acked("orders", 0, seq=0, offset=1, producer="q")


@history("records are told apart by partition", violation("lost", partition=1, seq=0, detail="truncated"))
def other_partition(h: History) -> None:
    h.keep("orders", 0, seq=0, offset=0)
    h.acked("orders", 1, seq=0, offset=0)


@history("records are told apart by topic", violation("lost", topic="bills", seq=0, detail="truncated"))
def other_topic(h: History) -> None:
    h.keep("orders", 0, seq=0, offset=0)
    h.acked("bills", 0, seq=0, offset=0)


@history("each attempt is looked for by itself", violation("lost", seq=0, attempt=0, detail="hole"), GAP)
def other_attempt(h: History) -> None:
    h.acked("orders", 0, seq=0, offset=0)
    h.keep("orders", 0, seq=0, attempt=1, offset=1)


@history("refused and absent is as promised")
def refused_absent(h: History) -> None:
    h.keep("orders", 0, seq=0, offset=0)
    h.refused("orders", 0, seq=1)


@history("of unknown outcome and absent is no loss", allowed("unacked-absent", producer="p", seq=1, attempt=0))
def unknown_absent(h: History) -> None:
    h.keep("orders", 0, seq=0, offset=0)
    h.unknown("orders", 0, seq=1)


@history(
    "a record of a committed transaction that is gone is lost, and its transaction torn",
    violation("lost", seq=1, offset=1, detail="hole"),
    violation("torn-transaction", topic="orders", partition=0, named="tx#0"),
    allowed("gap", detail="explained"),
)
def in_committed_transaction(h: History) -> None:
    h.txn("tx#0", committing=50)
    h.keep("orders", 0, seq=0, offset=0, txn="tx#0")
    h.acked("orders", 0, seq=1, offset=1, txn="tx#0")
    h.keep("orders", 0, seq=2, offset=2, txn="tx#0")


# -- weak promises -------------------------------------------------------------------------------------------------


@history("acks=1 promises no more than the leader: expected", expected("lost", seq=1, detail="truncated"))
def acks_one(h: History) -> None:
    h.keep("orders", 0, seq=0, offset=0, acks="1", idempotent=False)
    h.acked("orders", 0, seq=1, offset=1, acks="1", idempotent=False)


@history("acks=0 promises nothing: expected", expected("lost", seq=1, detail="unplaced"))
def acks_none(h: History) -> None:
    h.keep("orders", 0, seq=0, offset=0, acks="0", idempotent=False)
    h.acked("orders", 0, seq=1, offset=None, acks="0", idempotent=False)


@history("acks=all without idempotence is no weak promise", violation("lost", seq=1, detail="truncated"))
def acks_all_not_idempotent(h: History) -> None:
    h.keep("orders", 0, seq=0, offset=0, idempotent=False)
    h.acked("orders", 0, seq=1, offset=1, idempotent=False)


@history(
    "weakness belongs to the attempt, not to its partition",
    violation("lost", seq=1, detail="truncated"),
    expected("lost", seq=2, detail="truncated"),
)
def weak_beside_strong(h: History) -> None:
    h.keep("orders", 0, seq=0, offset=0, acks="1")
    h.acked("orders", 0, seq=1, offset=1)
    h.acked("orders", 0, seq=2, offset=2, acks="1")


@history(
    "a topic marked unclean is weak, its neighbour is not",
    expected("lost", topic="orders", detail="truncated"),
    violation("lost", topic="bills", detail="truncated"),
)
def unclean_topic(h: History) -> None:
    h.acked("orders", 0, seq=0, offset=0)
    h.acked("bills", 0, seq=0, offset=0)
    h.unclean("orders")
