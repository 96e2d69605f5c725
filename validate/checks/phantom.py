"""phantom: a log row with this run's marks that nobody sent and nobody reserved."""

from __future__ import annotations

from typing import TYPE_CHECKING

from validate.checks.finding import VIOLATION, findings, firsts

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_KEYS = ["run_id", "producer", "in_topic", "in_partition", "seq", "attempt"]


def phantom(rows: DataFrame) -> DataFrame:
    """One finding per record and attempt, at its first place."""
    nobodys = firsts(rows.filter("ours AND NOT covered"), _KEYS)
    return findings(nobodys, "phantom", VIOLATION)
