"""The worked examples of streaming SQL against what they owe by plain Python: the same bytes, without a cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from validate import sample
from validate.sample import iris, stocks, trucks
from validate.workload import promised, queries
from validate.workload.spec import PipelineSpec, Topic
from validate.workload.value import Filler

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

KAFKA = "topic string, partition int, offset long, value binary"
SOURCE, SINK = "kastellan-source", "kastellan-sink"
SINKS = 3
SENT_US = 1_763_449_200_000_000


def spec(query: str, **more: Any) -> PipelineSpec:
    topics = [{"name": SOURCE, "partitions": 2}, {"name": SINK, "partitions": SINKS}]
    given = {"run_id": "r", "name": "q", "ledger": "l", "client": {}, "topics": topics, "query": query, "sink": SINK}
    return PipelineSpec.parse({**given, "checkpoint": "here", **more})


def inputs(query: str) -> list[promised.Input]:
    name = {"iris": "iris", "dangerous-driving": "trucks", "stock-windows": "stocks"}[query]
    lanes = sample.dealt(name, 5, None if query == "iris" else 600, [Topic(SOURCE, 2)], {})
    return [
        promised.Input(partition, seq, text, 2**32 - 1 - seq, SENT_US + seq)
        for (_, partition), rows in lanes.items()
        for seq, text in enumerate(rows)
    ]


def written(spark: SparkSession, one: PipelineSpec, given: list[promised.Input]) -> list[tuple[int, bytes]]:
    """What would go to the sink, of a table in place of a stream."""
    rows = []
    for record in given:
        filler = Filler("r", "w", SOURCE, record.partition, 160)
        values, _ = filler.block(record.seq, [record.random_int], record.sent_at_us, texts=[record.text])
        rows.append((SOURCE, record.partition, record.seq, values[0]))
    found = queries.rows_of(spark.createDataFrame(rows, KAFKA), one).collect()
    return sorted((row["partition"], bytes(row["value"])) for row in found)


@pytest.mark.parametrize("query", ["iris", "dangerous-driving"])
def test_what_is_written_is_what_is_owed(spark: SparkSession, query: str) -> None:
    given = inputs(query)
    assert written(spark, spec(query), given) == owed(spec(query), promised.QUERIES[query](given, SINKS))


def owed(one: PipelineSpec, outputs: list[promised.Output]) -> list[tuple[int, bytes]]:
    found = []
    for output in outputs:
        filler = Filler(one.run_id, one.checkpoint, SINK, output.partition, one.value_bytes)
        values, _ = filler.block(output.seq, [output.random_int], output.sent_at_us, texts=[output.text])
        found.append((output.partition, values[0]))
    return sorted(found)


def test_windows_are_what_is_owed_and_those_that_are_not_over(spark: SparkSession) -> None:
    """A table has no end that stands open: it gives the last trade's window as well."""
    given = inputs("stock-windows")
    made = written(spark, spec("stock-windows"), given)
    due = owed(spec("stock-windows"), promised.QUERIES["stock-windows"](given, SINKS))
    assert set(due) < set(made)
    assert len(made) == len(due) + 1
    assert len(due) > 20


def test_the_samples_are_not_all_of_one_sort() -> None:
    rows = sample.rows("trucks", 5, 600)
    assert 100 < sum(map(trucks.dangerous, rows)) < 400
    assert {row.rpartition(",")[2] for row in sample.rows("iris", 0, None)} == set(iris.KINDS)
    assert {row.rpartition(",")[2] for row in sample.rows("stocks", 5, 600)} == set(stocks.SYMBOLS)
