"""inconsistent-offset: one place is bound to two records, by acknowledgements or by the log."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as f

from validate.checks.finding import EXPECTED, PLACE, findings, unless

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def inconsistent_offset(attempts: DataFrame, rows: DataFrame) -> DataFrame:
    """One finding per place with two records, or with two acknowledgements even of one record."""
    # A record is a 64-bit hash of its name; a foreign row is one record of its own.
    name = f.xxhash64("run_id", "producer", "topic", "partition", "seq")
    acks = attempts.filter("outcome = 'acked' AND acked_offset IS NOT NULL").select(
        "topic", "partition", f.col("acked_offset").alias("offset"), name.alias("record"), f.lit(1).alias("ack"),
        "producer", "seq", "attempt", "weak",
    )  # fmt: skip
    meant = f.xxhash64("run_id", "producer", "in_topic", "in_partition", "seq")
    foreign = f.xxhash64(f.lit("foreign"), "run_id", "producer", "topic", "partition", "offset", "seq")
    seen = rows.select(
        *PLACE, f.when(f.col("ours"), meant).otherwise(foreign).alias("record"), f.lit(0).alias("ack"),
        "producer", "seq", "attempt", f.col("s_weak").alias("weak"),
    )  # fmt: skip
    places = (
        acks.unionByName(seen)
        .groupBy(*PLACE)
        .agg(
            f.sum("ack").alias("acks"),
            (f.min("record") != f.max("record")).alias("two_records"),
            f.max("weak").alias("weak"),
            f.min(f.struct("seq", "attempt", "producer")).alias("first"),
        )
    )
    bad = places.filter("two_records OR acks > 1")
    return findings(
        bad, "inconsistent-offset", unless("weak", EXPECTED),
        producer="first.producer", seq="first.seq", attempt="first.attempt",
    )  # fmt: skip
