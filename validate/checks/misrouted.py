"""misrouted: the value says it was meant for another topic or partition."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as f

from validate.checks.finding import VIOLATION, findings, firsts

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_KEYS = ["run_id", "producer", "in_topic", "in_partition", "seq", "attempt"]


def misrouted(rows: DataFrame) -> DataFrame:
    """One finding per record and attempt, at the first wrong place."""
    astray = firsts(rows.filter("ours AND NOT own"), _KEYS)
    note = f.format_string("meant for %s/%d", "in_topic", "in_partition")
    return findings(astray, "misrouted", VIOLATION, note=note)
