"""unacked-read and unacked-absent: nobody knows whether it was written; the log says it was, or was not."""

from __future__ import annotations

from typing import TYPE_CHECKING

from validate.checks.finding import ALLOWED, findings, firsts

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_KEYS = ["run_id", "producer", "in_topic", "in_partition", "seq", "attempt"]


def unacked_read(rows: DataFrame) -> DataFrame:
    """Outcome unknown, or reserved without any report, and in the log: one finding per record and attempt."""
    there = rows.filter("s_outcome = 'unknown' OR (covered AND NOT known)")
    return findings(firsts(there, _KEYS), "unacked-read", ALLOWED)


def unacked_absent(attempts: DataFrame) -> DataFrame:
    """Outcome unknown, and not in the log."""
    return findings(attempts.filter("outcome = 'unknown' AND n_rows IS NULL"), "unacked-absent", ALLOWED)
