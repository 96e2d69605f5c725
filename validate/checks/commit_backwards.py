"""commit-backwards: within one assignment a member's committed position fell."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import Window
from pyspark.sql import functions as f

from validate.checks.finding import VIOLATION, findings

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def walked(effective: DataFrame) -> DataFrame:
    """Each commit with the one just before it of the same member and assignment, and whether one clock timed both."""
    order = Window.partitionBy("group", "member", "assignment", "topic", "partition").orderBy("committed_at", "offset")
    named = effective.filter("member IS NOT NULL AND assignment IS NOT NULL")
    return named.withColumns(
        {"before": f.lag("offset").over(order), "clock_before": f.lag(f.struct("clock")).over(order)}
    ).withColumn("one_clock", f.col("clock_before.clock").eqNullSafe(f.col("clock")))


def commit_backwards(effective: DataFrame) -> DataFrame:
    """One finding per fall between commits that took effect."""
    falls = walked(effective).filter("offset < before AND one_clock")
    note = f.format_string("%s had committed %d before", "member", "before")
    return findings(falls, "commit-backwards", VIOLATION, detail="group", note=note)


def commit_uncompared(effective: DataFrame) -> DataFrame:
    """How many neighbouring commits two clocks timed."""
    return walked(effective).filter("before IS NOT NULL AND NOT one_clock").agg(f.count("*").alias("pairs"))
