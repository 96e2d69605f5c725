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
from validate.checks.stale_offset import COLUMNS as STALE_COLUMNS
from validate.checks.table import Frames
from validate.first_pass import only, without
from validate.ledger.read import SPARK_TYPE
from validate.ledger.schema import REQUIRED, TABLES

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from pyspark.sql import DataFrame, SparkSession

    from validate.expect import Expectation
    from validate.first_pass import Settled
    from validate.ledger.read import Fault, Ledger
    from validate.stats import Counted


def empty(spark: SparkSession, table: str) -> DataFrame:
    """A table without rows, in place of one that is not there."""
    fields = [t.StructField(column.name, SPARK_TYPE[column.kind]) for column in TABLES[table]]
    return spark.createDataFrame([], t.StructType(fields))


def build(
    spark: SparkSession,
    ledger: Ledger,
    counted: Counted,
    expectation: Expectation,
    settled: Settled,
    all_sent: DataFrame | None,
) -> Frames:
    """Join what belongs together, once; `attempts` and `rows` are kept, since nearly every check reads them."""
    tables = ledger.tables
    unclean = expectation.unclean
    facts = Facts(tuple(counted.run_ids), counted.tombstones, counted.compacted)
    # Unions leave many small partitions behind, and every check would start a task for each.
    parts = int(spark.conf.get("spark.sql.shuffle.partitions") or 1)

    def kept(frame: DataFrame) -> DataFrame:
        """Computed once, and without a past: else Spark would analyse the whole way here again for every check."""
        return frame.coalesce(parts).localCheckpoint(eager=False)

    endings = kept(endings_of(tables["transactions"])) if ledger.has("transactions") else None
    needed = {name: tables[name] if ledger.has(name) else empty(spark, name) for name in REQUIRED}
    bounds = kept(bounds_of(needed["log_bounds"]))
    sent, log = marked_sent(needed["sent"], endings, unclean), needed["log"]
    rows = kept(traced_rows(named_log(log, sent, facts), sent, tables.get("reservations"), bounds, unclean))
    # Where no log was read nobody knows what is absent: without bounds every absence is undecided.
    limits = bounds if ledger.has("log") else bounds.limit(0)
    attempts = kept(judged_attempts(sent, rows, limits, facts))
    timed = attempts.select(*STALE_COLUMNS)
    if settled.untimed and all_sent is not None:
        slow = marked_sent(only(all_sent, settled.untimed), endings, unclean)
        timed = timed.unionByName(slow.select(*STALE_COLUMNS))
    taken = kept(taken_up(tables["delivered"], rows, sent)) if ledger.has("delivered") else None
    commits = kept(effective_commits(tables["commits"], endings)) if ledger.has("commits") else None
    claims = _claims(spark, expectation)
    positions = positions_of(tables.get("delivered"), tables.get("group_starts"), commits)
    if positions is not None:
        positions = kept(positions)
    elif claims is not None:
        positions = _no_positions(spark)
    healed = all(end is not None for _, _, end in fault_spans(ledger.faults))
    return Frames(
        has=frozenset(tables),
        attempts=attempts,
        rows=rows,
        bounds=bounds,
        timed=timed,
        open_bounds=without(bounds, settled.partitions),
        tables=tables,
        endings=endings,
        taken=taken,
        positions=positions,
        commits=commits,
        effects=kept(ended(tables["effects"], endings)) if ledger.has("effects") else None,
        claims=claims,
        unclean=unclean,
        outage_bounds=_outage_bounds(expectation),
        outage_topics=expectation.outage_topics,
        fault_spans=fault_spans(ledger.faults),
        healed=healed,
        healed_at=max((x.at for x in ledger.faults if x.phase == "healed"), default=None) if healed else None,
    )


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
