"""duplicated: one attempt at several offsets of its own partition."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import Window
from pyspark.sql import functions as f

from validate.checks.finding import ALLOWED, ATTEMPT, findings, unless

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def duplicated(rows: DataFrame, attempts: DataFrame) -> DataFrame:
    """One finding per extra copy. Only an idempotent producer promises that there is none."""
    # Most attempts are there once: those are left out before anything is sorted.
    single = attempts.filter("n_rows = 1").select(*ATTEMPT)
    copies = rows.filter("covered AND own").select(*ATTEMPT, "offset", "s_idempotent").distinct()
    several = copies.join(single, on=ATTEMPT, how="left_anti")
    earlier = Window.partitionBy(*ATTEMPT).orderBy("offset")
    extra = several.withColumn("copy", f.row_number().over(earlier)).filter("copy > 1")
    # Without a sent row nobody knows whether its producer was idempotent.
    promised = f.coalesce("s_idempotent", f.lit(False))  # noqa: FBT003
    return findings(extra, "duplicated", unless(~promised, ALLOWED))
