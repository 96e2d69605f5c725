"""Taken up before its commit was asked for."""

from __future__ import annotations

from typing import Any

from tests.spark.histories.book import History, allowed, history, violation

FIRST: dict[str, Any] = {"topic": "orders", "partition": 0, "producer": "p", "seq": 0, "offset": 0}


def taken(h: History, at: float, clock: str | None = None, commit_clock: str | None = None, **more: Any) -> None:
    """One record of a transaction whose commit was invoked at 500 ms, taken up at `at`."""
    h.txn("tx#0", begun=100, committing=500, ended=600, clock=commit_clock)
    h.kept("orders", 0, 1, txn="tx#0", at=200)
    h.took("readers", "orders", 0, 0, at=at, clock=clock, **more)


@history("taken up before its commit was invoked", violation("precommitted-read", **FIRST))
def before(h: History) -> None:
    taken(h, at=499)


@history("at the very moment is not before it")
def at_commit(h: History) -> None:
    taken(h, at=500)


@history("between asking and answer the commit may have happened")
def between(h: History) -> None:
    taken(h, at=550)


@history("a reader of everything may see it early")
def read_uncommitted(h: History) -> None:
    taken(h, at=499, isolation="read_uncommitted")


@history("named clocks are compared where they are one", violation("precommitted-read", **FIRST))
def same_clock(h: History) -> None:
    taken(h, at=499, clock="a", commit_clock="a")


@history("two machines' clocks are not compared")
def other_clock(h: History) -> None:
    taken(h, at=499, clock="a", commit_clock="b")


@history("no name is another clock than a name")
def null_and_named_clock(h: History) -> None:
    taken(h, at=499, clock="a")


@history("a name is another clock than no name")
def named_and_null_clock(h: History) -> None:
    taken(h, at=499, commit_clock="a")


@history(
    "one per group and record: taken up twice too early is one",
    violation("precommitted-read", **FIRST),
    allowed("redelivered", offset=0),
)
def twice(h: History) -> None:
    taken(h, at=300)
    h.took("readers", "orders", 0, 0, at=400, assignment=1)


@history(
    "early once and in time once is early", violation("precommitted-read", **FIRST), allowed("redelivered", offset=0)
)
def early_then_in_time(h: History) -> None:
    taken(h, at=300)
    h.took("readers", "orders", 0, 0, at=700, assignment=1)


@history("two groups are two findings", violation("precommitted-read", 2, **FIRST))
def two_groups(h: History) -> None:
    taken(h, at=300)
    h.took("others", "orders", 0, 0, at=400, member="o")


@history("a record outside of transactions has no commit to wait for")
def outside(h: History) -> None:
    h.txn("tx#0", begun=100, committing=500, ended=600)
    h.kept("orders", 0, 1, at=200)
    h.keep("orders", 0, seq=1, offset=1, txn="tx#0", at=200)
    h.took("readers", "orders", 0, 0, at=300)
    h.took("readers", "orders", 0, 1, at=700)


@history("each record waits for its own transaction", violation("precommitted-read", seq=1, offset=1))
def own_transaction(h: History) -> None:
    h.txn("tx#0", begun=100, committing=300, ended=400)
    h.txn("tx#1", begun=400, committing=900, ended=950)
    h.keep("orders", 0, seq=0, offset=0, txn="tx#0", at=200)
    h.keep("orders", 0, seq=1, offset=1, txn="tx#1", at=450)
    h.took("readers", "orders", 0, 0, 1, at=800)


@history(
    "taken up early under its name, where its place holds nothing",
    violation("precommitted-read", **FIRST),
    allowed("expired", seq=0),
)
def by_name(h: History) -> None:
    h.txn("tx#0", begun=100, committing=500, ended=600)
    h.acked("orders", 0, seq=0, offset=0, txn="tx#0", at=200)
    h.keep("orders", 0, seq=1, offset=1, at=700)
    h.bounds("orders", start=1)
    h.took("readers", "orders", 0, 0, at=300, run_id="20260301T120000Z-s7", producer="p", seq=0)
