"""lost-in-delivery: the group committed past a record that none of its members took up."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as f

from validate.checks.finding import VIOLATION, findings, firsts
from validate.checks.frames import RECORD_KEYS, as_records, readable_by
from validate.checks.unread import unread

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def lost_in_delivery(rows: DataFrame, positions: DataFrame, taken: DataFrame | None) -> DataFrame:
    """One finding per group and record between the group's start and its commit."""
    spans = positions.filter("start IS NOT NULL AND committed IS NOT NULL")
    passed = rows.join(f.broadcast(spans), on=["topic", "partition"], how="inner").filter(
        (f.col("offset") >= f.col("start")) & (f.col("offset") < f.col("committed"))
    )
    skipped = unread(readable_by(passed), taken)
    once = firsts(as_records(skipped), ["group", *RECORD_KEYS], "topic", "partition")
    return findings(once, "lost-in-delivery", VIOLATION, detail="group")
