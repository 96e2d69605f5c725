"""lost: acknowledged, not withdrawn, not expired, and nowhere in the log."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as f

from validate.checks.finding import EXPECTED, PLACE, findings, unless

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def lost(attempts: DataFrame, rows: DataFrame) -> DataFrame:
    """One finding per lost attempt; `detail` says what is at the place where it was acknowledged."""
    gone = attempts.filter("class = 'lost'").withColumn("offset", f.col("acked_offset"))
    taken = rows.select(*PLACE).distinct().withColumn("taken", f.lit(True))  # noqa: FBT003
    there = gone.join(taken, on=PLACE, how="left")
    detail = (
        f.when(f.col("offset").isNull(), "unplaced")
        .when(f.col("offset") >= f.col("end_offset"), "truncated")
        .when(f.col("taken"), "replaced")
        .otherwise("hole")
    )
    return findings(there, "lost", unless("weak", EXPECTED), detail=detail)
