"""What a query owes is known before it runs: from the inputs that were acknowledged, byte by byte."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

from tests.unit.validate.mock_brokers import mock_brokers
from validate.ledger.from_json import arrow_schema
from validate.run.processes import Workloads
from validate.sample import stocks, trucks
from validate.workload import entries, journal, promised
from validate.workload.promised import QUERIES, Input
from validate.workload.seal import seal
from validate.workload.value import Filler

if TYPE_CHECKING:
    from pathlib import Path

DONE_S = 30
POSITIONS, DANGEROUS = "kastellan-positions", "kastellan-dangerous"
QUERY: dict[str, Any] = {
    "kind": "pipeline", "run_id": "r", "clock": None, "query": "dangerous-driving", "sink": DANGEROUS,
    "checkpoint": "dangerous", "inputs": [POSITIONS], "value_bytes": 180, "partitions": 2, "lanes": [],
}  # fmt: skip


def lived(ledger: Path, name: str, *, done: bool) -> None:
    """A life of the query, as it leaves its journal."""
    writer = journal.Writer(ledger / journal.FOLDER / f"{name}{journal.SUFFIX}")
    writer.append(journal.OPENING + json.dumps(QUERY).encode())
    if done:
        writer.append(entries.entry(promised.DONE, 5))
    writer.close()


@pytest.fixture
def ledger(tmp_path: Path) -> Path:
    """200 positions, sent to brokers within this process."""
    with mock_brokers(2) as brokers:
        brokers.make_topic(POSITIONS)
        topics = [{"name": POSITIONS, "partitions": 2}]
        workloads = Workloads(tmp_path, tmp_path, {"run_id": "r", "topics": topics})
        client = {"bootstrap.servers": brokers.bootstrap}
        try:
            made = workloads.start(
                "producer", "trucks", sample="trucks", count=200, value_bytes=180, seed=3, client=client
            )
            assert made.done.wait(DONE_S), made.log.read_text(encoding="utf-8")
            made.process.wait(DONE_S)
        finally:
            workloads.kill()
    return tmp_path


def owed(ledger: Path) -> list[dict[str, Any]]:
    seal(ledger)
    rows: list[dict[str, Any]] = ds.dataset(ledger / "sent").to_table().to_pylist()
    return [row for row in rows if row["topic"] == DANGEROUS]


def test_a_query_owes_what_its_condition_lets_through(ledger: Path) -> None:
    lived(ledger, "first", done=False)
    lived(ledger, "second", done=True)
    rows = owed(ledger)
    wanted = [row for row in trucks.rows(3, 200) if trucks.dangerous(row)]
    assert len(rows) == len(wanted) > 20
    assert {(row["producer"], row["outcome"], row["idempotent"]) for row in rows} == {("dangerous", "acked", False)}
    sent = {(row["partition"], row["seq"]): row for row in ds.dataset(ledger / "sent").to_table().to_pylist()
            if row["topic"] == POSITIONS}  # fmt: skip
    one = rows[0]
    source = sent[one["partition"], one["seq"]]
    assert (one["random_int"], one["done_at"] >= source["done_at"]) == (source["random_int"], True)
    texts: dict[tuple[int, int], str] = {}
    for partition in range(2):
        mine = [row for row in trucks.rows(3, 200) if int(row.rpartition("-")[2]) % 2 == partition]
        texts |= {(partition, seq): text for seq, text in enumerate(mine)}
    at_us = round(source["invoked_at"].timestamp() * 1_000_000)
    _, crcs = Filler("r", "dangerous", DANGEROUS, one["partition"], 180).block(
        one["seq"], [one["random_int"]], at_us, texts=[texts[one["partition"], one["seq"]]]
    )
    assert one["value_crc"] == crcs[0]


def test_a_query_without_an_end_owes_nothing_for_certain(ledger: Path) -> None:
    lived(ledger, "first", done=False)
    assert {row["outcome"] for row in owed(ledger)} == {"unknown"}
    assert len(owed(ledger)) == len(owed(ledger)), "sealing again must not add to it"


def test_what_nobody_knows_to_be_there_is_not_owed(ledger: Path) -> None:
    lived(ledger, "only", done=True)
    first = owed(ledger)[0]
    path = ledger / "sent" / "trucks.parquet"
    rows = pq.read_table(path).to_pylist()
    for row in rows:
        if (row["partition"], row["seq"]) == (first["partition"], first["seq"]):
            row["outcome"] = "unknown"
    before = len(owed(ledger))
    pq.write_table(pa.Table.from_pylist(rows, schema=arrow_schema("sent")), path)
    promised.settle(ledger)
    assert len(ds.dataset(ledger / "sent" / "promised-dangerous.parquet").to_table()) == before - 1


def test_windows_are_numbered_apart_and_say_what_was_counted() -> None:
    start = stocks.OPENING_S
    trades = [f"{start},500,ANVL", f"{start + 1},300,BRCK", f"{start + 60},400,ANVL", f"{start + 3600},1,ANVL"]
    made = QUERIES["stock-windows"]([Input(0, n, text, 0, 0) for n, text in enumerate(trades)], 2)
    assert [(one.partition, one.seq, one.text) for one in made] == [
        (0, 0, f"{start},1,500,500,ANVL"), (1, 1, f"{start},1,300,300,BRCK"),
        (0, len(stocks.SYMBOLS), f"{start + 60},1,400,400,ANVL"),
    ]  # fmt: skip


def test_no_two_flowers_share_a_number() -> None:
    from validate import sample  # noqa: PLC0415
    from validate.workload.spec import Topic  # noqa: PLC0415

    deal = {"virginica": "a/0", "setosa": "a/1", "versicolor": "b"}
    lanes = sample.dealt("iris", 0, None, [Topic("a", 2), Topic("b", 2)], deal)
    inputs = [Input(p, seq, text, 0, 0) for (_, p), rows in lanes.items() for seq, text in enumerate(rows)]
    made = QUERIES["iris"](inputs, 3)
    assert len({(one.partition, one.seq) for one in made}) == 150
    assert {one.partition for one in made if one.text.endswith("virginica")} == {2}
