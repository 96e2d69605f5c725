"""outage: between two probes that ended ok there was one that did not, and none that did."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import Window
from pyspark.sql import functions as f

from validate.checks.finding import ALLOWED, VIOLATION, findings

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from pyspark.sql import Column, DataFrame

_SERIES = ["witness", "kind", "topic", "partition"]
Bounds = dict[tuple[str, str], float]
Spans = list[tuple[str, "datetime", "datetime | None"]]


def in_topics(topics: Sequence[str] | None) -> Column:
    """Where a scenario's bound holds; None is everywhere."""
    return f.lit(True) if topics is None else f.col("topic").isin(*topics)  # noqa: FBT003


def bound_of(bounds: Bounds, topics: Sequence[str] | None) -> Column:
    """The bound of each witness and kind in seconds, null where there is none."""
    value = f.lit(None).cast("double")
    for (witness, kind), seconds in bounds.items():
        here = (f.col("witness") == witness) & (f.col("kind") == kind) & in_topics(topics)
        value = f.when(here, f.lit(seconds)).otherwise(value)
    return value


def seconds(column: str) -> Column:
    return f.unix_micros(column) / f.lit(1e6)


def outages(probes: DataFrame) -> DataFrame:
    """Every interval from one ok to the next in which a probe was outstanding that did not end ok.

    Where no ok comes before, the first probe opens it; where none comes after, the last sign of life closes it.
    """
    series = [*_SERIES, "clock"]
    whole = Window.partitionBy(*series)
    # An ok without an end is taken as of its start: the latest moment that is known of it.
    seen = probes.withColumn("at", f.coalesce("done_at", "invoked_at")).withColumns(
        {"first": f.min("invoked_at").over(whole), "last": f.max(f.coalesce("done_at", "invoked_at")).over(whole)}
    )
    oks = seen.filter("outcome = 'ok'").select(*series, "at", "last")
    points = oks.unionByName(seen.select(*series, f.col("first").alias("at"), "last")).distinct()
    until = f.lead("at").over(whole.orderBy("at"))
    intervals = points.withColumn("next", until).select(
        *(f.col(name).alias(f"i_{name}") for name in series),
        f.col("at").alias("since"), f.coalesce("next", "last").alias("until"), f.col("next").isNull().alias("open"),
    )  # fmt: skip
    bad = seen.filter("outcome <> 'ok'")
    same = [bad[name].eqNullSafe(intervals[f"i_{name}"]) for name in series]
    began = (bad["invoked_at"] < intervals["until"]) | (intervals["open"] & (bad["invoked_at"] <= intervals["until"]))
    # A probe that never came back holds only the interval it was sent in.
    held = f.coalesce(bad["done_at"] > intervals["since"], bad["invoked_at"] >= intervals["since"])
    return (
        bad.join(intervals, on=[*same, began, held], how="inner")
        .groupBy(*series, "since", "until", "open")
        .agg(f.min("invoked_at").alias("bad_from"), f.max(f.least("at", "until")).alias("bad_to"))
    )


def outage(probes: DataFrame, bounds: Bounds, topics: Sequence[str] | None, faults: Spans) -> DataFrame:
    """One finding per witness, kind and partition: its longest outage, with [low, high] and the faults of that time."""
    low = f.greatest(
        f.lit(0.0), f.least(seconds("bad_to"), seconds("until")) - f.greatest(seconds("bad_from"), seconds("since"))
    )
    each = outages(probes).withColumns({"high": seconds("until") - seconds("since"), "low": low})
    longest = each.groupBy(*_SERIES).agg(
        f.count("*").alias("times"),
        f.max(f.struct("high", "low", "since", "until", "open")).alias("worst"),
    )
    flat = longest.select(*_SERIES, "times", "worst.*").withColumn("bound", bound_of(bounds, topics))
    tags = [
        f.when((f.col("until") >= f.lit(begin)) & (f.lit(end).isNull() | (f.col("since") <= f.lit(end))), name)
        for name, begin, end in faults
    ]
    tag = f.concat_ws(", ", *tags) if tags else f.lit("")
    over = f.when(f.col("high") > f.col("bound"), VIOLATION).otherwise(ALLOWED)
    detail = f.format_string("%s %s [%.3f s, %.3f s] %s", "witness", "kind", "low", "high", tag)
    state = f.when(f.col("open"), "not over at the last probe").otherwise("over")
    note = f.format_string("%d in all, the longest from %s, %s", "times", f.col("since").cast("string"), state)
    shaped = flat.withColumns({"said": over, "what": f.rtrim(detail), "more": note})
    return findings(shaped, "outage", f.col("said"), detail="what", note="more")
