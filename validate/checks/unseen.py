"""unseen: in the log, and a group that claims the topic neither took it up nor committed past it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as f

from validate.checks.finding import ALLOWED, VIOLATION, findings, firsts
from validate.checks.frames import RECORD_KEYS, as_records, readable_by
from validate.checks.unread import unread

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def unseen(
    rows: DataFrame, claims: DataFrame, positions: DataFrame, taken: DataFrame | None, *, healed: bool
) -> DataFrame:
    """One finding per group and record. `claims` has group, topic and from_first; before healing it is allowed."""
    claimed = rows.join(f.broadcast(claims), on="topic", how="inner").join(
        f.broadcast(positions), on=["group", "topic", "partition"], how="left"
    )
    claimed = claimed.withColumn("reads_committed", f.coalesce("reads_committed", f.lit(True)))  # noqa: FBT003
    # A group that claims from its first position and has none yet claims nothing of that partition.
    since = ~f.col("from_first") | f.coalesce(f.col("offset") >= f.col("start"), f.lit(False))  # noqa: FBT003
    open_end = f.coalesce(f.col("committed") <= f.col("offset"), f.lit(True))  # noqa: FBT003
    waiting = unread(readable_by(claimed.filter(since & open_end)), taken)
    once = firsts(as_records(waiting), ["group", *RECORD_KEYS], "topic", "partition")
    return findings(once, "unseen", VIOLATION if healed else ALLOWED, detail="group")
