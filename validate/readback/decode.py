"""The value taken apart by Spark itself: where the fields lie is known by validate.workload.value alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as f

from validate.workload import value as layout

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pyspark.sql import Column, DataFrame


OWN = "own"


def log_rows(records: DataFrame, topics: Iterable[str]) -> DataFrame:
    """Rows of the table `log` out of Kafka's own columns; what is not of our form keeps its place and nothing else."""
    value = f.col("value")
    mark = f.substring(value, layout.MARK_AT.start + 1, layout.MARK_AT.width)
    ours = (f.length(value) >= layout.LEAST_BYTES) & (mark == f.lit(layout.MARK))
    # What is not ours is null here, and so is all that is made of it: asked once, not for every field.
    marked = records.select("topic", "partition", "offset", "timestamp", "key", value.isNull().alias("value_null"),
                            f.when(ours, value).alias(OWN))  # fmt: skip
    own = f.col(OWN)
    return marked.select(
        f.col("topic"),
        f.col("partition").cast("long").alias("partition"),
        f.col("offset"),
        f.col("timestamp"),
        f.col("key"),
        f.col("value_null"),
        _text(layout.RUN).alias("run_id"),
        _text(layout.PRODUCER).alias("producer"),
        _number(layout.SEQ).alias("seq"),
        _number(layout.ATTEMPT).alias("attempt"),
        _topic(topics).alias("intended_topic"),
        _number(layout.PARTITION).alias("intended_partition"),
        _number(layout.RANDOM_INT).alias("random_int"),
        _long(_hex(f.substring(own, -layout.CRC_WIDTH, layout.CRC_WIDTH))).alias("payload_crc"),
        f.crc32(f.substring(own, f.lit(1), f.length(own) - layout.CRC_WIDTH)).alias("value_crc"),
    )


def _bytes(span: layout.Span) -> Column:
    return f.substring(OWN, span.start + 1, span.width)


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
    length, hashed = _bytes(layout.NAME_LENGTH), _bytes(layout.TOPIC_HASH)
    known = f.concat(f.lit("#"), f.hex(hashed))
    for topic in topics:
        known = f.when(hashed == f.lit(layout.topic_hash(topic).to_bytes(layout.TOPIC_HASH.width)), topic).otherwise(
            known
        )
    room = _long(_hex(length)).cast("int")
    written = f.substring(f.col(OWN), f.lit(layout.NAME_START + 1), room).cast("string")
    return f.when(length != f.lit(b"\0"), written).otherwise(known)
