"""The first pass: which partitions add up, told from sums alone, so that only the others are joined.

A partition is settled if every sent row in it is a plain acknowledged one, every log row of it is one of those at its
promised offset with its checksum and key, and they fill the log from start to end in each producer's order. In such a
partition no check has anything to find, and its numbers are those of its sums. docs/adr/0010 says why this is exact.

Sent and log rows meet in blocks: of one producer and partition, at most 64 neighbouring seqs, at one distance `d`
between offset and seq. In a block, equal sets of bits mean equal seqs, and as `d` is the same, equal offsets.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import reduce
from typing import TYPE_CHECKING

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f

from validate.checks.frames import bounds_of
from validate.ledger.read import valid

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from validate.expect import Expectation
    from validate.ledger.read import Ledger

_SAFE = 1 << 61  # beyond this a difference of offset and seq may not fit 64 bits: such rows take the long way
_BLOCK = ["topic", "partition", "run_id", "producer", "d", "block"]
_LOW_BITS = 0xFFFFFFFF
# Topics that consumers are judged by keep all their rows: what was not delivered is found among those that are there.
_CONSUMED = ("delivered", "commits", "effects")


@dataclass
class Settled:
    """What the first pass counted, and the partitions it could settle; `untimed` of them but for their times."""

    partitions: list[tuple[str, int]] = field(default_factory=list)
    unsettled: bool = True
    rows: dict[str, int] = field(default_factory=lambda: {"sent": 0, "log": 0})
    acked: int = 0
    run_ids: set[str] = field(default_factory=set)
    untimed: list[tuple[str, int]] = field(default_factory=list)
    sums: dict[str, int] = field(default_factory=dict)


def settle(ledger: Ledger, expectation: Expectation) -> Settled:
    """Read sent and log once; a ledger that lacks one of its three required tables settles nothing."""
    if not ledger.has("sent", "log", "log_bounds"):
        return Settled()
    consumed = _consumed(ledger, expectation)
    blocks = _blocks(ledger.tables["sent"], ledger.tables["log"])
    settled = Settled()
    unsettled: set[tuple[str, int]] = set()
    rows = _partitions(blocks, bounds_of(ledger.tables["log_bounds"])).collect()
    for row in rows:
        place = (row["topic"], row["partition"])
        settled.run_ids.update(row["run_ids"])
        if row["dirty"] or row["topic"] in consumed:
            unsettled.add(place)
        # A stray row unsettles the place it was meant for, too.
        unsettled.update((x["other_topic"], x["other_partition"]) for x in row["others"])
    settled.unsettled = bool(unsettled)
    for row in rows:
        place = (row["topic"], row["partition"])
        if place in unsettled:
            continue
        settled.partitions.append(place)
        if row["untimed"]:
            settled.untimed.append(place)
        settled.rows["sent"] += row["n_sent"]
        settled.rows["log"] += row["n_log"]
        settled.acked += row["n_sent"]
        settled.sums[row["topic"]] = settled.sums.get(row["topic"], 0) + (row["high"] << 32) + row["low"]
    return settled


def set_aside(ledger: Ledger, settled: Settled, spark: SparkSession) -> None:
    """Take what is settled out of the tables that are joined; if that is all, they need not even be read again."""
    for table in ("sent", "log"):
        if settled.partitions:
            frame = ledger.tables[table]
            ledger.tables[table] = (
                without(frame, settled.partitions) if settled.unsettled else spark.createDataFrame([], frame.schema)
            )


def _consumed(ledger: Ledger, expectation: Expectation) -> set[str]:
    topics = {topic for claim in expectation.claims for topic in claim.topics}
    named = [ledger.tables[name].select("topic") for name in _CONSUMED if ledger.has(name)]
    if named:
        topics |= {row["topic"] for row in reduce(DataFrame.unionAll, named).distinct().collect()}
    return topics


def only(frame: DataFrame, partitions: list[tuple[str, int]]) -> DataFrame:
    """Rows of these partitions."""
    kept = frame.sparkSession.createDataFrame(partitions, "topic string, partition bigint")
    return frame.join(f.broadcast(kept), on=["topic", "partition"], how="left_semi").select(*frame.columns)


def without(frame: DataFrame, partitions: list[tuple[str, int]]) -> DataFrame:
    """Rows outside these partitions."""
    if not partitions:
        return frame
    spark = frame.sparkSession
    gone = spark.createDataFrame(partitions, "topic string, partition bigint")
    # A null place is in no list; the row stays, to be told of.
    return frame.join(f.broadcast(gone), on=["topic", "partition"], how="left_anti").select(*frame.columns)


def _blocks(sent: DataFrame, log: DataFrame) -> DataFrame:
    """Sent and log rows summed up block by block; what is not plain stands in a block of its own as `odd`."""
    plain_sent = valid("sent") & f.expr(
        "outcome = 'acked' AND attempt = 0 AND txn IS NULL AND NOT coalesce(value_null, false)"
        f" AND acked_offset BETWEEN 0 AND {_SAFE} AND seq BETWEEN 0 AND {_SAFE}"
    )
    plain_log = valid("log") & f.expr(
        "NOT value_null AND run_id IS NOT NULL AND producer IS NOT NULL AND coalesce(attempt, 0) = 0"
        " AND coalesce(intended_topic, topic) = topic AND coalesce(intended_partition, partition) = partition"
        " AND coalesce(payload_crc, value_crc) <=> value_crc"
        f" AND offset BETWEEN 0 AND {_SAFE} AND seq BETWEEN 0 AND {_SAFE}"
    )
    told = sent.withColumn("offset", f.col("acked_offset"))
    rows = _signed(told, plain_sent, sent=True).unionAll(_signed(log, plain_log, sent=False))
    return rows.groupBy(*_BLOCK, "other_topic", "other_partition").agg(
        *(f.expr(text) for text in (
            "max(odd) AS odd", "sum(sent) AS n_sent", "sum(1 - sent) AS n_log",
            "bit_or(IF(sent = 1, bit, 0L)) AS bits_sent", "bit_or(IF(sent = 0, bit, 0L)) AS bits_log",
            "bit_xor(hash) AS mixed", "min(seq) AS first_seq", "max(seq) AS last_seq",
            "max(invoked) AS last_invoked", "min(done) AS first_done", "sum(high) AS high", "sum(low) AS low",
            "min(clock) AS clock_low", "max(clock) AS clock_high",
        ))
    )  # fmt: skip


def _signed(frame: DataFrame, plain: Column, *, sent: bool) -> DataFrame:
    side = 1 if sent else 0
    # Nulls are left out of a hash, so each column that may be null is preceded by whether it is.
    content = "xxhash64(seq, key IS NULL, key, value_crc IS NULL, value_crc, random_int IS NULL, random_int)"
    astray = "false" if sent else "intended_topic <> topic OR intended_partition <> partition"
    meant_topic, meant_partition = (
        ("NULL", "NULL") if sent else ("coalesce(intended_topic, topic)", "coalesce(intended_partition, partition)")
    )
    times = ("unix_micros(invoked_at)", "unix_micros(done_at)") if sent else ("NULL", "NULL")
    return frame.withColumn("plain", f.coalesce(plain, f.lit(False))).selectExpr(  # noqa: FBT003
        "topic", "partition", f"IF(plain OR {side} = 1, run_id, NULL) AS run_id",
        "IF(plain, producer, NULL) AS producer",
        "IF(plain, offset - seq, NULL) AS d", "IF(plain, seq DIV 64, NULL) AS block",
        f"CAST(IF({astray}, {meant_topic}, NULL) AS STRING) AS other_topic",
        f"CAST(IF({astray}, {meant_partition}, NULL) AS BIGINT) AS other_partition",
        f"{side}L AS sent", "IF(plain, 0, 1) AS odd",
        "IF(plain, shiftleft(1L, CAST(seq & 63 AS INT)), 0L) AS bit", f"IF(plain, {content}, 0L) AS hash",
        "IF(plain, seq, NULL) AS seq",
        f"CAST({times[0]} AS BIGINT) AS invoked", f"CAST({times[1]} AS BIGINT) AS done",
        "xxhash64(clock) AS clock" if sent else "CAST(NULL AS BIGINT) AS clock",
        f"coalesce(shiftright(random_int, 32), 0L) * {side}L AS high",
        f"coalesce(random_int & {_LOW_BITS}L, 0L) * {side}L AS low",
    )  # fmt: skip


def _partitions(blocks: DataFrame, bounds: DataFrame) -> DataFrame:
    """Per partition: whether anything in it does not add up, and its sums.

    Blocks in the order of their offsets must follow each other without a hole or an overlap, from start to end; in the
    order of a producer's seqs their distance must not fall. Where something at or above a block's offsets was reported
    before the last send of the block began, which a slow producer does by right, the times have to be looked at.
    """
    place = "PARTITION BY topic, partition"
    walked = blocks.selectExpr(
        "*", "first_seq + d AS low_offset", "last_seq + d AS high_offset",
    ).selectExpr(
        "*",
        f"lag(high_offset) OVER ({place} ORDER BY low_offset, first_seq) AS high_before",
        f"min(first_done) OVER ({place} ORDER BY low_offset DESC, first_seq DESC"
        " ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS first_done_above",
        "lag(last_seq) OVER (PARTITION BY topic, partition, run_id, producer ORDER BY first_seq, d) AS seq_before",
        "lag(d) OVER (PARTITION BY topic, partition, run_id, producer ORDER BY first_seq, d) AS d_before",
    )  # fmt: skip
    wrong = (
        "odd = 1 OR d IS NULL"
        " OR n_sent <> n_log OR bits_sent <> bits_log OR mixed <> 0"
        " OR n_sent <> bit_count(bits_sent) OR n_sent <> last_seq - first_seq + 1"
        " OR (high_before IS NOT NULL AND low_offset <> high_before + 1)"
        " OR (seq_before IS NOT NULL AND (first_seq <= seq_before OR d < d_before))"
    )
    summed = walked.groupBy("topic", "partition").agg(
        f.max(f.coalesce(f.expr(wrong), f.lit(True))).alias("wrong"),  # noqa: FBT003
        f.max(f.expr("coalesce(first_done_above < last_invoked, false)")).alias("untimed"),
        f.min("low_offset").alias("lowest"),
        f.max("high_offset").alias("highest"),
        *(f.sum(name).alias(name) for name in ("n_sent", "n_log", "high", "low")),
        f.collect_set(f.when(f.col("n_sent") > 0, f.col("run_id"))).alias("run_ids"),
        # Pairs of two clocks are not compared but counted, which the long way does.
        (f.min("clock_low") != f.max("clock_high")).alias("two_clocks"),
        f.collect_set(f.when(f.col("other_topic").isNotNull(), f.struct("other_topic", "other_partition"))).alias(
            "others"
        ),
    )
    whole = "lowest <=> start_offset AND highest + 1 <=> end_offset AND read_to IS NULL"
    dirty = f.col("wrong") | f.col("two_clocks") | ~f.expr(whole)
    return summed.join(f.broadcast(bounds), on=["topic", "partition"], how="left").select(
        "topic",
        "partition",
        f.coalesce(dirty, f.lit(True)).alias("dirty"),  # noqa: FBT003
        "n_sent",
        "n_log",
        "high",
        "low",
        "run_ids",
        "others",
        "untimed",
    )
