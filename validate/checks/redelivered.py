"""redelivered: a group took the same place up again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import Window
from pyspark.sql import functions as f

from validate.checks.finding import ALLOWED, findings

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def redelivered(delivered: DataFrame) -> DataFrame:
    """One finding per extra take-up."""
    order = Window.partitionBy("group", "topic", "partition", "offset").orderBy(
        "polled_at", "member", "assignment", "position"
    )
    again = delivered.withColumn("time", f.row_number().over(order)).filter("time > 1")
    return findings(again, "redelivered", ALLOWED, detail="group", note=f.concat(f.lit("by "), "member"))
