"""resent: two attempts of one record are both in the log."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as f

from validate.checks.finding import ALLOWED, findings

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_RECORD = ["run_id", "producer", "in_topic", "in_partition", "seq"]


def resent(rows: DataFrame) -> DataFrame:
    """One finding per attempt beyond the lowest that is present."""
    each = rows.filter("covered").groupBy(*_RECORD, "attempt").agg(f.min("offset").alias("offset"))
    lowest = each.groupBy(*_RECORD).agg(f.min("attempt").alias("lowest"))
    later = each.join(lowest, on=_RECORD, how="inner").filter("attempt > lowest")
    return findings(later, "resent", ALLOWED, topic="in_topic", partition="in_partition")
