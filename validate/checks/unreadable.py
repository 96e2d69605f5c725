"""unreadable: the final read of a partition broke off."""

from __future__ import annotations

from typing import TYPE_CHECKING

from validate.checks.finding import VIOLATION, findings

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def unreadable(bounds: DataFrame) -> DataFrame:
    """One finding per partition, at the offset where the read stopped."""
    return findings(bounds.filter("read_to IS NOT NULL"), "unreadable", VIOLATION, offset="read_to")
