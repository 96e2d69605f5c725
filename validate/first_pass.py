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
from validate.ledger.read import lean, never_null, valid

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from validate.expect import Expectation
    from validate.ledger.read import Ledger

_SAFE = 1 << 61  # beyond this a difference of offset and seq may not fit 64 bits: such rows take the long way
# Places and producers are grouped by their hashes. Two that had the same one would be one place or producer with too
# many rows, which does not add up: that costs a join and hides nothing.
_BLOCK = ["place", "source", "d", "block"]
_ODD = -1  # the block of all rows of a place that are not plain; a stray one has the place it was meant for as its `d`
_SUMS = ("count(*) AS n", "bit_or(bit) AS bits", "bit_xor(hash) AS mixed")
_SENT_SUMS = (
    "max(invoked) AS last_invoked", "min(done) AS first_done", "sum(high) AS high", "sum(low) AS low",
    # For _IN_ORDER. Of rows that are there many times the sums may not fit: null, and so is the answer.
    "min(invoked) AS first_invoked", "try_sum(early) AS invokes", "try_sum(early * at) AS weighed",
)  # fmt: skip
_EARLY = 1 << 51  # microseconds, the year 2041: those of 64 rows, each weighed by its place, fit 64 bits
# Where the bits of a block begin. The last bit alone is the lowest of all numbers: 1 less would not fit 64 bits.
_FIRST_BIT = "CASE WHEN shiftleft(bits, 1) = 0 THEN 63 ELSE bit_count(~bits & (bits - 1)) END"
# The same number of bits in a row, from there on.
_RUN = "shiftleft(shiftrightunsigned(-1L, 64 - bit_count(bits)), first_bit)"
_LOW_BITS = 0xFFFFFFFF
# Rows of a block were invoked in the order of their seqs if they have one time, or two of which the last so many rows
# have the later one. Two sums show that: of all ways to add so many spans to rows, one each at most, adding them to the
# last rows weighs most, and no other way weighs as much.
_SPAN = "(last_invoked - first_invoked)"
_LATER = f"((invokes - n * first_invoked) DIV {_SPAN})"
_WEIGHT = "(n * first_bit + n * (n - 1) DIV 2)"
_LATER_WEIGHT = f"({_LATER} * (first_bit + n - 1) - {_LATER} * ({_LATER} - 1) DIV 2)"
_IN_ORDER = (
    f"CASE WHEN unequal OR first_invoked < 0 OR last_invoked > {_EARLY} THEN false WHEN {_SPAN} = 0 THEN true ELSE"
    f" invokes - n * first_invoked = {_LATER} * {_SPAN}"
    f" AND weighed - first_invoked * {_WEIGHT} = {_SPAN} * {_LATER_WEIGHT} END"
)
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


def settle(spark: SparkSession, ledger: Ledger, expectation: Expectation) -> Settled:
    """Read sent and log once; a ledger that lacks one of its three required tables settles nothing."""
    if not ledger.has("sent", "log", "log_bounds"):
        return Settled()
    consumed = _consumed(ledger, expectation)
    sent, log = lean(spark, ledger, "sent"), lean(spark, ledger, "log")
    blocks = _blocks(sent, log, {table: never_null(ledger, table) for table in ("sent", "log")})
    rows = _partitions(blocks, bounds_of(ledger.tables["log_bounds"])).collect()
    settled = Settled(run_ids=_run_ids(ledger, sent))
    # A stray row unsettles the place it was meant for, too.
    strayed_to = {place for row in rows for place in row["others"]}
    for row in rows:
        if row["dirty"] or row["topic"] in consumed or row["place"] in strayed_to:
            continue
        place = (row["topic"], row["partition"])
        settled.partitions.append(place)
        if row["untimed"]:
            settled.untimed.append(place)
        settled.rows["sent"] += row["n"]
        settled.rows["log"] += row["n"]
        settled.acked += row["n"]
        settled.sums[row["topic"]] = settled.sums.get(row["topic"], 0) + (int(row["high"]) << 32) + int(row["low"])
    settled.unsettled = len(settled.partitions) < len(rows)
    return settled


def set_aside(ledger: Ledger, settled: Settled) -> None:
    """Take what is settled out of the tables that are joined; if that is all, they need not even be read again."""
    for table in ("sent", "log"):
        if settled.partitions:
            frame = ledger.tables[table]
            ledger.tables[table] = without(frame, settled.partitions) if settled.unsettled else frame.limit(0)


def _consumed(ledger: Ledger, expectation: Expectation) -> set[str]:
    topics = {topic for claim in expectation.claims for topic in claim.topics}
    named = [ledger.tables[name].select("topic") for name in _CONSUMED if ledger.has(name)]
    if named:
        topics |= {row["topic"] for row in reduce(DataFrame.unionAll, named).distinct().collect()}
    return topics


def _run_ids(ledger: Ledger, sent: DataFrame) -> set[str]:
    """The runs in sent; where the footers name one for each batch of files, nothing is read."""
    named = [batch.constants.get("run_id") for batch in ledger.batches.get("sent", ())]
    if named and None not in named:
        return {str(name) for name in named}
    return {row["run_id"] for row in sent.select("run_id").distinct().collect()} - {None}


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


def _blocks(sent: DataFrame, log: DataFrame, full: dict[str, frozenset[str]]) -> DataFrame:
    """Sent and log rows summed up block by block; what is not plain stands in a block of its own as `odd`.

    `full` names the columns of each that hold no null anywhere, which is not asked again.
    """
    plain_sent = valid("sent", full=full["sent"]) & f.expr(
        "outcome = 'acked' AND attempt = 0 AND txn IS NULL AND NOT coalesce(value_null, false)"
        f" AND acked_offset BETWEEN 0 AND {_SAFE} AND seq BETWEEN 0 AND {_SAFE}"
    )
    plain_log = valid("log", full=full["log"]) & f.expr(
        "NOT value_null AND run_id IS NOT NULL AND producer IS NOT NULL AND coalesce(attempt, 0) = 0"
        " AND coalesce(intended_topic, topic) = topic AND coalesce(intended_partition, partition) = partition"
        " AND coalesce(payload_crc, value_crc) <=> value_crc"
        f" AND offset BETWEEN 0 AND {_SAFE} AND seq BETWEEN 0 AND {_SAFE}"
    )
    told = sent.withColumn("offset", f.col("acked_offset"))
    sides = [
        # Of two clocks each has a block of its own; one for all is no column to group by.
        _signed(told, plain_sent, sent=True).groupBy(*_BLOCK, "clock").agg(*map(f.expr, (*_SUMS, *_SENT_SUMS))),
        _signed(log, plain_log, sent=False).groupBy(*_BLOCK).agg(*map(f.expr, _SUMS)),
    ]
    of_log = sides[1].withColumnsRenamed({name: f"log_{name}" for name in ("n", "bits", "mixed")})
    return sides[0].join(of_log.hint("shuffle_hash"), on=_BLOCK, how="full")


def _signed(frame: DataFrame, plain: Column, *, sent: bool) -> DataFrame:
    """Each row as numbers: where it belongs, its bit, and what it adds to the sums of its block."""
    # Nulls are left out of a hash, so it is told which columns are null.
    nulls = "IF(key IS NULL, 1, 0) | IF(value_crc IS NULL, 2, 0) | IF(random_int IS NULL, 4, 0)"
    content = f"xxhash64(seq, {nulls}, value_crc, random_int, key)"
    stray = "intended_topic <> topic OR intended_partition <> partition"
    meant = _place("coalesce(intended_topic, topic)", "coalesce(intended_partition, partition)")
    astray = "0L" if sent else f"IF({stray}, {meant}, 0L)"
    of_sent = (
        "unix_micros(invoked_at) AS invoked", "unix_micros(done_at) AS done", "xxhash64(clock) AS clock",
        "seq & 63 AS at",
        f"IF(plain AND unix_micros(invoked_at) BETWEEN 0 AND {_EARLY}, unix_micros(invoked_at), NULL) AS early",
        # What is not plain is one block, however many rows it has, and its sums are not asked for.
        "IF(plain, coalesce(shiftright(random_int, 32), 0L), 0L) AS high",
        f"IF(plain, coalesce(random_int & {_LOW_BITS}L, 0L), 0L) AS low",
    )  # fmt: skip
    return frame.withColumn("plain", f.coalesce(plain, f.lit(False))).selectExpr(  # noqa: FBT003
        f"{_place('topic', 'partition')} AS place",
        "IF(plain, xxhash64(xxhash64(run_id), producer), 0L) AS source",
        f"IF(plain, offset - seq, {astray}) AS d", f"IF(plain, shiftright(seq, 6), {_ODD}L) AS block",
        "IF(plain, shiftleft(1L, CAST(seq & 63 AS INT)), 0L) AS bit",
        f"IF(plain, {content}, 0L) AS hash", *(of_sent if sent else ()),
    )  # fmt: skip


def _place(topic: str, partition: str) -> str:
    """The hash of a place. A topic that is the same in all rows is hashed but once: texts cost more than numbers."""
    return f"xxhash64(xxhash64({topic}), {partition})"


def _partitions(blocks: DataFrame, bounds: DataFrame) -> DataFrame:
    """Per partition: whether anything in it does not add up, and its sums.

    Blocks in the order of their offsets must follow each other without a hole or an overlap, from start to end; in the
    order of a producer's seqs their distance must not fall. Where something above a block's offsets was reported before
    the last send of the block began, or something in it that was not sent in order, the times have to be looked at.
    """
    by_offset = "PARTITION BY place ORDER BY low_offset, first_seq"
    by_seq = "PARTITION BY place, source ORDER BY first_seq, d"
    unequal = (
        f"block = {_ODD} OR n <> log_n OR bits <> log_bits OR mixed <> log_mixed OR n <> bit_count(bits)"
        f" OR bits <> {_RUN}"
    )
    # What a block tells by itself is told before blocks are put in order: each column that need not be moved counts.
    told = blocks.selectExpr("*", f"{_FIRST_BIT} AS first_bit").selectExpr(
        "*", f"coalesce({unequal}, true) AS unequal", f"CASE WHEN block = {_ODD} AND d <> 0 THEN d END AS other"
    )  # fmt: skip
    placed = told.selectExpr(
        "place", "source", "d", "clock", "last_invoked", "first_done", "n", "high", "low", "unequal", "other",
        "block * 64 + first_bit AS first_seq", "block * 64 + first_bit + bit_count(bits) - 1 AS last_seq",
        f"first_done < last_invoked AND NOT coalesce({_IN_ORDER}, false) AS overtaken",
    )  # fmt: skip
    walked = placed.selectExpr("*", "first_seq + d AS low_offset").selectExpr(
        "*",
        f"lag(last_seq + d) OVER ({by_offset}) AS high_before",
        f"max(last_invoked) OVER ({by_offset} ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS last_invoked_below",
        f"lag(last_seq) OVER ({by_seq}) AS seq_before",
        f"lag(d) OVER ({by_seq}) AS d_before",
    )  # fmt: skip
    wrong = (
        "unequal OR (high_before IS NOT NULL AND low_offset <> high_before + 1)"
        " OR (seq_before IS NOT NULL AND (first_seq <= seq_before OR d < d_before))"
    )
    summed = walked.groupBy("place").agg(
        f.max(f.coalesce(f.expr(wrong), f.lit(True))).alias("wrong"),  # noqa: FBT003
        f.max(f.expr("coalesce(overtaken OR first_done < last_invoked_below, false)")).alias("untimed"),
        f.min("low_offset").alias("lowest"),
        f.max(f.expr("last_seq + d")).alias("highest"),
        f.sum("n").alias("n"),
        # Of a block they fit 64 bits, of a partition with more than 2^31 records they may not.
        *(f.sum(f.col(name).cast("decimal(20)")).alias(name) for name in ("high", "low")),
        # Pairs of two clocks are not compared but counted, which the long way does.
        (f.min("clock") != f.max("clock")).alias("two_clocks"),
        f.collect_set("other").alias("others"),
    )
    whole = "lowest <=> start_offset AND highest + 1 <=> end_offset AND read_to IS NULL"
    dirty = f.col("wrong") | f.col("two_clocks") | ~f.expr(whole)
    named = bounds.withColumn("place", f.expr(_place("topic", "partition")))
    return summed.join(f.broadcast(named), on="place", how="left").select(
        "place",
        "topic",
        "partition",
        f.coalesce(dirty, f.lit(True)).alias("dirty"),  # noqa: FBT003
        "n",
        "high",
        "low",
        "others",
        "untimed",
    )
