"""withdrawn: acknowledged inside a transaction that did not commit for sure, and absent."""

from __future__ import annotations

from typing import TYPE_CHECKING

from validate.checks.finding import ALLOWED, findings

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def withdrawn(attempts: DataFrame) -> DataFrame:
    """One finding per attempt of class withdrawn."""
    gone = attempts.filter("class = 'withdrawn'")
    return findings(gone, "withdrawn", ALLOWED, offset="acked_offset", detail="txn", note="txn_outcome")
