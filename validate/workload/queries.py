"""Streaming SQL over Kafka: worked examples. Each begins with the records' texts and ends with rows to be written.

For who comes from KSQL: a stream is `spark.readStream` of a topic, its columns are taken out of the value, what
follows is SQL, and the result is written to a topic by a query that remembers its place in a checkpoint.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as f

from validate.readback.options import java_settings
from validate.sample import iris, stocks, trucks
from validate.workload import value as layout
from validate.workload.promised import SOURCES

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from pyspark.sql import Column, DataFrame, SparkSession
    from pyspark.sql.streaming.readwriter import DataStreamWriter

    from validate.workload.spec import PipelineSpec

OUTPUT = ("partition", "seq", "random", "sent", "text")
SHUFFLES = "2"  # as many as there are cores here; each keeps its state apart


def written(spark: SparkSession, spec: PipelineSpec) -> DataStreamWriter:
    spark.conf.set("spark.sql.shuffle.partitions", SHUFFLES)
    source = spark.readStream.format("kafka").options(**_kafka(spec))
    names = ",".join(topic.name for topic in spec.inputs)
    source = source.options(subscribe=names, startingOffsets="earliest", failOnDataLoss="true")
    if spec.records_per_batch is not None:
        source = source.option("maxOffsetsPerTrigger", spec.records_per_batch)
    out = rows_of(source.load(), spec)
    sink = {f"kafka.{key}": value for key, value in java_settings(spec.client).items()}
    sure = {"kafka.acks": "all", "kafka.enable.idempotence": "true"}
    return out.writeStream.format("kafka").options(**sink, **sure, topic=spec.sink).outputMode("append")


def rows_of(records: DataFrame, spec: PipelineSpec) -> DataFrame:
    """What the query makes of records, as Spark's sink for Kafka takes it."""
    rows = QUERIES[spec.query](_texts(records), spec.partitions_of(spec.sink)).select(*OUTPUT)
    return rows.select(f.col("partition").cast("int").alias("partition"), stamped(spec).alias("value"))


def sink_texts(spark: SparkSession, spec: PipelineSpec) -> DataFrame:
    return _texts(spark.read.format("kafka").options(**_kafka(spec), subscribe=spec.sink).load()).select("text")


def _kafka(spec: PipelineSpec) -> dict[str, str]:
    settings = {**java_settings(spec.client), "isolation.level": "read_committed"}
    return {f"kafka.{key}": value for key, value in settings.items()}


def _texts(records: DataFrame) -> DataFrame:
    """A row for each record: what it says, and the marks of its value that its output takes over."""
    start = layout.NAME_START + 1 + _number(layout.NAME_LENGTH).cast("int")
    length = f.length("value") - layout.CRC_WIDTH - start + 1
    return records.select(
        f.rtrim(f.substring(f.col("value"), start, length).cast("string")).alias("text"),
        f.col("partition").cast("long").alias("from"),
        _number(layout.SEQ).alias("number"),
        f.substring("value", layout.RANDOM_INT.start + 1, layout.RANDOM_INT.width).alias("random"),
        f.substring("value", layout.SENT_AT.start + 1, layout.SENT_AT.width).alias("sent"),
    )


def _number(span: layout.Span) -> Column:
    return f.conv(f.hex(f.substring("value", span.start + 1, span.width)), 16, 10).cast("long")


def _columns(rows: DataFrame, names: Sequence[str]) -> DataFrame:
    """A row's text as columns, all of them text."""
    parts = f.split("text", ",")
    return rows.select("*", *(parts.getItem(place).alias(name) for place, name in enumerate(names)))


def _flowers(rows: DataFrame, partitions: int) -> DataFrame:
    kind = f.element_at(f.split("text", ","), -1)
    return rows.select(
        ((_place(kind, iris.KINDS)) % partitions).alias("partition"),
        (f.col("number") * SOURCES + f.col("from")).alias("seq"),
        "random", "sent", "text",
    )  # fmt: skip


def _dangerous(rows: DataFrame, partitions: int) -> DataFrame:
    """CREATE STREAM dangerous_driving AS SELECT * FROM positions WHERE event <> 'normal' OR speed_kmh > 100"""
    positions = _columns(rows, trucks.COLUMNS)
    dangerous = positions.where(f"event <> 'normal' OR CAST(speed_kmh AS INT) > {trucks.FAST_KMH}")
    return dangerous.select(
        (f.col("from") % partitions).alias("partition"), f.col("number").alias("seq"), "random", "sent", "text"
    )


def _windows(rows: DataFrame, partitions: int) -> DataFrame:
    """CREATE TABLE ... AS SELECT symbol, COUNT(*), MIN(price), MAX(price) FROM trades
    WINDOW TUMBLING (SIZE 1 MINUTE) GROUP BY symbol EMIT FINAL

    A window is written once, when trades from behind its end show that it is over.
    """
    trades = _columns(rows, stocks.COLUMNS).select(
        f.timestamp_seconds(f.col("at_s").cast("long")).alias("at"),
        f.col("price_cents").cast("long").alias("price"),
        "symbol",
    )
    over = trades.withWatermark("at", f"{stocks.LATE_S} seconds").groupBy(
        f.window("at", f"{stocks.WINDOW_S} seconds"), "symbol"
    )
    counted = over.agg(f.count("*").alias("trades"), f.min("price").alias("low"), f.max("price").alias("high"))
    start, place = f.unix_timestamp("window.start"), _place(f.col("symbol"), stocks.SYMBOLS)
    number = ((start - stocks.OPENING_S) / stocks.WINDOW_S).cast("long") * len(stocks.SYMBOLS) + place
    return counted.select(
        (place % partitions).alias("partition"),
        number.alias("seq"),
        _bytes(f.col("trades"), layout.RANDOM_INT.width).alias("random"),
        _bytes(start * 1_000_000, layout.SENT_AT.width).alias("sent"),
        f.concat_ws(",", *(c.cast("string") for c in (start, *map(f.col, ("trades", "low", "high", "symbol"))))).alias(
            "text"
        ),
    )


QUERIES: Mapping[str, Callable[[DataFrame, int], DataFrame]] = {
    "iris": _flowers,
    "dangerous-driving": _dangerous,
    "stock-windows": _windows,
}


def _place(column: Column, words: Sequence[str]) -> Column:
    return f.array_position(f.array(*(f.lit(word) for word in words)), column) - 1


def _bytes(column: Column, width: int) -> Column:
    return f.unhex(f.lpad(f.hex(column.cast("long")), 2 * width, "0"))


def stamped(spec: PipelineSpec) -> Column:
    """The row as a value of our form, checksum and all: so the judge knows each output (validate.workload.value)."""
    name = spec.sink.encode()
    room = spec.value_bytes - layout.LEAST_BYTES - len(name)
    head = layout.head(spec.run_id, spec.checkpoint, spec.sink)
    rest = f.concat(
        f.lit(head),
        _bytes(f.col("partition"), layout.PARTITION.width),
        _bytes(f.col("seq"), layout.SEQ.width),
        f.lit(bytes(layout.ATTEMPT.width)),
        f.col("random"),
        f.col("sent"),
        f.lit(name),
        f.rpad("text", room, " ").cast("binary"),
    )
    return f.concat(rest, _bytes(f.crc32(rest), layout.CRC_WIDTH))
