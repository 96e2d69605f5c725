"""replica-divergence: two replicas hold different batches where both must hold the same."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as f

from validate.checks.finding import VIOLATION, findings

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def replica_divergence(replicas: DataFrame, bounds: DataFrame) -> DataFrame:
    """One finding per base offset at which the replicas of a partition do not all hold the same batch."""
    by = ["topic", "partition"]
    # A replica without batches has a row of its own, so every replica counts.
    copies = replicas.groupBy(*by).agg(
        f.count_distinct("broker").alias("brokers"), f.max("log_start").alias("first_kept")
    )
    limits = bounds.filter("NOT compact").select(*by, "high_watermark")
    settled = (
        replicas.filter("base_offset >= 0")
        .join(f.broadcast(copies), on=by, how="inner")
        .join(f.broadcast(limits), on=by, how="inner")
        .filter((f.col("last_offset") < f.col("high_watermark")) & (f.col("base_offset") >= f.col("first_kept")))
    )
    batches = settled.groupBy(*by, "base_offset").agg(
        f.count_distinct("broker").alias("holders"),
        f.max("brokers").alias("brokers"),
        f.count_distinct("last_offset", "batch_crc").alias("versions"),
    )
    apart = batches.filter((f.col("holders") < f.col("brokers")) | (f.col("versions") > 1))
    note = f.format_string("%d of %d replicas hold it, in %d versions", "holders", "brokers", "versions")
    return findings(apart, "replica-divergence", VIOLATION, offset="base_offset", note=note)
