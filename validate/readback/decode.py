"""The value taken apart by Spark itself: where the fields lie is known by validate.workload.value alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as f

from validate.workload import value as layout

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pyspark.sql import Column, DataFrame


def log_rows(records: DataFrame, topics: Iterable[str]) -> DataFrame:
    """Rows of the table `log` out of Kafka's own columns; what is not of our form keeps its place and nothing else."""
    value = f.col("value")
    ours = (f.length(value) >= layout.LEAST_BYTES) & (_bytes(layout.MARK_AT) == f.lit(layout.MARK))

    def only(column: Column, name: str) -> Column:
        return f.when(ours, column).alias(name)

    return records.select(
        f.col("topic"),
        f.col("partition").cast("long").alias("partition"),
        f.col("offset"),
        f.col("timestamp"),
        f.col("key"),
        value.isNull().alias("value_null"),
        only(_text(layout.RUN), "run_id"),
        only(_text(layout.PRODUCER), "producer"),
        only(_number(layout.SEQ), "seq"),
        only(_number(layout.ATTEMPT), "attempt"),
        only(_topic(topics), "intended_topic"),
        only(_number(layout.PARTITION), "intended_partition"),
        only(_number(layout.RANDOM_INT), "random_int"),
        only(_long(_hex(f.substring(value, -layout.CRC_WIDTH, layout.CRC_WIDTH))), "payload_crc"),
        only(
            f.crc32(f.substring(value, f.lit(1), f.length(value) - layout.CRC_WIDTH)),
            "value_crc",
        ),
    )


def _bytes(span: layout.Span) -> Column:
    return f.substring("value", span.start + 1, span.width)


def _text(span: layout.Span) -> Column:
    return f.rtrim(_bytes(span).cast("string"))


def _hex(column: Column) -> Column:
    return f.conv(f.hex(column), 16, 10)


def _long(column: Column) -> Column:
    # A number beyond 63 bits is a flipped bit: null, and the checksum tells of it.
    return column.try_cast("long")


def _number(span: layout.Span) -> Column:
    return _long(_hex(_bytes(span)))


def _topic(topics: Iterable[str]) -> Column:
    """The name as written; where there was no room for it, the name among those read that has its checksum."""
    hashed = _number(layout.TOPIC_HASH)
    length = _number(layout.NAME_LENGTH)
    known = f.concat(f.lit("#"), f.hex(_bytes(layout.TOPIC_HASH)))
    for topic in topics:
        known = f.when(hashed == layout.topic_hash(topic), f.lit(topic)).otherwise(known)
    written = f.substring(f.col("value"), f.lit(layout.NAME_START + 1), length.cast("int")).cast("string")
    return f.when(length > 0, written).otherwise(known)
