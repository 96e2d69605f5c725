"""Offsets that do not agree: bound twice, found elsewhere, stale; and ranges that hold nothing."""

from __future__ import annotations

from typing import Any

from tests.spark.histories.book import History, allowed, expected, history, violation

HERE: dict[str, Any] = {"topic": "orders", "partition": 0}
UNEXPLAINED = allowed("gap", **HERE, detail="unexplained")

# -- inconsistent-offset: sent at one moment, so that no acknowledgement is stale ------------------------------------


def acked_at_one(h: History, first: dict[str, Any] | None = None, second: dict[str, Any] | None = None) -> None:
    """Records of p and q, both acked at offset 0; q's is found at 1."""
    h.keep("orders", 0, seq=0, offset=0, at=0, **(first or {}))
    h.acked("orders", 0, seq=0, offset=0, at=0, producer="q", **(second or {}))
    h.in_log("orders", 0, offset=1, seq=0, producer="q")


@history(
    "two records acked at one offset",
    violation("inconsistent-offset", **HERE, offset=0),
    violation("offset-mismatch", producer="q"),
)
def two_acks(h: History) -> None:
    acked_at_one(h)


@history(
    "weak if one of the two is: the first",
    expected("inconsistent-offset", offset=0),
    violation("offset-mismatch", producer="q"),
)
def two_acks_first_weak(h: History) -> None:
    acked_at_one(h, first={"acks": "1", "idempotent": False})


@history(
    "weak if one of the two is: the second",
    expected("inconsistent-offset", offset=0),
    expected("offset-mismatch", producer="q"),
)
def two_acks_second_weak(h: History) -> None:
    acked_at_one(h, second={"acks": "1", "idempotent": False})


@history(
    "an unclean topic is weak as a whole",
    expected("inconsistent-offset", offset=0),
    expected("offset-mismatch", producer="q"),
)
def two_acks_unclean(h: History) -> None:
    acked_at_one(h)
    h.unclean("orders")


@history(
    "three records at one offset are one finding",
    violation("inconsistent-offset", offset=0),
    violation("offset-mismatch", producer="q"),
    violation("offset-mismatch", producer="r"),
)
def three_acks(h: History) -> None:
    acked_at_one(h)
    h.acked("orders", 0, seq=0, offset=0, at=0, producer="r")
    h.in_log("orders", 0, offset=2, seq=0, producer="r")


@history(
    "the log binds an offset too",
    violation("inconsistent-offset", **HERE, offset=0),
    violation("offset-mismatch", producer="p", seq=0),
    allowed("unacked-read", producer="q"),
)
def ack_and_log(h: History) -> None:
    h.acked("orders", 0, seq=0, offset=0)
    h.unknown("orders", 0, seq=0, producer="q")
    h.in_log("orders", 0, offset=0, seq=0, producer="q")
    h.in_log("orders", 0, offset=1, seq=0)


@history(
    "a foreign row is a record, too",
    violation("inconsistent-offset", **HERE, offset=0),
    violation("offset-mismatch", seq=0),
    foreign=1,
)
def ack_and_foreign(h: History) -> None:
    h.acked("orders", 0, seq=0, offset=0)
    h.foreign("orders", 0, offset=0)
    h.in_log("orders", 0, offset=1, seq=0)


@history(
    "the foreign one binds no attempt, the weak one does",
    expected("inconsistent-offset", offset=0),
    expected("offset-mismatch", seq=0),
    foreign=1,
)
def weak_ack_and_foreign(h: History) -> None:
    h.acked("orders", 0, seq=0, offset=0, acks="1", idempotent=False)
    h.foreign("orders", 0, offset=0)
    h.in_log("orders", 0, offset=1, seq=0)


@history("the same offset in two partitions and topics is no conflict")
def same_offset_elsewhere(h: History) -> None:
    h.kept("orders", 0, 1)
    h.kept("orders", 1, 1, producer="q")
    h.kept("bills", 0, 1, producer="r")


@history("acks without an offset bind none")
def unplaced_acks(h: History) -> None:
    for producer, offset in (("p", 0), ("q", 1)):
        h.acked("orders", 0, seq=0, offset=None, producer=producer)
        h.in_log("orders", 0, offset=offset, seq=0, producer=producer)


@history(
    "conflicts below the start count: acks are enough",
    violation("inconsistent-offset", offset=0),
    allowed("expired", 2),
)
def two_acks_expired(h: History) -> None:
    h.acked("orders", 0, seq=0, offset=0, at=0)
    h.acked("orders", 0, seq=0, offset=0, at=0, producer="q")
    h.bounds("orders", start=3, end=3)


# -- offset-mismatch -----------------------------------------------------------------------------------------------


@history("there once, but not where it was acked", violation("offset-mismatch", **HERE, producer="p", seq=1, attempt=0))
def mismatch_above(h: History) -> None:
    h.kept("orders", 0, 1)
    h.acked("orders", 0, seq=1, offset=7)
    h.in_log("orders", 0, offset=1, seq=1)


@history("found above the offset acked is a mismatch as well", violation("offset-mismatch", seq=0), UNEXPLAINED)
def mismatch_below(h: History) -> None:
    h.acked("orders", 0, seq=0, offset=0)
    h.in_log("orders", 0, offset=1, seq=0)


@history("one attempt of a weak producer", expected("offset-mismatch", seq=0), UNEXPLAINED)
def mismatch_weak(h: History) -> None:
    h.acked("orders", 0, seq=0, offset=0, acks="1", idempotent=False)
    h.in_log("orders", 0, offset=1, seq=0)


@history(
    "an unclean topic's neighbour is not weak",
    expected("offset-mismatch", topic="orders"),
    violation("offset-mismatch", topic="bills"),
)
def mismatch_unclean(h: History) -> None:
    for topic in ("orders", "bills"):
        h.acked(topic, 0, seq=0, offset=7)
        h.in_log(topic, 0, offset=0, seq=0)
    h.unclean("orders")


@history("no offset was acked: nothing to differ from")
def mismatch_of_null(h: History) -> None:
    h.kept("orders", 0, 1)
    h.acked("orders", 0, seq=1, offset=None)
    h.in_log("orders", 0, offset=1, seq=1)


# -- stale-offset --------------------------------------------------------------------------------------------------


def late(h: History, invoked: float = 20, first: dict[str, Any] | None = None, **second: Any) -> None:
    """p is acked at offset 1 by 14 ms; then q invokes a send that is acked at offset 0. Both are there."""
    h.keep("orders", 0, seq=0, offset=1, **{"at": 10, "done": 14, **(first or {})})
    h.keep("orders", 0, seq=0, offset=0, at=invoked, producer="q", **second)


@history(
    "acked below what was acked before it was even sent",
    violation("stale-offset", **HERE, producer="q", seq=0, attempt=0),
)
def stale(h: History) -> None:
    late(h)


@history("sent in the moment the other was acked: not after it")
def stale_at_same_time(h: History) -> None:
    late(h, invoked=14)


@history("sent just after it", violation("stale-offset", producer="q"))
def stale_just_after(h: History) -> None:
    late(h, invoked=14.001)


@history("acked in the very moment of its send, which counts as well", violation("stale-offset", producer="q"))
def stale_behind_an_instant_ack(h: History) -> None:
    late(h, first={"at": 14})


@history("both in flight at once: any order will do")
def stale_in_flight(h: History) -> None:
    late(h, invoked=13)


@history(
    "the same offset once more is stale",
    violation("stale-offset", producer="q", seq=0),
    violation("inconsistent-offset", offset=0),
    violation("offset-mismatch", producer="q"),
)
def stale_equal(h: History) -> None:
    h.keep("orders", 0, seq=0, offset=0)
    h.acked("orders", 0, seq=0, offset=0, producer="q")
    h.in_log("orders", 0, offset=1, seq=0, producer="q")


@history("one above the highest is as it should be")
def stale_above(h: History) -> None:
    h.kept("orders", 0, 2)
    h.kept("orders", 0, 1, offset=2, producer="q")


@history("the highest counts, not the latest", violation("stale-offset", producer="r"))
def stale_by_highest(h: History) -> None:
    h.keep("orders", 0, seq=0, offset=2, at=10, done=14)
    h.keep("orders", 0, seq=0, offset=0, at=10, done=15, producer="q")
    h.keep("orders", 0, seq=0, offset=1, at=20, producer="r")


@history("acks of other partitions and topics say nothing")
def stale_elsewhere(h: History) -> None:
    h.kept("orders", 0, 3)
    h.kept("orders", 1, 1)
    h.kept("bills", 0, 1)


@history("only acked offsets count", allowed("unacked-read", seq=0))
def stale_after_unknown(h: History) -> None:
    h.unknown("orders", 0, seq=0, done=5, at=0)
    h.in_log("orders", 0, offset=1, seq=0)
    h.keep("orders", 0, seq=0, offset=0, producer="q", at=50)


@history("the same producer's own second send", violation("stale-offset", seq=1), violation("reordered", seq=1))
def stale_own(h: History) -> None:
    h.keep("orders", 0, seq=0, offset=1)
    h.keep("orders", 0, seq=1, offset=0)


@history("two named clocks are not compared")
def stale_other_clock(h: History) -> None:
    late(h, first={"clock": "a"}, clock="b")


@history("no name is another clock than a name")
def stale_null_and_named(h: History) -> None:
    late(h, first={}, clock="b")


@history("a name is another clock than no name")
def stale_named_and_null(h: History) -> None:
    late(h, first={"clock": "a"})


@history("one named clock is compared", violation("stale-offset", producer="q"))
def stale_same_clock(h: History) -> None:
    late(h, first={"clock": "a"}, clock="a")


@history("a higher ack on another clock hides no lower one on the same", violation("stale-offset", producer="q"))
def stale_beside_other_clock(h: History) -> None:
    h.keep("orders", 0, seq=0, offset=2, at=5, done=6, clock="z", producer="z")
    late(h, first={"clock": "a"}, clock="a")


@history("weak if the send itself was", expected("stale-offset", producer="q"))
def stale_weak(h: History) -> None:
    late(h, acks="1", idempotent=False)


@history("weak if the holder of the highest offset was", expected("stale-offset", producer="q"))
def stale_after_weak(h: History) -> None:
    late(h, first={"acks": "1", "idempotent": False})


@history("other weak acks do not matter", violation("stale-offset", producer="q"))
def stale_beside_weak(h: History) -> None:
    h.keep("orders", 0, seq=0, offset=0, at=2, done=3, acks="1", idempotent=False, producer="w")
    h.keep("orders", 0, seq=0, offset=2, at=10, done=14)
    h.keep("orders", 0, seq=0, offset=1, at=20, producer="q")


@history("an unclean topic may fall back", expected("stale-offset", producer="q"))
def stale_unclean(h: History) -> None:
    late(h)
    h.unclean("orders")


@history("what was acked without an offset is not stale")
def stale_unplaced(h: History) -> None:
    h.keep("orders", 0, seq=0, offset=1)
    h.acked("orders", 0, seq=0, offset=None, producer="q")
    h.in_log("orders", 0, offset=0, seq=0, producer="q")
