"""precommitted-read: a consumer of committed data took a record up before its commit was even asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as f

from validate.checks.finding import VIOLATION, findings, firsts

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_RECORD = ["run_id", "producer", "in_topic", "in_partition", "seq"]


def transactional_takes(taken: DataFrame, endings: DataFrame) -> DataFrame:
    """Deliveries of committed data beside the commit of their transaction, with `one_clock`."""
    handed = taken.filter("isolation = 'read_committed' AND s_txn IS NOT NULL")
    commits = endings.filter("commit_invoked_at IS NOT NULL").select(
        f.col("txn").alias("s_txn"), "commit_invoked_at", "txn_clock"
    )
    return handed.join(f.broadcast(commits), on="s_txn", how="inner").withColumn(
        "one_clock", f.col("clock").eqNullSafe(f.col("txn_clock"))
    )


def precommitted_read(taken: DataFrame, endings: DataFrame) -> DataFrame:
    """One finding per group and record; only times of one clock are compared."""
    early = transactional_takes(taken, endings).filter("one_clock AND polled_at < commit_invoked_at")
    once = firsts(early, ["group", *_RECORD], "topic", "partition", "s_txn")
    return findings(once, "precommitted-read", VIOLATION, detail="s_txn", note="group")


def precommitted_uncompared(taken: DataFrame, endings: DataFrame) -> DataFrame:
    """How many pairs were skipped because two machines' clocks took the times."""
    skipped = transactional_takes(taken, endings).filter("NOT one_clock")
    return skipped.agg(f.count("*").alias("pairs"))
