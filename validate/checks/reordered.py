"""reordered: a record stands in the log before one that its producer sent earlier."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import Window
from pyspark.sql import functions as f

from validate.checks.finding import ALLOWED, RECORD, findings, unless

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def reordered(rows: DataFrame) -> DataFrame:
    """First attempts only: what the application sends again stands behind by right."""
    first_sends = rows.filter("covered AND own AND attempt = 0")
    placed = first_sends.groupBy(*RECORD).agg(
        f.min("offset").alias("offset"), f.max("s_idempotent").alias("idempotent")
    )
    before = (
        Window.partitionBy("run_id", "producer", "topic", "partition")
        .orderBy("seq")
        .rowsBetween(Window.unboundedPreceding, -1)
    )
    late = placed.withColumn("highest", f.max("offset").over(before)).filter("offset < highest")
    promised = f.coalesce("idempotent", f.lit(False))  # noqa: FBT003
    return findings(
        late, "reordered", unless(~promised, ALLOWED), attempt=f.lit(0), note=f.concat(f.lit("behind "), "highest")
    )
