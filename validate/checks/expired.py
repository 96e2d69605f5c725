"""expired: acknowledged and gone by retention or compaction, as the topic's settings promise."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as f

from validate.checks.finding import ALLOWED, findings

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def expired(attempts: DataFrame) -> DataFrame:
    """One finding per attempt of class expired."""
    why = f.when(f.col("acked_offset") < f.col("start_offset"), "below the log's start").otherwise("compacted")
    return findings(attempts.filter("class = 'expired'"), "expired", ALLOWED, offset="acked_offset", note=why)
