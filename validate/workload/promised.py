"""What a query must write, said once more in plain Python: each output with all its bytes, known before it runs.

So the judge needs to know nothing of queries: an output that is missing is lost, one too many is a phantom, one that
says something else is corrupt, and one that is there twice is duplicated.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq

from validate.ledger.from_json import arrow_schema
from validate.sample import dealt, iris, stocks, trucks
from validate.workload import journal
from validate.workload.outcome import ACKED, UNKNOWN
from validate.workload.value import Filler

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from pathlib import Path

US = 1_000_000
SOURCES = 2  # partitions of each topic of flowers
DONE = "done"
NAME = "promised"
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Shape:
    name: str
    partitions: int


@dataclass(frozen=True)
class Input:
    """A record that was read: where, its number, what it says, and the marks that its output takes over."""

    partition: int
    seq: int
    text: str
    random_int: int
    sent_at_us: int


@dataclass(frozen=True)
class Output:
    partition: int
    seq: int
    text: str
    random_int: int
    sent_at_us: int


def _flowers(inputs: Iterable[Input], partitions: int) -> list[Output]:
    """Kinds become partitions; the number is made of both that it had, for one kind came by two partitions."""
    return [
        Output(
            iris.KINDS.index(one.text.rpartition(",")[2]) % partitions,
            one.seq * SOURCES + one.partition,
            one.text,
            one.random_int,
            one.sent_at_us,
        )
        for one in inputs
    ]


def _dangerous(inputs: Iterable[Input], partitions: int) -> list[Output]:
    return [
        Output(one.partition % partitions, one.seq, one.text, one.random_int, one.sent_at_us)
        for one in inputs
        if trucks.dangerous(one.text)
    ]


def _windows(inputs: Iterable[Input], partitions: int) -> list[Output]:
    return [
        Output(
            stocks.SYMBOLS.index(symbol) % partitions,
            (start - stocks.OPENING_S) // stocks.WINDOW_S * len(stocks.SYMBOLS) + stocks.SYMBOLS.index(symbol),
            f"{start},{count},{low},{high},{symbol}",
            count,
            start * US,
        )
        for start, symbol, count, low, high in stocks.windows([one.text for one in inputs])
    ]


QUERIES: Mapping[str, Callable[[Iterable[Input], int], list[Output]]] = {
    "iris": _flowers,
    "dangerous-driving": _dangerous,
    "stock-windows": _windows,
}


def settle(root: Path) -> set[str]:
    """Rows of `sent` for every query of a ledger, once its inputs' are there. One that never ended owes nothing."""
    lives = [_life(path) for path in sorted((root / journal.FOLDER).glob(f"*{journal.SUFFIX}"))]
    writers = {opening["producer"]: opening for opening, _ in lives if opening.get("sample")}
    queries: dict[str, tuple[dict[str, Any], bool]] = {}
    for opening, done in lives:
        if opening.get("kind") == "pipeline":
            name = opening["checkpoint"]
            queries[name] = opening, done or queries.get(name, (None, False))[1]
    for name, (opening, done) in queries.items():
        inputs, last = _inputs(root, writers, opening)
        rows = _rows(opening, QUERIES[opening["query"]](inputs, opening["partitions"]), last, done=done)
        (root / "sent").mkdir(exist_ok=True)
        pq.write_table(
            pa.Table.from_pylist(rows, schema=arrow_schema("sent")), root / "sent" / f"{NAME}-{name}.parquet"
        )
    return {"sent"} if queries else set()


def _life(path: Path) -> tuple[dict[str, Any], bool]:
    frames = list(journal.read(path))
    opening = json.loads(frames[0].removeprefix(journal.OPENING)) if frames else {}
    ended = opening.get("kind") == "pipeline" and any(json.loads(frame)[0] == DONE for frame in frames[1:])
    return opening, ended


def _inputs(root: Path, writers: Mapping[str, dict[str, Any]], query: dict[str, Any]) -> tuple[list[Input], Any]:
    """What the writers have had acknowledged, and when the last of it was."""
    found: list[Input] = []
    last = EPOCH
    for name, opening in writers.items():
        shapes = [Shape(*one) for one in opening["topics"]]
        told = opening["sample"]
        texts = dealt(told["name"], told["seed"], told["count"], shapes, told["deal"])
        columns = ["topic", "partition", "seq", "random_int", "invoked_at", "done_at", "outcome"]
        for row in ds.dataset(root / "sent" / f"{name}.parquet").to_table(columns=columns).to_pylist():
            if row["outcome"] == ACKED and row["topic"] in query["inputs"]:
                text = texts[row["topic"], row["partition"]][row["seq"]]
                sent_us = int(row["invoked_at"].timestamp() * US + 0.5)
                found.append(Input(row["partition"], row["seq"], text, row["random_int"], sent_us))
                last = max(last, row["done_at"])
    return found, last


def _rows(query: dict[str, Any], outputs: list[Output], at: Any, *, done: bool) -> list[dict[str, Any]]:
    """Times are those of the inputs: when each output was written is nobody's knowledge."""
    same = {
        "run_id": query["run_id"], "producer": query["checkpoint"], "topic": query["sink"], "attempt": 0,
        "acks": "all", "idempotent": False, "max_in_flight": 1, "clock": query["clock"], "value_null": False,
        "outcome": ACKED if done else UNKNOWN, "invoked_at": at, "done_at": at,
    }  # fmt: skip
    fillers = [
        Filler(query["run_id"], query["checkpoint"], query["sink"], p, query["value_bytes"])
        for p in range(query["partitions"])
    ]
    made = []
    for one in outputs:
        _, crcs = fillers[one.partition].block(one.seq, [one.random_int], one.sent_at_us, texts=[one.text])
        facts = {"partition": one.partition, "seq": one.seq, "random_int": one.random_int, "value_crc": crcs[0]}
        made.append(same | facts)
    return made
