"""poll-skip: a member was handed the next record but one although the one between is in the log."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as f

from validate.checks.finding import VIOLATION, findings, firsts
from validate.checks.frames import readable_by

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

# A jump looks for skipped rows in blocks of this many offsets, so that the join has equal keys. Most jumps are the
# one or two offsets of a transaction's markers; small blocks keep a jump from meeting rows it does not span.
_BLOCK = 64


def poll_skip(taken: DataFrame, rows: DataFrame, positions: DataFrame) -> DataFrame:
    """One finding per jump: where the first skipped record is, and in `detail` how many were skipped."""
    jump = ["group", "member", "assignment", "position", "topic", "partition", "prev_offset", "next_offset"]
    jumps = (
        taken.filter(f.col("offset") > f.col("prev_offset") + 1)
        .withColumn("next_offset", f.col("offset"))
        .select(*jump)
        .distinct()
    )
    reads = positions.groupBy("group").agg(f.max("reads_committed").alias("reads_committed"))
    blocks = f.sequence(f.expr(f"(prev_offset + 1) div {_BLOCK}"), f.expr(f"(next_offset - 1) div {_BLOCK}"))
    spread = jumps.join(f.broadcast(reads), on="group", how="inner").withColumn("block", f.explode(blocks))
    marks = ["producer", "seq", "attempt", "isolation", "txn_outcome"]
    there = rows.select("topic", "partition", "offset", *marks).withColumn("block", f.expr(f"offset div {_BLOCK}"))
    between = (f.col("offset") > f.col("prev_offset")) & (f.col("offset") < f.col("next_offset"))
    skipped = readable_by(spread.join(there, on=["topic", "partition", "block"], how="inner").filter(between))
    number = skipped.groupBy(*jump).agg(f.count_distinct("offset").alias("number"))
    first = firsts(skipped, jump).join(number, on=jump, how="inner")
    note = f.format_string("%s/%s: from %d to %d", "group", "member", "prev_offset", "next_offset")
    return findings(first, "poll-skip", VIOLATION, detail="number", note=note)
