"""Transactions: torn, read although aborted, read before they were committed."""

from __future__ import annotations

from typing import Any

from tests.spark.histories.book import History, allowed, history, violation

EXPLAINED = allowed("gap", detail="explained")
TORN = violation("torn-transaction", topic="orders", partition=0, named="tx#0")
FIRST: dict[str, Any] = {"topic": "orders", "partition": 0, "producer": "p", "seq": 0, "attempt": 0}


def half(h: History, offset: int | None = 1, **more: Any) -> None:
    """Seq 0 of tx#0 is there, seq 1 is not; offset 2 follows."""
    h.keep("orders", 0, seq=0, offset=0, txn="tx#0")
    h.acked("orders", 0, seq=1, offset=offset, txn="tx#0", **more)
    h.keep("orders", 0, seq=2, offset=2)


# -- torn ----------------------------------------------------------------------------------------------------------


@history("committed and all there")
def committed(h: History) -> None:
    h.txn("tx#0")
    h.kept("orders", 0, 3, txn="tx#0")


@history("committed and not all there", TORN, violation("lost", seq=1, detail="hole"), EXPLAINED)
def torn_committed(h: History) -> None:
    h.txn("tx#0")
    half(h)


@history("committed and nothing there at all", TORN, violation("lost", 2, detail="hole"), EXPLAINED)
def torn_committed_all_gone(h: History) -> None:
    h.txn("tx#0")
    h.acked("orders", 0, seq=0, offset=0, txn="tx#0")
    h.acked("orders", 0, seq=1, offset=1, txn="tx#0")
    h.keep("orders", 0, seq=2, offset=2)


@history("of unknown outcome and half there", TORN, allowed("withdrawn", seq=1), EXPLAINED)
def torn_unknown(h: History) -> None:
    h.txn("tx#0", "unknown")
    half(h)


@history("without a row the outcome is unknown: half there is torn", TORN, allowed("withdrawn", seq=1), EXPLAINED)
def torn_no_row(h: History) -> None:
    half(h)


@history("of unknown outcome and all there: it was committed")
def unknown_all(h: History) -> None:
    h.txn("tx#0", "unknown")
    h.kept("orders", 0, 2, txn="tx#0")


@history("of unknown outcome and nothing there: it was not", allowed("withdrawn", 2), EXPLAINED)
def unknown_none(h: History) -> None:
    h.txn("tx#0", "unknown")
    h.acked("orders", 0, seq=0, offset=0, txn="tx#0")
    h.acked("orders", 0, seq=1, offset=1, txn="tx#0")
    h.keep("orders", 0, seq=2, offset=3)


@history(
    "one finding per transaction",
    TORN,
    violation("torn-transaction", named="tx#1"),
    allowed("withdrawn", 2),
    EXPLAINED,
    EXPLAINED,
)
def torn_two(h: History) -> None:
    for i in (0, 1):
        h.keep("orders", 0, seq=2 * i, offset=2 * i, txn=f"tx#{i}")
        h.acked("orders", 0, seq=2 * i + 1, offset=2 * i + 1, txn=f"tx#{i}")
    h.keep("orders", 0, seq=4, offset=4)


@history("two transactions, one all there, one not at all: neither is torn", allowed("withdrawn", seq=1), EXPLAINED)
def each_by_itself(h: History) -> None:
    h.txn("tx#0", "unknown")
    h.txn("tx#1", "unknown")
    h.keep("orders", 0, seq=0, offset=0, txn="tx#0")
    h.acked("orders", 0, seq=1, offset=1, txn="tx#1")
    h.keep("orders", 0, seq=2, offset=2)


@history(
    "a transaction over two topics: half there is torn",
    violation("torn-transaction", topic="bills", named="tx#0"),
    allowed("withdrawn", topic="bills"),
    allowed("gap", topic="bills", detail="explained"),
)
def torn_over_topics(h: History) -> None:
    h.txn("tx#0", "unknown")
    h.keep("orders", 0, seq=0, offset=0, txn="tx#0")
    h.acked("bills", 0, seq=0, offset=0, txn="tx#0")
    h.keep("bills", 0, seq=1, offset=1)


@history("what expired is not looked at", allowed("expired", seq=0))
def committed_and_expired(h: History) -> None:
    h.txn("tx#0")
    h.acked("orders", 0, seq=0, offset=0, txn="tx#0")
    h.keep("orders", 0, seq=1, offset=1, txn="tx#0")
    h.bounds("orders", start=1)


@history("nor what was compacted away", allowed("expired", seq=0), EXPLAINED)
def committed_and_compacted(h: History) -> None:
    h.txn("tx#0")
    h.acked("orders", 0, seq=0, offset=0, txn="tx#0", key=b"k")
    h.keep("orders", 0, seq=1, offset=1, txn="tx#0", key=b"k")
    h.bounds("orders", policy="compact")


@history("nor what has no offset where the start has moved", allowed("withdrawn", seq=1))
def unplaced_start_moved(h: History) -> None:
    h.txn("tx#0", "unknown")
    h.keep("orders", 0, seq=0, offset=1, txn="tx#0")
    h.acked("orders", 0, seq=1, offset=None, txn="tx#0")
    h.bounds("orders", start=1)


@history("where nothing was ever deleted its absence is certain", TORN, allowed("withdrawn", seq=1))
def torn_unplaced(h: History) -> None:
    h.txn("tx#0", "unknown")
    h.keep("orders", 0, seq=0, offset=0, txn="tx#0")
    h.acked("orders", 0, seq=1, offset=None, txn="tx#0")


@history(
    "found without an offset, though the start has moved, counts as visible",
    TORN,
    allowed("withdrawn", seq=1),
    EXPLAINED,
)
def torn_unplaced_found(h: History) -> None:
    h.txn("tx#0", "unknown")
    h.acked("orders", 0, seq=0, offset=None, txn="tx#0")
    h.in_log("orders", 0, offset=1, seq=0)
    h.acked("orders", 0, seq=1, offset=2, txn="tx#0")
    h.keep("orders", 0, seq=2, offset=3)
    h.bounds("orders", start=1)


@history("nor a null value without an offset", allowed("withdrawn", seq=1))
def tombstone_unplaced(h: History) -> None:
    h.txn("tx#0", "unknown")
    h.keep("orders", 0, seq=0, offset=0, txn="tx#0")
    h.acked("orders", 0, seq=1, offset=None, txn="tx#0", key=b"k", value_null=True)


@history("nor what lies where the read broke off", allowed("withdrawn", seq=1), violation("unreadable"))
def at_read_to(h: History) -> None:
    h.txn("tx#0", "unknown")
    h.keep("orders", 0, seq=0, offset=0, txn="tx#0")
    h.acked("orders", 0, seq=1, offset=1, txn="tx#0")
    h.bounds("orders", end=2, read_to=1)


@history("just below it the absence is certain", TORN, allowed("withdrawn", seq=1), violation("unreadable"), EXPLAINED)
def torn_below_read_to(h: History) -> None:
    h.txn("tx#0", "unknown")
    h.keep("orders", 0, seq=0, offset=0, txn="tx#0")
    h.acked("orders", 0, seq=1, offset=1, txn="tx#0")
    h.bounds("orders", end=5, read_to=2)


@history("records of unknown outcome are not looked at", allowed("unacked-absent", seq=1))
def unknown_record(h: History) -> None:
    h.txn("tx#0")
    h.keep("orders", 0, seq=0, offset=0, txn="tx#0")
    h.unknown("orders", 0, seq=1, txn="tx#0")


@history("a record outside of any transaction tears none", violation("lost", seq=1, detail="truncated"))
def outside(h: History) -> None:
    h.txn("tx#0")
    h.keep("orders", 0, seq=0, offset=0, txn="tx#0")
    h.acked("orders", 0, seq=1, offset=1)


@history("weak or not, a transaction is whole", TORN, allowed("withdrawn", seq=1), EXPLAINED)
def torn_unclean(h: History) -> None:
    h.txn("tx#0", "unknown")
    half(h)
    h.unclean("orders")


# -- aborted-read --------------------------------------------------------------------------------------------------


@history("aborted, yet in a log read committed: found and a violation", violation("aborted-read", **FIRST))
def aborted_read(h: History) -> None:
    h.txn("tx#0", "aborted")
    h.keep("orders", 0, seq=0, offset=0, txn="tx#0")


@history(
    "half of an aborted transaction is there: aborted-read, never torn",
    violation("aborted-read", **FIRST),
    allowed("withdrawn", seq=1),
    EXPLAINED,
)
def aborted_half(h: History) -> None:
    h.txn("tx#0", "aborted")
    half(h)


@history("refused, yet in a log read committed", violation("aborted-read", **FIRST))
def refused_read(h: History) -> None:
    h.refused("orders", 0, seq=0)
    h.in_log("orders", 0, offset=0, seq=0)


@history("in a log read uncommitted aborted records are no surprise, for a reader of everything neither")
def aborted_uncommitted(h: History) -> None:
    h.txn("tx#0", "aborted")
    h.kept("orders", 0, 2, txn="tx#0")
    h.bounds("orders", isolation="read_uncommitted")
    h.took("readers", "orders", 0, 0, 1, isolation="read_uncommitted")


@history("but a reader of committed records must not take them up", violation("aborted-read", **FIRST))
def aborted_taken_up(h: History) -> None:
    h.txn("tx#0", "aborted")
    h.kept("orders", 0, 1, txn="tx#0")
    h.bounds("orders", isolation="read_uncommitted")
    h.took("readers", "orders", 0, 0)


@history(
    "one per record and attempt, whoever took it up",
    violation("aborted-read", **FIRST),
    allowed("redelivered", offset=0),
)
def aborted_taken_up_often(h: History) -> None:
    h.txn("tx#0", "aborted")
    h.kept("orders", 0, 1, txn="tx#0")
    h.took("readers", "orders", 0, 0)
    h.took("readers", "orders", 0, 0, assignment=1)
    h.took("others", "orders", 0, 0, member="o")


@history(
    "copies are one finding, naming the first",
    violation("aborted-read", **{**FIRST, "offset": 0}),
    violation("duplicated", seq=0),
)
def aborted_copies(h: History) -> None:
    h.txn("tx#0", "aborted")
    h.kept("orders", 0, 1, txn="tx#0")
    h.in_log("orders", 0, offset=1, seq=0)


@history(
    "no longer in the log, but taken up under its name",
    violation("aborted-read", **FIRST),
    allowed("withdrawn", seq=0),
    EXPLAINED,
)
def aborted_taken_up_by_name(h: History) -> None:
    h.txn("tx#0", "aborted")
    h.acked("orders", 0, seq=0, offset=0, txn="tx#0")
    h.keep("orders", 0, seq=1, offset=1)
    h.took("readers", "orders", 0, 0, run_id="20260301T120000Z-s7", producer="p", seq=0)


@history(
    "a name in a delivery stands for every attempt",
    violation("aborted-read", attempt=0),
    violation("aborted-read", attempt=1),
    allowed("withdrawn", 2),
    EXPLAINED,
)
def aborted_attempts_by_name(h: History) -> None:
    h.txn("tx#0", "aborted")
    h.acked("orders", 0, seq=0, offset=0, txn="tx#0")
    h.acked("orders", 0, seq=0, attempt=1, offset=1, txn="tx#0")
    h.keep("orders", 0, seq=1, offset=2)
    h.took("readers", "orders", 0, 0, run_id="20260301T120000Z-s7", producer="p", seq=0)


@history("committed and unknown ones may be read", EXPLAINED)
def not_aborted(h: History) -> None:
    h.txn("tx#0")
    h.txn("tx#1", "unknown")
    h.keep("orders", 0, seq=0, offset=0, txn="tx#0")
    h.keep("orders", 0, seq=1, offset=2, txn="tx#1")
    h.took("readers", "orders", 0, 0, 2)
