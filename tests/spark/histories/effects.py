"""What a consumer made of a record: exactly one visible effect."""

from __future__ import annotations

from typing import Any

from tests.spark.histories.book import History, history, violation

SECOND: dict[str, Any] = {"topic": "orders", "partition": 0, "producer": "p", "seq": 1, "offset": 1}


def worked(h: History, commit: int = 3, **more: Any) -> None:
    """Three records, all taken up by a worker whose effects the history then writes."""
    h.kept("orders", 0, 3)
    h.took("worker", "orders", 0, 0, 1, 2)
    h.commit("worker", "orders", 0, commit, **more)


@history("one effect each")
def clean(h: History) -> None:
    worked(h)
    h.effect("worker", "orders", 0, 0, 1, 2)


@history("committed past it and nothing was made of it", violation("effect-missing", **SECOND))
def missing(h: History) -> None:
    worked(h)
    h.effect("worker", "orders", 0, 0, 2)


@history("a commit at the record is not past it: the effect may still come")
def missing_not_committed(h: History) -> None:
    worked(h, commit=2)
    h.effect("worker", "orders", 0, 0, 1)


@history("a commit just past it is", violation("effect-missing", seq=2, offset=2))
def missing_last(h: History) -> None:
    worked(h, commit=3)
    h.effect("worker", "orders", 0, 0, 1)


@history("a commit of unknown outcome is past nothing")
def missing_commit_unknown(h: History) -> None:
    worked(h, outcome="unknown")
    h.effect("worker", "orders", 0, 0)


@history("a commit in an aborted transaction is past nothing")
def missing_commit_aborted(h: History) -> None:
    h.txn("tx#0", "aborted", producer="w")
    worked(h, txn="tx#0")
    h.effect("worker", "orders", 0, 0)


@history("an effect inside an aborted transaction is not visible", violation("effect-missing", **SECOND))
def missing_aborted(h: History) -> None:
    h.txn("tx#0", "aborted", producer="w")
    worked(h)
    h.effect("worker", "orders", 0, 0, 2)
    h.effect("worker", "orders", 0, 1, txn="tx#0")


@history("an effect inside a committed transaction is")
def in_transaction(h: History) -> None:
    h.txn("tx#0", producer="w")
    worked(h, txn="tx#0")
    h.effect("worker", "orders", 0, 0, 1, 2, txn="tx#0")


@history("two visible effects of one record", violation("effect-repeated", **SECOND))
def repeated(h: History) -> None:
    worked(h)
    h.effect("worker", "orders", 0, 0, 1, 2, 1)


@history("three are one finding: one per group, sink and record", violation("effect-repeated", **SECOND))
def repeated_thrice(h: History) -> None:
    worked(h)
    h.effect("worker", "orders", 0, 0, 1, 2, 1, 1)


@history("of two, one was taken back with its transaction")
def repeated_but_aborted(h: History) -> None:
    h.txn("tx#0", "aborted", producer="w")
    h.txn("tx#1", producer="w")
    worked(h)
    h.effect("worker", "orders", 0, 1, txn="tx#0")
    h.effect("worker", "orders", 0, 0, 1, 2, txn="tx#1")


@history("two committed transactions both made one", violation("effect-repeated", **SECOND))
def repeated_in_transactions(h: History) -> None:
    h.txn("tx#0", producer="w")
    h.txn("tx#1", producer="w")
    worked(h)
    h.effect("worker", "orders", 0, 1, txn="tx#0")
    h.effect("worker", "orders", 0, 0, 1, 2, txn="tx#1")


@history("two sinks want one effect each")
def two_sinks(h: History) -> None:
    worked(h)
    h.effect("worker", "orders", 0, 0, 1, 2, sink="db")
    h.effect("worker", "orders", 0, 0, 1, 2, sink="mail")


@history("what one sink has, the other lacks", violation("effect-missing", **SECOND))
def missing_in_one_sink(h: History) -> None:
    worked(h)
    h.effect("worker", "orders", 0, 0, 1, 2, sink="db")
    h.effect("worker", "orders", 0, 0, 2, sink="mail")


@history("each group makes its own")
def two_groups(h: History) -> None:
    worked(h)
    h.took("second", "orders", 0, 0, 1, 2, member="s")
    h.commit("second", "orders", 0, 3, member="s")
    for group in ("worker", "second"):
        h.effect(group, "orders", 0, 0, 1, 2)


@history("another group's effect is none of ours", violation("effect-missing", **SECOND))
def missing_in_one_group(h: History) -> None:
    worked(h)
    h.took("second", "orders", 0, 0, 1, 2, member="s")
    h.commit("second", "orders", 0, 3, member="s")
    h.effect("worker", "orders", 0, 0, 2)
    h.effect("second", "orders", 0, 0, 1, 2)


@history("a group that is not named in effects makes none")
def group_without_effects(h: History) -> None:
    worked(h)
    h.effect("worker", "orders", 0, 0, 1, 2)
    h.took("plain", "orders", 0, 0, 1, 2, member="o")
    h.commit("plain", "orders", 0, 3, member="o")


@history("the same offset in two partitions is two records")
def two_partitions(h: History) -> None:
    worked(h)
    h.kept("orders", 1, 1)
    h.took("worker", "orders", 1, 0)
    h.commit("worker", "orders", 1, 1)
    h.effect("worker", "orders", 0, 0, 1, 2)
    h.effect("worker", "orders", 1, 0)


@history("the effect of the neighbour partition's record is another", violation("effect-missing", partition=1, seq=0))
def missing_in_neighbour(h: History) -> None:
    worked(h)
    h.kept("orders", 1, 1)
    h.took("worker", "orders", 1, 0)
    h.commit("worker", "orders", 1, 1)
    h.effect("worker", "orders", 0, 0, 1, 2)


@history("a reader of committed records makes nothing of an aborted one")
def aborted_input(h: History) -> None:
    h.txn("tx#0", "aborted")
    h.keep("orders", 0, seq=0, offset=0)
    h.keep("orders", 0, seq=1, offset=1, txn="tx#0")
    h.keep("orders", 0, seq=2, offset=2)
    h.bounds("orders", isolation="read_uncommitted")
    h.took("worker", "orders", 0, 0, 2)
    h.commit("worker", "orders", 0, 3)
    h.effect("worker", "orders", 0, 0, 2)
