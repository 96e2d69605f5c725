"""stale-offset: acknowledged at or below an offset that had been acknowledged before this send began."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import Window
from pyspark.sql import functions as f

from validate.checks.finding import EXPECTED, findings, unless

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


_SHOWN = ["topic", "partition", "clock", "producer", "seq", "attempt", "weak"]
COLUMNS = [*_SHOWN, "outcome", "acked_offset", "invoked_at", "done_at"]


def stale_offset(attempts: DataFrame) -> DataFrame:
    """One finding per attempt; sends and reports of one partition and clock are laid out in time and walked once."""
    acked = attempts.filter("outcome = 'acked' AND acked_offset IS NOT NULL")
    named = acked.withColumn("offset", f.col("acked_offset"))
    columns = [*_SHOWN, "offset"]
    # At equal times the send comes first: it was not invoked after the report.
    sends = named.select(*columns, f.col("invoked_at").alias("at"), f.lit(0).alias("reported"))
    # A report before its own send is a broken clock, which proves nothing.
    reports = named.filter("done_at >= invoked_at").select(
        *columns, f.col("done_at").alias("at"), f.lit(1).alias("reported")
    )
    before = (
        Window.partitionBy("topic", "partition", "clock")
        .orderBy("at", "reported")
        .rowsBetween(Window.unboundedPreceding, -1)
    )
    report = f.when(f.col("reported") == 1, f.struct("offset", "weak"))
    walked = sends.unionByName(reports).withColumn("highest", f.max(report).over(before))
    stale = walked.filter("reported = 0 AND offset <= highest.offset")
    # The greatest (offset, weak) is a weak holder of the highest offset, if there is one.
    excused = f.col("weak") | f.col("highest.weak")
    note = f.concat(f.lit("acknowledged before: "), "highest.offset")
    return findings(stale, "stale-offset", unless(excused, EXPECTED), note=note)


def stale_uncompared(attempts: DataFrame) -> DataFrame:
    """Pairs of a send and a report in one partition that two clocks timed."""
    acked = attempts.filter("outcome = 'acked' AND acked_offset IS NOT NULL")
    by_clock = acked.groupBy("topic", "partition", "clock").agg(f.count("*").alias("n"), f.count("done_at").alias("m"))
    totals = by_clock.groupBy("topic", "partition").agg(
        (f.sum("n") * f.sum("m") - f.sum(f.col("n") * f.col("m"))).alias("pairs")
    )
    return totals.agg(f.coalesce(f.sum("pairs"), f.lit(0)).alias("pairs"))
