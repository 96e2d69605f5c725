"""Several copies, several attempts, another order."""

from __future__ import annotations

from typing import Any

from tests.spark.histories.book import History, allowed, history, violation

# -- duplicated ----------------------------------------------------------------------------------------------------


@history(
    "an idempotent producer's attempt lies there twice",
    violation("duplicated", topic="orders", partition=0, producer="p", seq=0, attempt=0),
)
def duplicated(h: History) -> None:
    h.keep("orders", 0, seq=0, offset=0)
    h.in_log("orders", 0, offset=1, seq=0)


@history("one finding per extra copy", violation("duplicated", 2, seq=0))
def duplicated_thrice(h: History) -> None:
    h.keep("orders", 0, seq=0, offset=0)
    h.in_log("orders", 0, offset=1, seq=0)
    h.in_log("orders", 0, offset=2, seq=0)


@history("without idempotence copies are allowed", allowed("duplicated", seq=0))
def duplicated_not_idempotent(h: History) -> None:
    h.keep("orders", 0, seq=0, offset=0, idempotent=False)
    h.in_log("orders", 0, offset=1, seq=0)


@history("an unclean topic excuses no copy", violation("duplicated", seq=0))
def duplicated_unclean(h: History) -> None:
    h.keep("orders", 0, seq=0, offset=0)
    h.in_log("orders", 0, offset=1, seq=0)
    h.unclean("orders")


@history(
    "a record of unknown outcome may not lie there twice either",
    violation("duplicated", seq=0),
    allowed("unacked-read", seq=0),
)
def duplicated_unknown(h: History) -> None:
    h.unknown("orders", 0, seq=0)
    h.in_log("orders", 0, offset=0, seq=0)
    h.in_log("orders", 0, offset=1, seq=0)


@history(
    "in several places and acked at none of them: no mismatch, which speaks of single copies",
    violation("duplicated", seq=0),
)
def duplicated_elsewhere(h: History) -> None:
    h.acked("orders", 0, seq=0, offset=7)
    h.in_log("orders", 0, offset=0, seq=0)
    h.in_log("orders", 0, offset=1, seq=0)


@history("the same seq of two producers, partitions, topics are different records")
def same_seq(h: History) -> None:
    h.keep("orders", 0, seq=0, offset=0)
    h.keep("orders", 0, seq=0, offset=1, producer="q")
    h.keep("orders", 1, seq=0, offset=0)
    h.keep("bills", 0, seq=0, offset=0)


@history("a copy in a wrong partition is misrouted, not duplicated", violation("misrouted", producer="p", seq=0))
def copy_in_other_partition(h: History) -> None:
    h.keep("orders", 0, seq=0, offset=0)
    h.in_log("orders", 1, offset=0, seq=0, intended=("orders", 0))


# -- resent --------------------------------------------------------------------------------------------------------


@history(
    "two attempts both arrived",
    allowed("resent", topic="orders", partition=0, producer="p", seq=0, attempt=1),
    allowed("unacked-read", seq=0, attempt=0),
)
def resent(h: History) -> None:
    h.unknown("orders", 0, seq=0)
    h.in_log("orders", 0, offset=0, seq=0)
    h.keep("orders", 0, seq=0, attempt=1, offset=1)


@history(
    "one per attempt beyond the lowest that is there",
    allowed("resent", seq=0, attempt=2),
    allowed("unacked-absent", attempt=0),
    allowed("unacked-read", attempt=1),
)
def resent_later_ones(h: History) -> None:
    h.unknown("orders", 0, seq=0)
    h.unknown("orders", 0, seq=0, attempt=1)
    h.in_log("orders", 0, offset=0, seq=0, attempt=1)
    h.keep("orders", 0, seq=0, attempt=2, offset=1)


@history(
    "three attempts there are two resent",
    allowed("resent", attempt=1),
    allowed("resent", attempt=2),
    allowed("unacked-read", 2),
)
def resent_twice(h: History) -> None:
    for attempt in (0, 1):
        h.unknown("orders", 0, seq=0, attempt=attempt)
        h.in_log("orders", 0, offset=attempt, seq=0, attempt=attempt)
    h.keep("orders", 0, seq=0, attempt=2, offset=2)


@history("only the second attempt arrived: nothing is there twice", allowed("unacked-absent", seq=0, attempt=0))
def resent_once_arrived(h: History) -> None:
    h.unknown("orders", 0, seq=0)
    h.keep("orders", 0, seq=0, attempt=1, offset=0)


@history(
    "copies of one attempt are no second attempt",
    violation("duplicated", attempt=1),
    allowed("unacked-absent", attempt=0),
)
def copies_of_one_attempt(h: History) -> None:
    h.unknown("orders", 0, seq=0)
    h.keep("orders", 0, seq=0, attempt=1, offset=0)
    h.in_log("orders", 0, offset=1, seq=0, attempt=1)


# -- reordered: all sent at one moment, so that no acknowledgement is stale ------------------------------------------


def together(h: History, *offsets: int, **more: Any) -> None:
    """Records 0, 1, ... of one producer, in flight at once, acked and found at these offsets."""
    for seq, offset in enumerate(offsets):
        h.keep("orders", 0, seq=seq, offset=offset, at=0, **more)


@history(
    "a later record lies before an earlier one",
    violation("reordered", topic="orders", partition=0, producer="p", seq=1, attempt=0),
)
def reordered(h: History) -> None:
    together(h, 1, 0)


@history(
    "against the highest of all smaller seqs, not the one before",
    violation("reordered", seq=1),
    violation("reordered", seq=2),
)
def reordered_by_highest(h: History) -> None:
    together(h, 2, 0, 1)


@history(
    "a late first one makes all others reordered, they do not disturb each other",
    violation("reordered", seq=1),
    violation("reordered", seq=2),
    foreign=1,
)
def reordered_first_is_last(h: History) -> None:
    together(h, 3, 0, 1, 4)
    h.foreign("orders", 0, offset=2)


@history("without idempotence order is not promised", allowed("reordered", seq=1))
def reordered_not_idempotent(h: History) -> None:
    together(h, 1, 0, idempotent=False)


@history("an unclean topic excuses no disorder", violation("reordered", seq=1))
def reordered_unclean(h: History) -> None:
    together(h, 1, 0)
    h.unclean("orders")


@history("two producers have no order between them")
def not_reordered_producers(h: History) -> None:
    h.keep("orders", 0, seq=0, offset=2, at=0)
    h.kept("orders", 0, 2, at=0, producer="q")


@history("two partitions have no order between them")
def not_reordered_partitions(h: History) -> None:
    h.keep("orders", 0, seq=0, offset=5)
    h.bounds("orders", 0, start=5)
    h.kept("orders", 1, 2)


@history("a second attempt comes late by nature", allowed("unacked-absent", seq=0, attempt=0))
def not_reordered_second_attempt(h: History) -> None:
    h.unknown("orders", 0, seq=0)
    h.keep("orders", 0, seq=1, offset=0)
    h.keep("orders", 0, seq=0, attempt=1, offset=1)


@history("nor is a later record's second attempt before an earlier record", allowed("unacked-absent", seq=1, attempt=0))
def not_reordered_second_attempt_first(h: History) -> None:
    h.unknown("orders", 0, seq=1)
    h.keep("orders", 0, seq=0, offset=1, at=0)
    h.keep("orders", 0, seq=1, attempt=1, offset=0, at=0)


@history("the first copy gives the place: a late copy disturbs nobody", violation("duplicated", seq=0))
def not_reordered_late_copy(h: History) -> None:
    together(h, 0, 1)
    h.in_log("orders", 0, offset=2, seq=0)


@history(
    "the first copy gives the place: an early copy is out of order",
    violation("reordered", seq=1),
    violation("duplicated", seq=1),
)
def reordered_early_copy(h: History) -> None:
    h.acked("orders", 0, seq=0, offset=1, at=0)
    h.acked("orders", 0, seq=1, offset=2, at=0)
    h.in_log("orders", 0, offset=0, seq=1)
    h.in_log("orders", 0, offset=1, seq=0)
    h.in_log("orders", 0, offset=2, seq=1)


@history("phantoms are left out of the order", violation("phantom", producer="p", seq=9))
def not_reordered_phantom(h: History) -> None:
    h.in_log("orders", 0, offset=0, seq=9)
    h.kept("orders", 0, 2, offset=1)


@history(
    "reserved and never reported: order cannot be promised", allowed("reordered", seq=1), allowed("unacked-read", 2)
)
def reordered_reserved(h: History) -> None:
    h.kept("orders", 1, 1)
    h.reserve("orders", 0, 0, 2)
    h.in_log("orders", 0, offset=0, seq=1)
    h.in_log("orders", 0, offset=1, seq=0)


@history(
    "a stray copy in another partition has no place in the order",
    violation("misrouted", seq=0),
    allowed("gap", partition=0, detail="unexplained"),
)
def not_reordered_misrouted(h: History) -> None:
    h.acked("orders", 0, seq=0, offset=0, at=0)
    h.in_log("orders", 1, offset=5, seq=0, intended=("orders", 0))
    h.bounds("orders", 1, start=5)
    h.keep("orders", 0, seq=1, offset=1, at=0)


@history(
    "records of unknown outcome have their place in the order",
    violation("reordered", seq=1),
    allowed("unacked-read", seq=0),
)
def reordered_unknown(h: History) -> None:
    h.unknown("orders", 0, seq=0, at=0)
    h.keep("orders", 0, seq=1, offset=0, at=0)
    h.in_log("orders", 0, offset=1, seq=0)
