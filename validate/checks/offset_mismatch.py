"""offset-mismatch: in the log once, in its own partition, at another offset than acknowledged."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as f

from validate.checks.finding import EXPECTED, findings, unless

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def offset_mismatch(attempts: DataFrame) -> DataFrame:
    """One finding per attempt, at the place where it is."""
    once = attempts.filter("outcome = 'acked' AND n_rows = n_own AND own_min = own_max")
    elsewhere = once.filter("acked_offset <> own_min")
    note = f.concat(f.lit("acknowledged at "), "acked_offset")
    return findings(elsewhere, "offset-mismatch", unless("weak", EXPECTED), offset="own_min", note=note)
