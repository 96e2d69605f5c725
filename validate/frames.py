"""From an opened ledger to the frames that the checks read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import types as t

from validate.checks.frames import (
    Facts,
    bounds_of,
    effective_commits,
    ended,
    endings_of,
    judged_attempts,
    marked_sent,
    named_log,
    positions_of,
    taken_up,
    traced_rows,
)
from validate.checks.table import Frames
from validate.ledger.read import SPARK_TYPE
from validate.ledger.schema import TABLES

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from pyspark.sql import DataFrame, SparkSession

    from validate.expect import Expectation
    from validate.ledger.read import Fault, Ledger
    from validate.stats import Counted


def empty(spark: SparkSession, table: str) -> DataFrame:
    """A table without rows, in place of one that is not there."""
    fields = [t.StructField(column.name, SPARK_TYPE[column.kind]) for column in TABLES[table]]
    return spark.createDataFrame([], t.StructType(fields))


def build(spark: SparkSession, ledger: Ledger, counted: Counted, expectation: Expectation) -> Frames:
    """Join what belongs together, once; `attempts` and `rows` are kept, since nearly every check reads them."""
    tables = ledger.tables
    unclean = expectation.unclean
    facts = Facts(tuple(counted.run_ids), counted.tombstones, counted.compacted)
    endings = endings_of(tables["transactions"]) if ledger.has("transactions") else None
    log_bounds = tables.get("log_bounds")
    bounds = bounds_of(log_bounds if log_bounds is not None else empty(spark, "log_bounds"))
    sent = marked_sent(tables["sent"] if ledger.has("sent") else empty(spark, "sent"), endings, unclean)
    log = tables["log"] if ledger.has("log") else empty(spark, "log")
    rows = traced_rows(named_log(log, sent, facts), sent, tables.get("reservations"), bounds, unclean).persist()
    # Where no log was read nobody knows what is absent: without bounds every absence is undecided.
    limits = bounds if ledger.has("log") else bounds.limit(0)
    attempts = judged_attempts(sent, rows, limits, facts).persist()
    taken = taken_up(tables["delivered"], rows, sent).persist() if ledger.has("delivered") else None
    commits = effective_commits(tables["commits"], endings) if ledger.has("commits") else None
    claims = _claims(spark, expectation)
    positions = positions_of(tables.get("delivered"), tables.get("group_starts"), commits)
    if positions is None and claims is not None:
        positions = _no_positions(spark)
    return Frames(
        has=frozenset(tables),
        attempts=attempts,
        rows=rows,
        bounds=bounds,
        tables=tables,
        endings=endings,
        taken=taken,
        positions=positions,
        commits=commits,
        effects=ended(tables["effects"], endings) if ledger.has("effects") else None,
        claims=claims,
        unclean=unclean,
        outage_bounds=_outage_bounds(expectation),
        outage_topics=expectation.outage_topics,
        fault_spans=fault_spans(ledger.faults),
        healed=all(end is not None for _, _, end in fault_spans(ledger.faults)),
        healed_at=max((x.at for x in ledger.faults if x.phase == "healed"), default=None),
    )


def release(frames: Frames) -> None:
    """Give back what was kept, so that a long-lived session does not fill up."""
    for frame in (frames.attempts, frames.rows, frames.taken):
        if frame is not None:
            frame.unpersist()


def fault_spans(faults: Sequence[Fault]) -> list[tuple[str, datetime, datetime | None]]:
    """Each fault from its begin to its healing; None where it was never healed."""
    spans: list[tuple[str, datetime, datetime | None]] = []
    begun: dict[tuple[str, str], datetime] = {}
    for x in faults:
        key = (x.fault, x.target)
        if x.phase == "healed":
            spans.append((f"{x.fault} {x.target}", begun.pop(key, x.at), x.at))
        else:
            begun.setdefault(key, x.at)
    spans.extend((f"{fault} {target}", begin, None) for (fault, target), begin in begun.items())
    return sorted(spans, key=lambda span: span[1])


def _claims(spark: SparkSession, expectation: Expectation) -> DataFrame | None:
    rows = [
        (claim.group, topic, claim.start == "first-position") for claim in expectation.claims for topic in claim.topics
    ]
    if not rows:
        return None
    return spark.createDataFrame(rows, "group string, topic string, from_first boolean")


def _no_positions(spark: SparkSession) -> DataFrame:
    return spark.createDataFrame(
        [], "group string, topic string, partition bigint, start bigint, committed bigint, reads_committed boolean"
    )


def _outage_bounds(expectation: Expectation) -> dict[tuple[str, str], float]:
    bounds = {}
    for witness in ("fresh", "running"):
        for kind in ("write", "read"):
            bound = expectation.bound_s(witness, kind)
            if bound is not None:
                bounds[witness, kind] = bound
    return bounds
