"""effect-missing and effect-repeated: what a consumer made of its input, none or more than once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as f

from validate.checks.finding import PLACE, VIOLATION, findings, firsts
from validate.checks.frames import RECORD_KEYS, as_records, readable_by
from validate.checks.unread import visible_effects

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_BY = ["group", "sink"]


def effect_missing(rows: DataFrame, positions: DataFrame, effects: DataFrame) -> DataFrame:
    """Committed past it, and no visible effect: one finding per group, sink and record."""
    sinks = effects.select(*_BY).distinct()
    spans = positions.filter("committed IS NOT NULL").join(sinks, on="group", how="inner")
    # A group whose start nobody recorded answers for everything below its commit.
    passed = rows.join(f.broadcast(spans), on=["topic", "partition"], how="inner").filter(
        (f.col("offset") < f.col("committed")) & f.coalesce(f.col("offset") >= f.col("start"), f.lit(True))  # noqa: FBT003
    )
    done = visible_effects(effects).select(*_BY, *PLACE).distinct()
    bare = readable_by(passed).join(done, on=[*_BY, *PLACE], how="left_anti")
    once = firsts(as_records(bare), [*_BY, *RECORD_KEYS], "topic", "partition")
    return findings(once, "effect-missing", VIOLATION, detail=f.concat_ws("/", *_BY))


def effect_repeated(rows: DataFrame, positions: DataFrame | None, effects: DataFrame) -> DataFrame:
    """Two visible effects of one input: one finding per group, sink and record."""
    counted = visible_effects(effects).groupBy(*_BY, *PLACE).agg(f.count("*").alias("times")).filter("times > 1")
    marks = ["run_id", "producer", "seq", "attempt", "in_topic", "in_partition", "ours", "isolation", "txn_outcome"]
    known = counted.join(rows.select(*PLACE, *marks), on=PLACE, how="left")
    if positions is not None:
        reads = positions.groupBy("group").agg(f.max("reads_committed").alias("reads_committed"))
        known = known.join(f.broadcast(reads), on="group", how="left")
    else:
        known = known.withColumn("reads_committed", f.lit(None).cast("boolean"))
    # An input that has left the log is not known to be of an open transaction.
    known = known.withColumns(
        {
            "txn_outcome": f.coalesce("txn_outcome", f.lit("none")),
            "reads_committed": f.coalesce("reads_committed", f.lit(False)),  # noqa: FBT003
            "ours": f.coalesce("ours", f.lit(False)),  # noqa: FBT003
        }
    )
    once = firsts(as_records(readable_by(known)), [*_BY, *RECORD_KEYS], "topic", "partition", "times")
    return findings(once, "effect-repeated", VIOLATION, detail=f.concat_ws("/", *_BY), note="times")
