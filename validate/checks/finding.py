"""What every check returns, and the few words all checks share."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f

VIOLATION, EXPECTED, ALLOWED = "violation", "expected", "allowed"
VERDICTS = (VIOLATION, EXPECTED, ALLOWED)

# `detail` holds the contract's own words, so that programs may compare it; `note` is for people.
FINDING = ("anomaly", "verdict", "topic", "partition", "producer", "seq", "attempt", "offset", "detail", "note")

RECORD = ["run_id", "producer", "topic", "partition", "seq"]
ATTEMPT = [*RECORD, "attempt"]
PLACE = ["topic", "partition", "offset"]

_KINDS = {
    "topic": "string",
    "partition": "bigint",
    "producer": "string",
    "seq": "bigint",
    "attempt": "bigint",
    "offset": "bigint",
    "detail": "string",
    "note": "string",
}


def findings(frame: DataFrame, anomaly: str, verdict: str | Column, **columns: str | Column | None) -> DataFrame:
    """Shape rows into findings: a column is taken by its own name unless it is named here; None leaves it null."""

    def column(name: str) -> Column:
        source = columns.get(name, name if name in frame.columns else None)
        if source is None:
            return f.lit(None).cast(_KINDS[name]).alias(name)
        return (f.col(source) if isinstance(source, str) else source).cast(_KINDS[name]).alias(name)

    said = f.lit(verdict) if isinstance(verdict, str) else verdict
    return frame.select(f.lit(anomaly).alias("anomaly"), said.alias("verdict"), *map(column, FINDING[2:]))


def unless(excused: str | Column, otherwise: str) -> Column:
    """`otherwise` where the excuse holds, else a violation."""
    test = f.col(excused) if isinstance(excused, str) else excused
    return f.when(test, otherwise).otherwise(VIOLATION)


def firsts(frame: DataFrame, keys: list[str], *carry: str) -> DataFrame:
    """One row per `keys`: the first in (topic, partition, seq, offset) order, with what it carries."""
    order = ["topic", "partition", "seq", "offset", "attempt", "producer"]
    rest = [name for name in dict.fromkeys((*order, *carry)) if name not in keys]
    first = f.min(f.struct(*rest)).alias("first")
    return frame.groupBy(*keys).agg(first).select(*keys, *(f.col(f"first.{name}").alias(name) for name in rest))
