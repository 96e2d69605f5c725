"""In the log and never taken up by a group that claims the topic."""

from __future__ import annotations

from typing import Any

from tests.spark.histories.book import History, allowed, history, violation
from tests.spark.histories.writer import RUN

SECOND: dict[str, Any] = {"topic": "orders", "partition": 0, "producer": "p", "seq": 1, "offset": 1}


@history("taken up and committed, as claimed")
def clean(h: History) -> None:
    h.kept("orders", 0, 3)
    h.took("readers", "orders", 0, 0, 1, 2)
    h.commit("readers", "orders", 0, 3)
    h.claims("readers", "orders")


@history("taken up is enough: nobody asks for a commit")
def never_committed(h: History) -> None:
    h.kept("orders", 0, 3)
    h.took("readers", "orders", 0, 0, 1, 2)
    h.claims("readers", "orders")


@history("never taken up, no commit: unseen", violation("unseen", **SECOND))
def tail(h: History) -> None:
    h.kept("orders", 0, 2)
    h.took("readers", "orders", 0, 0)
    h.claims("readers", "orders")


@history("a commit at the record is not past it", violation("unseen", **SECOND))
def commit_at_record(h: History) -> None:
    h.kept("orders", 0, 2)
    h.took("readers", "orders", 0, 0)
    h.commit("readers", "orders", 0, 1)
    h.claims("readers", "orders")


@history("a commit past it makes it lost in delivery, not unseen", violation("lost-in-delivery", **SECOND))
def commit_past_record(h: History) -> None:
    h.kept("orders", 0, 2)
    h.took("readers", "orders", 0, 0)
    h.commit("readers", "orders", 0, 2)
    h.claims("readers", "orders")


@history("a commit in the neighbour partition is not past it", violation("unseen", partition=0, seq=1))
def commit_in_neighbour(h: History) -> None:
    h.kept("orders", 0, 2)
    h.kept("orders", 1, 2)
    h.took("readers", "orders", 0, 0)
    h.took("readers", "orders", 1, 0, 1)
    h.commit("readers", "orders", 1, 2)
    h.claims("readers", "orders")


@history("a commit of unknown outcome is not counted", violation("unseen", **SECOND))
def commit_unknown(h: History) -> None:
    h.kept("orders", 0, 2)
    h.took("readers", "orders", 0, 0)
    h.commit("readers", "orders", 0, 2, outcome="unknown")
    h.claims("readers", "orders")


@history("a commit in an aborted transaction is not counted", violation("unseen", **SECOND))
def commit_aborted(h: History) -> None:
    h.txn("tx#0", "aborted", producer="r")
    h.kept("orders", 0, 2)
    h.took("readers", "orders", 0, 0)
    h.commit("readers", "orders", 0, 2, txn="tx#0")
    h.claims("readers", "orders")


@history("a commit in a transaction of unknown outcome is not counted", violation("unseen", **SECOND))
def commit_in_unknown_transaction(h: History) -> None:
    h.kept("orders", 0, 2)
    h.took("readers", "orders", 0, 0)
    h.commit("readers", "orders", 0, 2, txn="tx#0")
    h.claims("readers", "orders")


@history("without a claim nobody has to read anything")
def no_claim(h: History) -> None:
    h.kept("orders", 0, 2)
    h.took("readers", "orders", 0, 0)


@history("a claim of one topic is none of another", violation("unseen", topic="bills", seq=0))
def other_topic_claimed(h: History) -> None:
    h.kept("orders", 0, 2)
    h.took("readers", "orders", 0, 0)
    h.kept("bills", 0, 1)
    h.claims("readers", "bills")


@history("another group's taking up does not count", violation("unseen", **SECOND))
def other_group(h: History) -> None:
    h.kept("orders", 0, 2)
    h.took("readers", "orders", 0, 0, 1)
    h.took("others", "orders", 0, 0, member="o")
    h.claims("readers", "orders")
    h.claims("others", "orders")


@history("one finding per group and record", violation("unseen", 2, **SECOND))
def two_groups(h: History) -> None:
    h.kept("orders", 0, 2)
    h.took("readers", "orders", 0, 0)
    h.took("others", "orders", 0, 0, member="o")
    h.claims("readers", "orders")
    h.claims("others", "orders")


@history("several members share the work")
def two_members(h: History) -> None:
    h.kept("orders", 0, 2)
    h.took("readers", "orders", 0, 0, member="m0")
    h.took("readers", "orders", 0, 1, member="m1")
    h.claims("readers", "orders")


@history("a group that never came has seen nothing", violation("unseen", 3, topic="orders"))
def never_came(h: History) -> None:
    h.kept("orders", 0, 3)
    h.claims("readers", "orders")


@history("from earliest, a partition nobody touched is unseen", violation("unseen", 2, partition=1))
def untouched_partition(h: History) -> None:
    h.kept("orders", 0, 1)
    h.kept("orders", 1, 2)
    h.took("readers", "orders", 0, 0)
    h.claims("readers", "orders")


@history(
    "from earliest, what lies before the first position counts", violation("unseen", seq=0), violation("unseen", seq=2)
)
def from_earliest(h: History) -> None:
    h.kept("orders", 0, 3)
    h.took("readers", "orders", 0, 1)
    h.claims("readers", "orders")


@history("from the first position, what lies before it does not count", violation("unseen", seq=2))
def from_first_delivered(h: History) -> None:
    h.kept("orders", 0, 3)
    h.took("readers", "orders", 0, 1)
    h.claims("readers", "orders", start="first-position")


@history("the first position asked for counts itself, what is before does not", violation("unseen", **SECOND))
def from_first_position(h: History) -> None:
    h.kept("orders", 0, 3)
    h.group_start("readers", "orders", 0, 1)
    h.took("readers", "orders", 0, 2)
    h.claims("readers", "orders", start="first-position")


@history("earliest is the start of the log")
def start_moved(h: History) -> None:
    h.kept("orders", 0, 2, offset=5)
    h.bounds("orders", start=5)
    h.took("readers", "orders", 0, 5, 6)
    h.claims("readers", "orders")


@history("what is not in the log cannot be unseen", allowed("expired", seq=0))
def expired_unseen(h: History) -> None:
    h.acked("orders", 0, seq=0, offset=0)
    h.keep("orders", 0, seq=1, offset=1)
    h.bounds("orders", start=1)
    h.took("readers", "orders", 0, 1)
    h.claims("readers", "orders")


@history("of unknown outcome but in the log: to be seen", allowed("unacked-read", seq=1), violation("unseen", **SECOND))
def unknown_outcome(h: History) -> None:
    h.keep("orders", 0, seq=0, offset=0)
    h.unknown("orders", 0, seq=1)
    h.in_log("orders", 0, offset=1, seq=1)
    h.took("readers", "orders", 0, 0)
    h.claims("readers", "orders")


@history("an unclean topic excuses no reader", violation("unseen", seq=1))
def unclean(h: History) -> None:
    h.kept("orders", 0, 2)
    h.took("readers", "orders", 0, 0)
    h.claims("readers", "orders")
    h.unclean("orders")


# -- transactions in a log that was read uncommitted ---------------------------------------------------------------


def last_in_transaction(h: History, outcome: str | None, isolation: str = "read_committed") -> None:
    """Offset 1 belongs to a transaction and is not taken up; the log shows it whatever its outcome."""
    if outcome:
        h.txn("tx#0", outcome)
    h.keep("orders", 0, seq=0, offset=0)
    h.keep("orders", 0, seq=1, offset=1, txn="tx#0")
    h.bounds("orders", isolation="read_uncommitted")
    h.took("readers", "orders", 0, 0, isolation=isolation)
    h.claims("readers", "orders")


@history("a group that reads committed need not see aborted records")
def aborted(h: History) -> None:
    last_in_transaction(h, "aborted")


@history("nor records of unknown outcome")
def unknown_transaction(h: History) -> None:
    last_in_transaction(h, "unknown")


@history("nor those of a transaction without a row")
def unlisted_transaction(h: History) -> None:
    last_in_transaction(h, None)


@history("but committed ones it must", violation("unseen", **SECOND))
def committed(h: History) -> None:
    last_in_transaction(h, "committed")


@history("a group that reads uncommitted must see aborted records too", violation("unseen", **SECOND))
def aborted_read_uncommitted(h: History) -> None:
    last_in_transaction(h, "aborted", isolation="read_uncommitted")


# -- which record a delivery is of ---------------------------------------------------------------------------------


@history(
    "a delivery whose place holds nothing is of the record it names, every attempt of it",
    allowed("resent", seq=1),
    allowed("unacked-read", seq=1),
)
def named_elsewhere(h: History) -> None:
    h.keep("orders", 0, seq=0, offset=0)
    h.unknown("orders", 0, seq=1, attempt=0)
    h.in_log("orders", 0, offset=1, seq=1)
    h.keep("orders", 0, seq=1, attempt=1, offset=2)
    h.took("readers", "orders", 0, 0)
    h.took("readers", "orders", 0, 9, assignment=1, run_id=RUN, producer="p", seq=1)
    h.claims("readers", "orders")


@history("the log says which record lies at a place, not the name in the delivery", violation("unseen", **SECOND))
def named_wrongly(h: History) -> None:
    h.kept("orders", 0, 2)
    h.took("readers", "orders", 0, 0, producer="p", seq=1)
    h.claims("readers", "orders")


@history("a name that is another producer's is another record", violation("unseen", producer="p", seq=1))
def named_other_producer(h: History) -> None:
    h.kept("orders", 0, 2)
    h.took("readers", "orders", 0, 0)
    h.took("readers", "orders", 0, 9, assignment=1, run_id=RUN, producer="q", seq=1)
    h.claims("readers", "orders")


# -- before and after healing --------------------------------------------------------------------------------------


@history("while a fault is not healed unseen is allowed", allowed("unseen", **SECOND))
def before_healing(h: History) -> None:
    h.kept("orders", 0, 2)
    h.took("readers", "orders", 0, 0)
    h.claims("readers", "orders")
    h.fault(begin=5, healed=None)


@history("once it is healed it is a violation", violation("unseen", **SECOND))
def after_healing(h: History) -> None:
    h.kept("orders", 0, 2)
    h.took("readers", "orders", 0, 0)
    h.claims("readers", "orders")
    h.fault(begin=5, healed=7)
