"""Transactions of dead owners end as their successors found the group; results are read from the database itself."""

from __future__ import annotations

import json
from array import array
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq
import pytest

from validate.workload import entries, journal
from validate.workload.block import Block
from validate.workload.database import FILE, Database
from validate.workload.endings import ending
from validate.workload.seal import seal

if TYPE_CHECKING:
    from pathlib import Path

PLACE = ("in", 0)


@pytest.mark.parametrize(("asked", "sights", "outcome"), [
    ({PLACE: 50}, [], "unknown"),
    ({PLACE: 50}, [(50, {PLACE: 99})], "unknown"),  # seen before it was begun
    ({PLACE: 50}, [(200, {PLACE: 50})], "committed"),
    ({PLACE: 50}, [(200, {PLACE: 0})], "aborted"),
    ({PLACE: 50}, [(300, {PLACE: 80}), (200, {PLACE: 0})], "aborted"),  # the first sight counts, not a later one
    (None, [(200, {PLACE: 80})], "aborted"),
    ({PLACE: 50, ("in", 1): 7}, [(200, {PLACE: 50})], "unknown"),
    ({PLACE: 50, ("in", 1): 7}, [(200, {PLACE: 50, ("in", 1): 0})], "unknown"),  # torn: nobody may call it whole
])  # fmt: skip
def test_a_sight_of_the_group_says_how_it_ended(asked: Any, sights: Any, outcome: str) -> None:
    assert ending(asked, 100, sights) == outcome


def opening(name: str) -> bytes:
    facts = {
        "kind": "transformer", "lanes": [["out", 0]], "run_id": "r", "producer": name, "acks": "all",
        "idempotent": True, "max_in_flight": 5, "clock": "here", "group": "g", "member": name,
        "isolation": "read_committed", "sink": "out", "transactional_id": "t",
    }  # fmt: skip
    return journal.OPENING + json.dumps(facts).encode()


def message(offset: int) -> Any:
    return SimpleNamespace(topic=lambda: "in", partition=lambda: 0, offset=lambda: offset, value=lambda: b"12345")


def block(seq_from: int) -> Block:
    one = Block(0, seq_from, 10, array("I", (1, 2)), array("I", (3, 4)))
    one.offsets, one.dones_us = array("q", (seq_from, seq_from + 1)), array("q", (20, 20))
    return one


def life(ledger: Path, name: str, *frames: bytes) -> None:
    writer = journal.Writer(ledger / journal.FOLDER / f"{name}{journal.SUFFIX}")
    writer.append(opening(name))
    for frame in frames:
        writer.append(frame)
    writer.close()


def rows(ledger: Path, table: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = pq.read_table(ledger / table).to_pylist()
    return found


def transaction(number: int, first: int, seq_from: int, at_us: int) -> list[bytes]:
    one = block(seq_from)
    return [
        entries.entry(entries.BEGUN, number, at_us),
        entries.taken(1, first, at_us, [message(first), message(first + 1)]),
        one.reservation(),
        one.results(),
        entries.entry(entries.COMMIT, number, 1, at_us, [["in", 0, first + 2]]),
        entries.entry(entries.COMMITTED, number, at_us, [None]),
        entries.entry(entries.ENDING, number, at_us + 1),
    ]


def test_a_life_that_died_in_its_commit_is_settled_by_the_next(tmp_path: Path) -> None:
    done = entries.entry(entries.ENDED, 1, 150, "committed")
    life(tmp_path, "one", entries.entry(entries.FOUND, 50, [["in", 0, 0]]), *transaction(1, 0, 0, 100), done,
         *transaction(2, 2, 2, 200))  # fmt: skip
    seal(tmp_path)
    assert [row["outcome"] for row in rows(tmp_path, "transactions")] == ["committed", "unknown"]
    life(tmp_path, "two", entries.entry(entries.FOUND, 300, [["in", 0, 2]]))
    seal(tmp_path)
    assert [(row["txn"], row["outcome"]) for row in rows(tmp_path, "transactions")] == [
        ("t#one.1", "committed"),
        ("t#one.2", "aborted"),
    ]
    assert [(row["seq"], row["txn"]) for row in rows(tmp_path, "sent")] == [
        (0, "t#one.1"), (1, "t#one.1"), (2, "t#one.2"), (3, "t#one.2"),
    ]  # fmt: skip
    assert {(row["offset"], row["txn"]) for row in rows(tmp_path, "effects")} == {
        (0, "t#one.1"), (1, "t#one.1"), (2, "t#one.2"), (3, "t#one.2"),
    }  # fmt: skip
    assert [(row["offset"], row["txn"]) for row in rows(tmp_path, "commits")] == [(2, "t#one.1"), (4, "t#one.2")]


def test_what_was_not_committed_in_the_database_is_gone_with_its_offset(tmp_path: Path) -> None:
    first = Database(tmp_path / FILE, "g")
    first.store([message(0), message(1)], {PLACE: 2})
    first.commit()
    first.store([message(2)], {PLACE: 3})
    first.close()  # as a death would: without a commit
    again = Database(tmp_path / FILE, "g")
    assert again.offsets() == {PLACE: 2}
    again.store([message(1)], {PLACE: 2})  # done twice: the ledger has to show it
    again.commit()
    again.close()
    assert seal(tmp_path) == ["effects"]
    assert [(row["topic"], row["offset"]) for row in rows(tmp_path, "effects")] == [("in", 0), ("in", 1), ("in", 1)]
