"""aborted-read: what was refused or aborted is in a log of committed data, or was taken up as such."""

from __future__ import annotations

from typing import TYPE_CHECKING

from validate.checks.finding import VIOLATION, findings, firsts

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_KEYS = ["run_id", "producer", "in_topic", "in_partition", "seq", "attempt"]


def aborted_read(rows: DataFrame, taken: DataFrame | None) -> DataFrame:
    """One finding per record and attempt, at the first bad place."""
    columns = [*_KEYS, "topic", "partition", "offset", "s_txn"]
    bad = rows.filter("isolation = 'read_committed' AND (s_outcome = 'refused' OR s_txn_outcome = 'aborted')").select(
        *columns
    )
    if taken is not None:
        handed = taken.filter("isolation = 'read_committed' AND s_txn_outcome = 'aborted'").select(*columns)
        bad = bad.unionByName(handed)
    return findings(firsts(bad, _KEYS, "s_txn"), "aborted-read", VIOLATION, detail="s_txn")
