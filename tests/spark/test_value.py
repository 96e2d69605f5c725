"""A value filled by Python and taken apart by Spark, without a cluster."""

from __future__ import annotations

import random
from array import array
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest

from validate.readback.decode import log_rows
from validate.workload import value

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

KAFKA = "topic string, partition int, offset long, timestamp timestamp, key binary, value binary"
AT = datetime(2026, 11, 18, 7, tzinfo=UTC)
RUN = "20261118T070000Z-s42"
TOPICS = ["kastellan-one", "kastellan-three", "t" * 200]


def decoded(spark: SparkSession, values: list[bytes | None], *, topic: str = TOPICS[0]) -> list[dict[str, Any]]:
    rows = [(topic, 0, offset, AT, None, one) for offset, one in enumerate(values)]
    frame = log_rows(spark.createDataFrame(rows, KAFKA), TOPICS)
    return [row.asDict() for row in frame.orderBy("offset").collect()]


def expected(one: bytes | None, topic: str | None) -> tuple[Any, ...]:
    mark = value.read(one)
    if mark is None:
        return (None,) * 9
    return (mark.run_id, mark.producer, mark.seq, mark.attempt, topic, mark.partition, mark.random_int,
            mark.payload_crc, mark.value_crc)  # fmt: skip


def seen(row: dict[str, Any]) -> tuple[Any, ...]:
    return tuple(row[name] for name in ("run_id", "producer", "seq", "attempt", "intended_topic", "intended_partition",
                                        "random_int", "payload_crc", "value_crc"))  # fmt: skip


@pytest.mark.parametrize("size", [value.LEAST_BYTES, 100, 1024])
@pytest.mark.parametrize("topic", TOPICS)
def test_spark_reads_what_python_wrote(spark: SparkSession, size: int, topic: str) -> None:
    chance = random.Random(size)
    randoms = array("I", [0, 1, 2**31, 2**32 - 1, *(chance.getrandbits(32) for _ in range(20))])
    values, _ = value.Filler(RUN, "w-1", topic, 3, size).block(2**40, randoms, 1_763_449_200_000_000, attempt=2)
    rows = decoded(spark, list(values), topic=topic)
    assert [seen(row) for row in rows] == [expected(one, topic) for one in values]
    assert all(row["payload_crc"] == row["value_crc"] and not row["value_null"] for row in rows)


def test_what_is_not_ours_keeps_its_place_alone(spark: SparkSession) -> None:
    rows = decoded(spark, [None, b"", b"hello", b"\xff" * 100, b"KST\x01" + b"x" * 10, b"KST\x02" + b" " * 96])
    assert [seen(row) for row in rows] == [(None,) * 9] * 6
    assert [row["value_null"] for row in rows] == [True] + [False] * 5
    assert [row["offset"] for row in rows] == list(range(6))


def test_flipped_bits_never_break_the_read(spark: SparkSession) -> None:
    """Whatever a bit does to a number or a name: the row is there, and its checksums differ or its mark is gone."""
    good = value.Filler(RUN, "w-1", TOPICS[0], 3).block(5, array("I", [9]), 1)[0][0]
    bad = []
    for bit in range(800):
        one = bytearray(good)
        one[bit // 8] ^= 1 << bit % 8
        bad.append(bytes(one))
    rows = decoded(spark, list(bad))
    assert len(rows) == 800
    assert all(row["run_id"] is None or row["payload_crc"] != row["value_crc"] for row in rows)
    assert sum(row["run_id"] is None for row in rows) == 32  # the mark's own bits


def test_a_topic_nobody_knows_is_named_by_its_checksum(spark: SparkSession) -> None:
    one = value.Filler(RUN, "w-1", "an-unknown-topic-with-a-long-name", 3).block(5, array("I", [9]), 1)[0][0]
    assert decoded(spark, [one])[0]["intended_topic"] == f"#{value.topic_hash('an-unknown-topic-with-a-long-name'):08X}"
