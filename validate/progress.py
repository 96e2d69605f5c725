"""Bounds on progress: a dead or trickling workload must not pass."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from pyspark.sql import functions as f

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pyspark.sql import Column, DataFrame

    from validate.ledger.read import Fault

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Phase:
    """A stretch of the run: before, during or after its faults."""

    name: str
    since: datetime
    until: datetime

    @property
    def length_s(self) -> float:
        return max(0.0, (self.until - self.since).total_seconds())


def phases(first: datetime, last: datetime, faults: Iterable[Fault]) -> list[Phase]:
    """Before, during and after the faults; one phase where there was none."""
    known = list(faults)
    bites = [x.at for x in known if x.phase == "bit"] or [x.at for x in known if x.phase == "begin"]
    if not bites:
        return [Phase("run", first, last)]
    bite = min(bites)
    heals = [x.at for x in known if x.phase == "healed"]
    heal = max(heals, default=max(bite, last))
    return [Phase("before", first, bite), Phase("during", bite, heal), Phase("after", heal, last)]


def shortfalls(sent: DataFrame, bounds: DataFrame, faults: list[Fault], least: dict[str, Any]) -> list[str]:
    """What was missed, in words; empty if the workload was alive throughout."""
    if not least:
        return []
    ended = f.coalesce("done_at", "invoked_at")
    # Whole microseconds: a time handed out as a datetime would come in this machine's zone.
    edges = sent.agg(f.unix_micros(f.min("invoked_at")).alias("first"), f.unix_micros(f.max(ended)).alias("last"))
    edge = edges.collect()[0]
    if edge["first"] is None:
        return ["progress: nothing was sent"]
    spans = phases(_at(edge["first"]), _at(edge["last"]), faults)
    missed = [
        f"progress: phase {phase.name} lasted {phase.length_s:.1f} s, the least is {least['phase_s']} s"
        for phase in spans
        if phase.length_s < least.get("phase_s", 0)
    ]
    if least.get("acked_per_partition"):
        missed += _idle(sent, bounds, spans, least)
    if least.get("in_flight_at_bite"):
        missed += _calm(sent, faults, least["in_flight_at_bite"])
    return missed


def _idle(sent: DataFrame, bounds: DataFrame, spans: list[Phase], least: dict[str, Any]) -> list[str]:
    """Partitions that acked too little in a phase. `serving` names those that must serve while the fault lasts."""
    at = f.coalesce("done_at", "invoked_at")
    by = ["topic", "partition"]
    acked = sent.filter("outcome = 'acked'").groupBy(*by).agg(
        *(f.count_if((at >= f.lit(p.since)) & (_before_end(at, p, spans))).alias(p.name) for p in spans)
    )  # fmt: skip
    topics = sent.select("topic").distinct()
    partitions = bounds.select(*by).unionByName(sent.select(*by)).join(topics, on="topic", how="left_semi").distinct()
    rows = partitions.join(acked, on=by, how="left").orderBy(*by).collect()
    serving = least.get("serving")
    missed = []
    for row in rows:
        for phase in spans:
            waits = phase.name == "during" and serving is not None
            if waits and row["partition"] not in (serving or {}).get(row["topic"], ()):
                continue
            seen = row[phase.name] or 0
            if seen < least["acked_per_partition"]:
                missed.append(
                    f"progress: {row['topic']}/{row['partition']} acked {seen} in phase {phase.name},"
                    f" the least is {least['acked_per_partition']}"
                )
    return missed


def _before_end(at: Column, phase: Phase, spans: list[Phase]) -> Column:
    """The last phase holds its own end, the others leave it to the next."""
    return at <= f.lit(phase.until) if phase is spans[-1] else at < f.lit(phase.until)


def _calm(sent: DataFrame, faults: list[Fault], least: int) -> list[str]:
    """Faults that bit while too little was in flight."""
    bites = [x for x in faults if x.phase == "bit"]
    if not bites:
        return []
    open_still = [
        f.count_if(
            (f.col("invoked_at") <= f.lit(x.at)) & f.coalesce(f.col("done_at") > f.lit(x.at), f.lit(True))  # noqa: FBT003
        ).alias(f"b{i}")
        for i, x in enumerate(bites)
    ]
    row = sent.agg(*open_still).collect()[0]
    return [
        f"progress: {row[i]} sends were in flight when {x.fault} of {x.target} bit, the least is {least}"
        for i, x in enumerate(bites)
        if row[i] < least
    ]


def _at(micros: int) -> datetime:
    return _EPOCH + timedelta(microseconds=micros)
