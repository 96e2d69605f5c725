"""Times of two clocks, which nobody may compare: how many pairs a judge must skip is no finding, but a number."""

from __future__ import annotations

from tests.spark.histories.writer import History

# Each send of one clock with each report of the other; one commit behind another's; one record polled by another's.
UNCOMPARED = (2 * 1 + 1 * 2) + 1 + 1


def two_clocks() -> History:
    h = History()
    h.keep("orders", 0, 0, 0, clock="a")
    h.keep("orders", 0, 1, 1, clock="a")
    h.keep("orders", 0, 0, 2, clock="b", producer="q")
    h.keep("orders", 1, 0, 0, clock="b", producer="q")
    for clock, offset in (("a", 1), ("a", 2), (None, 3)):
        h.commit("readers", "orders", 0, offset, member="m", assignment=0, clock=clock)
    h.commit("readers", "orders", 0, 5, member="n", assignment=0, clock="a")  # a first one: nothing to compare with
    h.txn("tx#0", clock="a")
    h.keep("bills", 0, 0, 0, clock="a", txn="tx#0")
    h.took("pollers", "bills", 0, 0, clock="a")
    h.took("strangers", "bills", 0, 0, clock="b")
    h.took("strangers", "orders", 0, 0, clock="b")  # in no transaction: there is no time to compare with
    return h
