"""torn-transaction: a transaction is neither wholly there nor wholly away."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as f

from validate.checks.finding import VIOLATION, findings

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def torn_transaction(attempts: DataFrame) -> DataFrame:
    """One finding per transaction, looking only at acked records whose presence or absence is certain."""
    place = f.coalesce(f.when(f.col("n_rows").isNotNull(), f.coalesce("own_min", "acked_offset")), "acked_offset")
    looked = attempts.filter("txn IS NOT NULL AND outcome = 'acked' AND certain").withColumn("offset", place)
    each = looked.groupBy("txn", "txn_outcome").agg(
        f.count("*").alias("all"),
        f.count("n_rows").alias("visible"),
        f.min(f.struct("topic", "partition", "seq", "offset", "attempt", "producer")).alias("first"),
    )
    committed = (f.col("txn_outcome") == "committed") & (f.col("visible") < f.col("all"))
    unknown = (f.col("txn_outcome") == "unknown") & (f.col("visible") > 0) & (f.col("visible") < f.col("all"))
    names = ("topic", "partition", "producer", "seq", "attempt", "offset")
    return findings(
        each.filter(committed | unknown), "torn-transaction", VIOLATION,
        **{name: f"first.{name}" for name in names}, detail="txn",
        note=f.format_string("%s, %d of %d visible", "txn_outcome", "visible", "all"),
    )  # fmt: skip
