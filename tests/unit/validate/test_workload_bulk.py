"""The guards of a bulk load: no task sends twice, whatever Spark does."""

from __future__ import annotations

import tracemalloc
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq
import pytest
from pyspark import TaskContext

from common.errors import KastellanError, UsageError
from tests.unit.validate.mock_brokers import mock_brokers
from validate.workload import bulk
from validate.workload.rows import SENT
from validate.workload.spec import ProducerSpec

if TYPE_CHECKING:
    from pathlib import Path


# Of 20,000 records further on; their rows alone would be a multiple of it.
KEPT_MOST_BYTES = 256 * 1024


class Context:
    """As much of Spark's TaskContext as is looked at."""

    def __init__(self, attempt: int, stage_attempt: int) -> None:
        self._attempt, self._stage_attempt = attempt, stage_attempt

    def attemptNumber(self) -> int:  # noqa: N802  Spark's name
        return self._attempt

    def stageAttemptNumber(self) -> int:  # noqa: N802  Spark's name
        return self._stage_attempt


def spec(tmp_path: Path, **more: Any) -> ProducerSpec:
    topics = [{"name": "three", "partitions": 3}]
    given = {"run_id": "r", "name": "load", "ledger": str(tmp_path), "client": {}, "topics": topics, "count": 10}
    return ProducerSpec.parse(given | more)


@pytest.mark.parametrize(("attempt", "stage_attempt"), [(1, 0), (0, 1), (2, 3)])
def test_a_task_that_is_run_again_refuses(monkeypatch: pytest.MonkeyPatch, attempt: int, stage_attempt: int) -> None:
    monkeypatch.setattr(TaskContext, "get", lambda: Context(attempt, stage_attempt))
    with pytest.raises(KastellanError, match="a second time: refused"):
        bulk._refuse_repetition()


def test_a_first_task_does_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(TaskContext, "get", lambda: Context(0, 0))
    bulk._refuse_repetition()


def test_a_second_life_finds_the_firsts_claim(tmp_path: Path) -> None:
    bulk._claim(spec(tmp_path))
    with pytest.raises(KastellanError, match="load has begun to send before: refused"):
        bulk._claim(spec(tmp_path))


def test_reservations_are_there_before_anything_is_sent(tmp_path: Path) -> None:
    one = spec(tmp_path)
    bulk._reserve(one, {"load-0": [("three", 0), ("three", 2)], "load-1": [("three", 1)]})
    rows = pq.read_table(tmp_path / "reservations").to_pylist()
    assert [(r["producer"], r["partition"], r["seq_from"], r["seq_to"]) for r in rows] == [
        ("load-0", 0, 0, 4), ("load-0", 2, 0, 3), ("load-1", 1, 0, 3),
    ]  # fmt: skip
    with pytest.raises(UsageError, match="There is a load named 'load' in this ledger already"):
        bulk._reserve(one, {"load-0": [("three", 0), ("three", 2)], "load-1": [("three", 1)]})


def test_sparks_rows_have_the_ledgers_columns() -> None:
    kinds = {
        "string": "string",
        "int64": "long",
        "binary": "binary",
        "bool": "boolean",
        "timestamp[us, tz=UTC]": "timestamp",
    }
    assert ", ".join(f"{column.name} {kinds[str(column.type)]}" for column in SENT) == bulk.SENT


@pytest.mark.parametrize("tasks", [1, 2, 3, 7, 8, 100])
def test_every_partition_has_one_task_and_tasks_are_even(tmp_path: Path, tasks: int) -> None:
    topics = [{"name": f"t{count}", "partitions": count} for count in (1, 3, 4)]
    one = spec(tmp_path, topics=topics, count=1200)
    shares = bulk.deal(one, tasks)
    assert sorted(lane for lanes in shares for lane in lanes) == sorted(one.lanes)
    assert all(shares)
    loads = [sum(one.share(*lane) or 0 for lane in lanes) for lanes in shares]
    assert max(loads) <= max(1200, -(-3600 // len(shares)) + 400)


def test_a_task_keeps_nothing_of_what_it_has_sent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is under way and what is gathered for the next batch of rows, and no more, however long it goes on."""
    monkeypatch.setattr(bulk, "ROWS_PER_BATCH", 1000)
    held: list[int] = []
    rows = 0
    with mock_brokers(2) as brokers:
        brokers.make_topic("two")
        one = spec(
            tmp_path, topics=[{"name": "two", "partitions": 2}], client={"bootstrap.servers": brokers.bootstrap},
            count=60_000, block_records=250, waiting_records=1000, linger_ms=1,
        )  # fmt: skip
        tracemalloc.start()
        try:
            for batch in bulk._send(one, one.lanes):
                rows += batch.num_rows
                held.append(tracemalloc.get_traced_memory()[0])
        finally:
            tracemalloc.stop()
    assert rows == 60_000
    third = len(held) // 3
    assert max(held[-third:]) - max(held[third:-third]) < KEPT_MOST_BYTES
