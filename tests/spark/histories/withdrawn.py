"""Acked inside a transaction that took it back."""

from __future__ import annotations

from typing import Any

from tests.spark.histories.book import History, allowed, history, violation

EXPLAINED = allowed("gap", detail="explained")


def one_gone(h: History, **more: Any) -> None:
    """Seq 1 was acked inside tx#0 and is not in the log."""
    h.keep("orders", 0, seq=0, offset=0)
    h.acked("orders", 0, seq=1, offset=1, txn="tx#0", **more)
    h.keep("orders", 0, seq=2, offset=3)


@history(
    "aborted and absent: withdrawn",
    allowed("withdrawn", topic="orders", partition=0, producer="p", seq=1, attempt=0, offset=1),
    EXPLAINED,
)
def aborted(h: History) -> None:
    h.txn("tx#0", "aborted")
    one_gone(h)


@history("of unknown outcome and absent: withdrawn", allowed("withdrawn", seq=1), EXPLAINED)
def unknown(h: History) -> None:
    h.txn("tx#0", "unknown")
    one_gone(h)


@history("a transaction without a row has an unknown outcome", allowed("withdrawn", seq=1), EXPLAINED)
def no_row(h: History) -> None:
    h.txn("tx#1", "committed")
    one_gone(h)


@history("two transactions: only what the aborted one wrote is withdrawn", allowed("withdrawn", seq=1), EXPLAINED)
def beside_committed(h: History) -> None:
    h.txn("tx#0", "aborted")
    h.txn("tx#1", "committed")
    one_gone(h)
    h.keep("orders", 0, seq=3, offset=4, txn="tx#1")


@history("an aborted record in a log read uncommitted is found, and nobody's fault", EXPLAINED)
def aborted_but_read_uncommitted(h: History) -> None:
    h.txn("tx#0", "aborted")
    h.keep("orders", 0, seq=0, offset=0, txn="tx#0")
    h.bounds("orders", end=2, isolation="read_uncommitted")


@history("withdrawn needs no offset", allowed("withdrawn", seq=1))
def unplaced(h: History) -> None:
    h.txn("tx#0", "aborted")
    h.keep("orders", 0, seq=0, offset=0)
    h.acked("orders", 0, seq=1, offset=None, txn="tx#0")


@history("withdrawn comes before undecided: no offset and the start has moved", allowed("withdrawn", seq=0))
def unplaced_start_moved(h: History) -> None:
    h.txn("tx#0", "aborted")
    h.acked("orders", 0, seq=0, offset=None, txn="tx#0")
    h.keep("orders", 0, seq=1, offset=2)
    h.bounds("orders", start=2)


@history(
    "withdrawn comes before undecided: above the point where the read broke off",
    allowed("withdrawn", seq=1),
    violation("unreadable", topic="orders", partition=0),
)
def above_read_to(h: History) -> None:
    h.txn("tx#0", "aborted")
    h.keep("orders", 0, seq=0, offset=0)
    h.acked("orders", 0, seq=1, offset=1, txn="tx#0")
    h.bounds("orders", end=4, read_to=1)


@history("withdrawn comes before lost: at the end", allowed("withdrawn", seq=1))
def at_end(h: History) -> None:
    h.txn("tx#0", "unknown")
    h.keep("orders", 0, seq=0, offset=0)
    h.acked("orders", 0, seq=1, offset=1, txn="tx#0")


@history("a null value in an aborted transaction is withdrawn", allowed("withdrawn", seq=1), EXPLAINED)
def tombstone(h: History) -> None:
    h.txn("tx#0", "aborted")
    one_gone(h, key=b"k", value_null=True)


@history("weak or not, aborted is withdrawn", allowed("withdrawn", seq=1), EXPLAINED)
def unclean(h: History) -> None:
    h.txn("tx#0", "aborted")
    one_gone(h)
    h.unclean("orders")


@history("committed and there: clean but for the marker's offset", EXPLAINED)
def committed(h: History) -> None:
    h.txn("tx#0")
    h.kept("orders", 0, 2, txn="tx#0")
    h.bounds("orders", end=3)
