"""Consumers: lost in delivery, taken up again, polls that jump or go back, commits that fall."""

from __future__ import annotations

from typing import Any

from tests.spark.histories.book import History, allowed, expected, history, violation

THIRD: dict[str, Any] = {"topic": "orders", "partition": 0, "producer": "p", "seq": 2, "offset": 2}


def skipping(h: History, n: int = 5) -> None:
    """All but offset 2 is taken up; the rebalance in between makes the jump nobody's poll."""
    h.kept("orders", 0, n)
    h.took("readers", "orders", 0, 0, 1)
    h.took("readers", "orders", 0, *range(3, n), assignment=1)


# -- lost in delivery ----------------------------------------------------------------------------------------------


@history("committed past it and nobody took it up", violation("lost-in-delivery", **THIRD))
def lost(h: History) -> None:
    skipping(h)
    h.commit("readers", "orders", 0, 5, assignment=1)


@history("a rebalance hands the rest to another: all taken up")
def handed_over(h: History) -> None:
    h.kept("orders", 0, 4)
    h.took("readers", "orders", 0, 0, 1, member="m0")
    h.commit("readers", "orders", 0, 2, member="m0")
    h.took("readers", "orders", 0, 2, 3, member="m1", assignment=1)
    h.commit("readers", "orders", 0, 4, member="m1", assignment=1)


@history("a commit at the record is not past it")
def commit_at_record(h: History) -> None:
    skipping(h)
    h.commit("readers", "orders", 0, 2, assignment=1)


@history("a commit just past it is", violation("lost-in-delivery", **THIRD))
def commit_just_past(h: History) -> None:
    skipping(h)
    h.commit("readers", "orders", 0, 3, assignment=1)


@history("the highest commit counts, not the last one", violation("lost-in-delivery", **THIRD))
def highest_commit(h: History) -> None:
    skipping(h)
    h.commit("readers", "orders", 0, 5, assignment=1)
    h.commit("readers", "orders", 0, 1, assignment=2)


@history("never committed: nothing is lost in delivery")
def no_commit(h: History) -> None:
    skipping(h)


@history("another group's commit is none of ours")
def commit_of_other_group(h: History) -> None:
    skipping(h)
    h.took("others", "orders", 0, 0, 1, 2, 3, 4, member="o")
    h.commit("others", "orders", 0, 5, member="o")


@history("another group's taking up is none of ours", violation("lost-in-delivery", **THIRD))
def taken_by_other_group(h: History) -> None:
    skipping(h)
    h.took("others", "orders", 0, 0, 1, 2, 3, 4, member="o")
    h.commit("readers", "orders", 0, 5, assignment=1)


@history("one finding per group and record", violation("lost-in-delivery", 2, **THIRD))
def two_groups(h: History) -> None:
    skipping(h)
    h.commit("readers", "orders", 0, 5, assignment=1)
    h.took("others", "orders", 0, 0, 1, member="o")
    h.took("others", "orders", 0, 3, 4, member="o", assignment=1)
    h.commit("others", "orders", 0, 5, member="o", assignment=1)


@history("the neighbour partition's commit is another", violation("lost-in-delivery", partition=1, seq=0))
def commit_of_neighbour(h: History) -> None:
    skipping(h)
    h.kept("orders", 1, 2)
    h.group_start("readers", "orders", 1, 0)
    h.took("readers", "orders", 1, 1, assignment=1)
    h.commit("readers", "orders", 1, 2, assignment=1)


@history("what lies before the lowest offset delivered was not asked for")
def before_lowest_delivered(h: History) -> None:
    h.kept("orders", 0, 4)
    h.took("readers", "orders", 0, 2, 3)
    h.commit("readers", "orders", 0, 4)


@history(
    "what lies at the first position was asked for, what is before was not", violation("lost-in-delivery", **THIRD)
)
def at_first_position(h: History) -> None:
    h.kept("orders", 0, 4)
    h.group_start("readers", "orders", 0, 2)
    h.took("readers", "orders", 0, 3)
    h.commit("readers", "orders", 0, 4)


@history("a first position without any delivery", violation("lost-in-delivery", 2, topic="orders"))
def never_delivered(h: History) -> None:
    h.kept("orders", 0, 2)
    h.group_start("readers", "orders", 0, 0)
    h.commit("readers", "orders", 0, 2)


@history("a commit of unknown outcome is not past anything")
def commit_unknown(h: History) -> None:
    skipping(h)
    h.commit("readers", "orders", 0, 5, assignment=1, outcome="unknown")


@history("a commit inside an aborted transaction is not past anything")
def commit_aborted(h: History) -> None:
    h.txn("tx#0", "aborted", producer="r")
    skipping(h)
    h.commit("readers", "orders", 0, 5, assignment=1, txn="tx#0")


@history("a commit in a transaction without a row is not past anything")
def commit_in_unlisted_transaction(h: History) -> None:
    skipping(h)
    h.commit("readers", "orders", 0, 5, assignment=1, txn="tx#0")


@history("a commit inside a committed transaction is", violation("lost-in-delivery", **THIRD))
def commit_in_transaction(h: History) -> None:
    h.txn("tx#0", producer="r")
    skipping(h)
    h.commit("readers", "orders", 0, 5, assignment=1, txn="tx#0")


@history("a hole in the log is no loss in delivery", allowed("gap", detail="unexplained"))
def gap_in_log(h: History) -> None:
    h.kept("orders", 0, 2)
    h.keep("orders", 0, seq=2, offset=3)
    h.took("readers", "orders", 0, 0, 1, 3)
    h.commit("readers", "orders", 0, 4)


def with_transaction(h: History, outcome: str, isolation: str = "read_committed") -> None:
    """Offset 1 belongs to a transaction and is passed over within one assignment; the log shows everything."""
    h.txn("tx#0", outcome)
    h.keep("orders", 0, seq=0, offset=0)
    h.keep("orders", 0, seq=1, offset=1, txn="tx#0")
    h.keep("orders", 0, seq=2, offset=2)
    h.bounds("orders", isolation="read_uncommitted")
    h.took("readers", "orders", 0, 0, 2, isolation=isolation)
    h.commit("readers", "orders", 0, 3)


@history("a reader of committed records passes over aborted ones")
def aborted_passed_over(h: History) -> None:
    with_transaction(h, "aborted")


@history("and over those of unknown outcome")
def unknown_passed_over(h: History) -> None:
    with_transaction(h, "unknown")


@history("but not over committed ones", violation("lost-in-delivery", seq=1), violation("poll-skip", detail="1"))
def committed_passed_over(h: History) -> None:
    with_transaction(h, "committed")


@history(
    "a reader of everything does not pass over aborted ones",
    violation("lost-in-delivery", seq=1),
    violation("poll-skip", detail="1"),
)
def aborted_passed_over_uncommitted(h: History) -> None:
    with_transaction(h, "aborted", isolation="read_uncommitted")


# -- redelivered ---------------------------------------------------------------------------------------------------


@history(
    "after a rebalance from the last commit: redelivered, one per extra take-up",
    allowed("redelivered", topic="orders", partition=0, offset=1),
    allowed("redelivered", offset=2),
)
def redelivered(h: History) -> None:
    h.kept("orders", 0, 4)
    h.took("readers", "orders", 0, 0, 1, 2, member="m0")
    h.took("readers", "orders", 0, 1, 2, 3, member="m1", assignment=1)


@history("three times taken up are two extra ones", allowed("redelivered", 2, offset=0))
def redelivered_twice(h: History) -> None:
    h.kept("orders", 0, 1)
    for assignment in range(3):
        h.took("readers", "orders", 0, 0, assignment=assignment)


@history("two groups may both take it up")
def not_redelivered_other_group(h: History) -> None:
    h.kept("orders", 0, 2)
    h.took("readers", "orders", 0, 0, 1)
    h.took("others", "orders", 0, 0, 1, member="o")


@history("the same offset of another partition or topic is another record")
def not_redelivered_other_place(h: History) -> None:
    h.kept("orders", 0, 1)
    h.kept("orders", 1, 1)
    h.kept("bills", 0, 1)
    h.took("readers", "orders", 0, 0)
    h.took("readers", "orders", 1, 0)
    h.took("readers", "bills", 0, 0)


# -- poll-skip -----------------------------------------------------------------------------------------------------


@history(
    "one assignment jumps over a record that is there", violation("poll-skip", topic="orders", partition=0, detail="1")
)
def skip(h: History) -> None:
    h.kept("orders", 0, 3)
    h.took("readers", "orders", 0, 0, 2)


@history(
    "one finding per jump, the number passed over in it",
    violation("poll-skip", detail="1"),
    violation("poll-skip", detail="3"),
)
def skip_many(h: History) -> None:
    h.kept("orders", 0, 7)
    h.took("readers", "orders", 0, 0, 2, 6)


@history("jumping over offsets that hold nothing is no skip", allowed("gap", detail="unexplained"))
def skip_of_nothing(h: History) -> None:
    h.keep("orders", 0, seq=0, offset=0)
    h.keep("orders", 0, seq=1, offset=3)
    h.took("readers", "orders", 0, 0, 3)


@history(
    "a jump over a hole and a record counts the record only",
    violation("poll-skip", detail="1"),
    allowed("gap", detail="unexplained"),
)
def skip_of_some(h: History) -> None:
    h.keep("orders", 0, seq=0, offset=0)
    h.keep("orders", 0, seq=1, offset=3)
    h.keep("orders", 0, seq=2, offset=4)
    h.took("readers", "orders", 0, 0, 4)


@history("a jump between two assignments is a seek or a rebalance")
def skip_between_assignments(h: History) -> None:
    skipping(h)


@history("partitions of one member are polled in turn")
def skip_between_partitions(h: History) -> None:
    h.kept("orders", 0, 3)
    h.kept("orders", 1, 3)
    for offset in range(3):
        h.took("readers", "orders", 0, offset)
        h.took("readers", "orders", 1, offset)


@history("two members share the partition one after the other")
def skip_between_members(h: History) -> None:
    h.kept("orders", 0, 4)
    h.took("readers", "orders", 0, 0, 1, member="m0")
    h.took("readers", "orders", 0, 2, 3, member="m1")


@history("order is the position's, whatever the clock says")
def position_is_order(h: History) -> None:
    h.kept("orders", 0, 3)
    h.took("readers", "orders", 0, 0, at=900)
    h.took("readers", "orders", 0, 1, at=900)
    h.took("readers", "orders", 0, 2, at=100)


@history("a weak topic excuses no skip", violation("poll-skip", detail="1"))
def skip_unclean(h: History) -> None:
    h.kept("orders", 0, 3, acks="1", idempotent=False)
    h.took("readers", "orders", 0, 0, 2)
    h.unclean("orders")


# -- poll-backwards ------------------------------------------------------------------------------------------------


@history(
    "within one assignment it went back",
    violation("poll-backwards", topic="orders", partition=0, producer="p", seq=1, offset=1),
    violation("poll-skip", detail="1"),
)
def backwards(h: History) -> None:
    h.kept("orders", 0, 4)
    h.took("readers", "orders", 0, 0, 2, 1)


@history(
    "the same offset again is not above the one before",
    violation("poll-backwards", offset=1),
    allowed("redelivered", offset=1),
)
def backwards_by_nothing(h: History) -> None:
    h.kept("orders", 0, 3)
    h.took("readers", "orders", 0, 0, 1, 1, 2)


@history(
    "one finding per fall, though it climbs again below the highest",
    violation("poll-backwards", offset=0),
    allowed("redelivered", offset=0),
    allowed("redelivered", offset=1),
    allowed("redelivered", offset=2),
)
def backwards_once(h: History) -> None:
    h.kept("orders", 0, 3)
    h.took("readers", "orders", 0, 0, 1, 2, 0, 1, 2)


@history(
    "going back is bound to the record taken up: weak",
    expected("poll-backwards", seq=1),
    violation("poll-skip", detail="1"),
)
def backwards_weak(h: History) -> None:
    h.keep("orders", 0, seq=0, offset=0)
    h.keep("orders", 0, seq=1, offset=1, acks="1")
    h.keep("orders", 0, seq=2, offset=2)
    h.took("readers", "orders", 0, 0, 2, 1)


@history("not to the one before: strong", violation("poll-backwards", seq=1), violation("poll-skip", detail="1"))
def backwards_strong_after_weak(h: History) -> None:
    h.keep("orders", 0, seq=0, offset=0)
    h.keep("orders", 0, seq=1, offset=1)
    h.keep("orders", 0, seq=2, offset=2, acks="1")
    h.took("readers", "orders", 0, 0, 2, 1)


@history("an unclean topic may go back", expected("poll-backwards", offset=0), allowed("redelivered", offset=0))
def backwards_unclean(h: History) -> None:
    h.kept("orders", 0, 2)
    h.took("readers", "orders", 0, 0, 0, 1)
    h.unclean("orders")


@history("another assignment, another partition, another member may be lower", allowed("redelivered", offset=0))
def not_backwards(h: History) -> None:
    h.kept("orders", 0, 3)
    h.kept("orders", 1, 1)
    h.took("readers", "orders", 0, 0, 1)
    h.took("readers", "orders", 1, 0)
    h.took("readers", "orders", 0, 0, assignment=1)
    h.took("readers", "orders", 0, 2, member="m1")
