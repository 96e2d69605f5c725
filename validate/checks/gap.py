"""gap: offsets between the log's start and end where no row was read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import Window
from pyspark.sql import functions as f

from validate.checks.finding import ALLOWED, findings

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def gap(rows: DataFrame, bounds: DataFrame, attempts: DataFrame) -> DataFrame:
    """One finding per range. Markers of transactions and compaction explain gaps."""
    stop = f.least("end_offset", f.coalesce("read_to", "end_offset"))
    spans = bounds.select("topic", "partition", "start_offset", stop.alias("stop"), "compact")
    inside = (
        rows.select("topic", "partition", "offset")
        .join(f.broadcast(spans), on=["topic", "partition"], how="inner")
        .filter((f.col("offset") >= f.col("start_offset")) & (f.col("offset") < f.col("stop")))
    )
    # The end stands in for a last row, so that a gap before it shows, and one over a whole empty partition. A row at
    # the end itself would say the same, and an end at the start leaves no room for a gap.
    ends = spans.filter(f.col("stop") > f.col("start_offset")).withColumn("offset", f.col("stop"))
    order = Window.partitionBy("topic", "partition").orderBy("offset")
    before = f.coalesce(f.lag("offset").over(order), f.col("start_offset") - 1)
    jumps = inside.unionByName(ends).withColumn("before", before).filter(f.col("offset") > f.col("before") + 1)
    transactional = attempts.filter("txn IS NOT NULL").select("topic", "partition").distinct()
    told = jumps.join(transactional.withColumn("marked", f.lit(True)), on=["topic", "partition"], how="left")  # noqa: FBT003
    why = f.when(f.col("compact") | f.col("marked"), "explained").otherwise("unexplained")
    note = f.format_string("%d to %d", f.col("before") + 1, f.col("offset") - 1)
    return findings(
        told.withColumn("why", why).withColumn("range", note), "gap", ALLOWED,
        offset=f.col("before") + 1, detail="why", note="range",
    )  # fmt: skip
