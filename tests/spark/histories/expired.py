"""Absent and rightly so: below a start that moved, or compacted away."""

from __future__ import annotations

from typing import Any

from tests.spark.histories.book import History, allowed, expected, history, violation

EXPLAINED = allowed("gap", detail="explained")
FIRST: dict[str, Any] = {"topic": "orders", "partition": 0, "producer": "p", "seq": 0, "attempt": 0}


def gone(h: History, key: bytes | None = b"k", offset: int | None = 0, **more: Any) -> None:
    """The record in question: seq 0 under a key, acked, not in the log of a compacted topic."""
    h.bounds("orders", policy=more.pop("policy", "compact"))
    h.acked("orders", 0, seq=0, offset=offset, key=key, **more)


# -- below the start ---------------------------------------------------------------------------------------------


@history("what was acked below the start is expired", allowed("expired", offset=0, **FIRST), allowed("expired", seq=1))
def below_start(h: History) -> None:
    h.acked("orders", 0, seq=0, offset=0)
    h.acked("orders", 0, seq=1, offset=1)
    h.keep("orders", 0, seq=2, offset=2)
    h.bounds("orders", start=2)


@history("start = end: everything expired, nothing left", allowed("expired", 2))
def below_start_nothing_left(h: History) -> None:
    h.acked("orders", 0, seq=0, offset=0)
    h.acked("orders", 0, seq=1, offset=1)
    h.bounds("orders", start=2, end=2)


@history(
    "the start of the neighbour partition expires nothing here",
    violation("lost", partition=1, detail="hole"),
    allowed("gap", partition=1, detail="unexplained"),
)
def start_of_neighbour(h: History) -> None:
    h.keep("orders", 0, seq=0, offset=5)
    h.bounds("orders", 0, start=5)
    h.acked("orders", 1, seq=0, offset=0)
    h.keep("orders", 1, seq=1, offset=1)


@history("a weak record below the start is expired like any other", allowed("expired", seq=0))
def below_start_weak(h: History) -> None:
    h.acked("orders", 0, seq=0, offset=0, acks="1", idempotent=False)
    h.keep("orders", 0, seq=1, offset=1, acks="1", idempotent=False)
    h.bounds("orders", start=1)


@history("expired comes before withdrawn", allowed("expired", seq=0))
def below_start_aborted(h: History) -> None:
    h.txn("tx#0", "aborted")
    h.acked("orders", 0, seq=0, offset=0, txn="tx#0")
    h.keep("orders", 0, seq=1, offset=1)
    h.bounds("orders", start=1)


# -- compacted: a newer record of the key is in the log -----------------------------------------------------------


@history("a higher offset holds the key: compacted away", allowed("expired", offset=0, **FIRST), EXPLAINED)
def superseded(h: History) -> None:
    gone(h)
    h.keep("orders", 0, seq=1, offset=1, key=b"k")


@history("compact,delete compacts too", allowed("expired", seq=0), EXPLAINED)
def superseded_compact_delete(h: History) -> None:
    gone(h, policy="compact,delete")
    h.keep("orders", 0, seq=1, offset=1, key=b"k")


@history(
    "a topic cleaned by delete compacts nothing",
    violation("lost", seq=0, detail="hole"),
    allowed("gap", detail="unexplained"),
)
def superseded_but_not_compacted(h: History) -> None:
    gone(h, policy="delete")
    h.keep("orders", 0, seq=1, offset=1, key=b"k")


@history("another key supersedes nothing", violation("lost", seq=0, detail="hole"), EXPLAINED)
def other_key(h: History) -> None:
    gone(h)
    h.keep("orders", 0, seq=1, offset=1, key=b"other")


@history("no key is no key: null supersedes no null", violation("lost", seq=0, detail="hole"), EXPLAINED)
def null_key(h: History) -> None:
    gone(h, key=None)
    h.keep("orders", 0, seq=1, offset=1, key=None)


@history("an empty key is a key", allowed("expired", seq=0), EXPLAINED)
def empty_key(h: History) -> None:
    gone(h, key=b"")
    h.keep("orders", 0, seq=1, offset=1, key=b"")


@history("the key in another partition supersedes nothing", violation("lost", partition=0, detail="hole"), EXPLAINED)
def key_in_other_partition(h: History) -> None:
    gone(h)
    h.keep("orders", 0, seq=1, offset=1, key=b"other")
    h.kept("orders", 1, 3, key=b"k")
    h.bounds("orders", 1, policy="compact")


@history("the key in another topic supersedes nothing", violation("lost", topic="orders", detail="hole"), EXPLAINED)
def key_in_other_topic(h: History) -> None:
    gone(h)
    h.keep("orders", 0, seq=1, offset=1, key=b"other")
    h.kept("bills", 0, 3, key=b"k")


@history("a lower offset with the key supersedes nothing", violation("lost", seq=1, offset=1, detail="hole"), EXPLAINED)
def key_below(h: History) -> None:
    h.bounds("orders", policy="compact")
    h.keep("orders", 0, seq=0, offset=0, key=b"k")
    h.acked("orders", 0, seq=1, offset=1, key=b"k")
    h.keep("orders", 0, seq=2, offset=2, key=b"other")


@history(
    "the same offset is not a higher one: replaced",
    violation("lost", seq=0, offset=0, detail="replaced"),
    violation("inconsistent-offset", offset=0),
    foreign=1,
)
def key_at_same_offset(h: History) -> None:
    gone(h)
    h.foreign("orders", 0, offset=0, key=b"k")


@history("a newest record that was cut off is lost: compaction keeps it", violation("lost", seq=1, detail="truncated"))
def key_below_the_end(h: History) -> None:
    h.bounds("orders", policy="compact")
    h.keep("orders", 0, seq=0, offset=0, key=b"k")
    h.acked("orders", 0, seq=1, offset=1, key=b"k")


@history("a foreign record with the key supersedes ours", allowed("expired", seq=0), EXPLAINED, foreign=1)
def superseded_by_foreign(h: History) -> None:
    gone(h)
    h.foreign("orders", 0, offset=1, key=b"k")


@history("a tombstone in the log supersedes", allowed("expired", seq=0), EXPLAINED)
def superseded_by_tombstone(h: History) -> None:
    gone(h)
    h.acked("orders", 0, seq=1, offset=1, key=b"k", value_null=True)
    h.tombstone_in_log("orders", 0, 1, key=b"k")


# -- compacted: a newer record of the key was acked, and is gone as well -------------------------------------------


@history(
    "a tombstone that was acked and has gone itself supersedes",
    allowed("expired", seq=0),
    allowed("expired", seq=1),
    EXPLAINED,
)
def superseded_by_vanished_tombstone(h: History) -> None:
    gone(h)
    h.acked("orders", 0, seq=1, offset=1, key=b"k", value_null=True)
    h.keep("orders", 0, seq=2, offset=2, key=b"other")


@history(
    "an acked record supersedes even where it is lost itself",
    allowed("expired", seq=0),
    violation("lost", seq=1, detail="hole"),
    EXPLAINED,
)
def superseded_by_lost(h: History) -> None:
    gone(h)
    h.acked("orders", 0, seq=1, offset=1, key=b"k")
    h.keep("orders", 0, seq=2, offset=2, key=b"other")


@history(
    "a record of unknown outcome that is not there supersedes nothing",
    violation("lost", seq=0, detail="hole"),
    allowed("unacked-absent", seq=1),
    EXPLAINED,
)
def superseded_by_unknown(h: History) -> None:
    gone(h)
    h.unknown("orders", 0, seq=1, key=b"k")
    h.keep("orders", 0, seq=2, offset=2, key=b"other")


@history(
    "what an aborted transaction wrote supersedes nothing",
    violation("lost", seq=0, detail="hole"),
    allowed("withdrawn", seq=1),
    EXPLAINED,
)
def superseded_by_aborted(h: History) -> None:
    h.txn("tx#0", "aborted")
    gone(h)
    h.acked("orders", 0, seq=1, offset=1, key=b"k", txn="tx#0")
    h.keep("orders", 0, seq=2, offset=2, key=b"other")


@history(
    "a transaction of unknown outcome may have superseded",
    allowed("expired", seq=0),
    allowed("withdrawn", seq=1),
    EXPLAINED,
)
def superseded_by_unknown_transaction(h: History) -> None:
    h.txn("tx#0", "unknown")
    gone(h)
    h.acked("orders", 0, seq=1, offset=1, key=b"k", txn="tx#0")
    h.keep("orders", 0, seq=2, offset=2, key=b"other")


@history(
    "a transaction without a row may have superseded", allowed("expired", seq=0), allowed("withdrawn", seq=1), EXPLAINED
)
def superseded_by_unlisted_transaction(h: History) -> None:
    gone(h)
    h.acked("orders", 0, seq=1, offset=1, key=b"k", txn="tx#0")
    h.keep("orders", 0, seq=2, offset=2, key=b"other")


# -- compacted: where an offset is missing, the seq of the same producer says what is newer ------------------------


@history("no offset, but the same producer wrote the key later", allowed("expired", **FIRST))
def unplaced_superseded(h: History) -> None:
    gone(h, offset=None)
    h.keep("orders", 0, seq=1, offset=0, key=b"k")


@history("expired comes before undecided", allowed("expired", seq=0))
def unplaced_superseded_start_moved(h: History) -> None:
    gone(h, offset=None)
    h.keep("orders", 0, seq=1, offset=3, key=b"k")
    h.bounds("orders", start=3)


@history("no offset, start moved, key not written again: undecided", undecided=1)
def unplaced_start_moved(h: History) -> None:
    gone(h, offset=None)
    h.keep("orders", 0, seq=1, offset=3, key=b"other")
    h.bounds("orders", start=3)


@history("no offset: another producer's later record says nothing", violation("lost", producer="p", detail="unplaced"))
def unplaced_other_producer(h: History) -> None:
    gone(h, offset=None)
    h.kept("orders", 0, 2, producer="q", key=b"k")


@history("no offset: a foreign record says nothing", violation("lost", seq=0, detail="unplaced"), foreign=1)
def unplaced_foreign(h: History) -> None:
    gone(h, offset=None)
    h.foreign("orders", 0, offset=0, key=b"k")


@history("no offset: an earlier seq supersedes nothing", violation("lost", seq=1, detail="unplaced"))
def unplaced_earlier_seq(h: History) -> None:
    h.bounds("orders", policy="compact")
    h.keep("orders", 0, seq=0, offset=0, key=b"k")
    h.acked("orders", 0, seq=1, offset=None, key=b"k")


@history("no offset: the same seq is not a higher one", violation("lost", seq=0, attempt=0, detail="unplaced"))
def unplaced_same_seq(h: History) -> None:
    gone(h, offset=None)
    h.keep("orders", 0, seq=0, attempt=1, offset=0, key=b"k")


@history("no offset: a later seq with another key", violation("lost", seq=0, detail="unplaced"))
def unplaced_other_key(h: History) -> None:
    gone(h, offset=None)
    h.keep("orders", 0, seq=1, offset=0, key=b"other")


@history(
    "the newer one, a tombstone, has no offset: its seq decides",
    allowed("expired", seq=0),
    allowed("expired", seq=1),
    EXPLAINED,
)
def superseded_by_unplaced(h: History) -> None:
    gone(h)
    h.acked("orders", 0, seq=1, offset=None, key=b"k", value_null=True)
    h.keep("orders", 0, seq=2, offset=1, key=b"other")


@history(
    "without an offset another producer's tombstone is not known to be newer",
    allowed("expired", producer="q"),
    violation("lost", producer="p", seq=0, detail="hole"),
    EXPLAINED,
)
def unplaced_tombstone_of_other_producer(h: History) -> None:
    gone(h)
    h.keep("orders", 0, seq=0, offset=1, key=b"other", producer="q")
    h.acked("orders", 0, seq=1, offset=None, key=b"k", value_null=True, producer="q")


# -- tombstones ----------------------------------------------------------------------------------------------------


@history("compaction removes tombstones", allowed("expired", seq=0, offset=0), EXPLAINED)
def tombstone(h: History) -> None:
    gone(h, value_null=True)
    h.keep("orders", 0, seq=1, offset=1, key=b"other")


@history("even one without an offset", allowed("expired", seq=0))
def tombstone_unplaced(h: History) -> None:
    gone(h, offset=None, value_null=True)
    h.keep("orders", 0, seq=1, offset=0, key=b"other")


@history("compaction removes weak records as well, but loses none", expected("lost", seq=0, detail="hole"), EXPLAINED)
def weak_on_compacted(h: History) -> None:
    gone(h, acks="1", idempotent=False)
    h.keep("orders", 0, seq=1, offset=1, key=b"other", acks="1", idempotent=False)


@history("an untouched compacted topic is clean")
def compacted_clean(h: History) -> None:
    h.kept("orders", 0, 3, key=b"k")
    h.bounds("orders", policy="compact")


# -- why ----------------------------------------------------------------------------------------------------------


@history(
    "a reader is told whether retention or compaction took it",
    allowed("expired", seq=0, note="below the log's start"),
    allowed("expired", seq=1, note="compacted"),
    allowed("expired", seq=2, note="compacted"),
    EXPLAINED,
)
def told_why(h: History) -> None:
    h.bounds("orders", policy="compact,delete", start=1)
    for seq in range(3):  # the second stood at the start itself
        h.acked("orders", 0, seq=seq, offset=seq, key=b"k")
    h.keep("orders", 0, seq=3, offset=3, key=b"k")
