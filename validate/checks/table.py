"""The table of anomalies: which check finds each, what it reads, and what a finding means to a reader."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from validate.checks import (
    aborted_read,
    commit_backwards,
    corrupt,
    duplicated,
    effects,
    expired,
    gap,
    inconsistent_offset,
    lost,
    lost_in_delivery,
    misrouted,
    offset_mismatch,
    outage,
    phantom,
    poll_backwards,
    poll_skip,
    precommitted_read,
    redelivered,
    reordered,
    replica_divergence,
    resent,
    stale_offset,
    stuck,
    torn_transaction,
    unacked,
    unreadable,
    unseen,
    watermark_backwards,
    withdrawn,
)

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from pyspark.sql import DataFrame


@dataclass(frozen=True)
class Frames:
    """Everything a check may read. A frame whose table is not in the ledger is None; `has` names what there is."""

    has: frozenset[str]
    attempts: DataFrame
    rows: DataFrame
    timed: DataFrame  # attempts whose times are compared: more than `attempts` if the first pass settled all but those
    bounds: DataFrame
    open_bounds: DataFrame  # without the partitions that the first pass settled: their rows are not here
    tables: dict[str, DataFrame]
    endings: DataFrame | None = None
    taken: DataFrame | None = None
    positions: DataFrame | None = None
    commits: DataFrame | None = None
    effects: DataFrame | None = None
    claims: DataFrame | None = None
    unclean: tuple[str, ...] = ()
    outage_bounds: outage.Bounds = field(default_factory=dict)
    outage_topics: list[str] | None = None
    fault_spans: outage.Spans = field(default_factory=list)
    healed: bool = True
    healed_at: datetime | None = None
    seen: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Check:
    """One anomaly. `find` returns None where the ledger or the expectation gives it nothing to judge."""

    anomaly: str
    needs: tuple[str, ...]
    find: Callable[[Frames], DataFrame | None]
    means: str
    when: tuple[str, ...] = ()  # what must have been counted (validate/tally.py) for it to find anything; (): always


def _unseen(x: Frames) -> DataFrame | None:
    if x.claims is None or x.positions is None:
        return None
    return unseen.unseen(x.rows, x.claims, x.positions, x.taken, healed=x.healed)


def _lost_in_delivery(x: Frames) -> DataFrame | None:
    return None if x.positions is None else lost_in_delivery.lost_in_delivery(x.rows, x.positions, x.taken)


def _effect_missing(x: Frames) -> DataFrame | None:
    if x.effects is None or x.positions is None:
        return None
    return effects.effect_missing(x.rows, x.positions, x.effects)


def _effect_repeated(x: Frames) -> DataFrame | None:
    return None if x.effects is None else effects.effect_repeated(x.rows, x.positions, x.effects)


def _aborted_read(x: Frames) -> DataFrame | None:
    # Deliveries may name aborted records that are in no log, which no count of log rows shows.
    if not x.seen.get("barred", 1) and (x.taken is None or x.endings is None):
        return None
    return aborted_read.aborted_read(x.rows, x.taken)


def _poll_skip(x: Frames) -> DataFrame | None:
    if x.taken is None or x.positions is None:
        return None
    return poll_skip.poll_skip(x.taken, x.rows, x.positions)


def _poll_backwards(x: Frames) -> DataFrame | None:
    return None if x.taken is None else poll_backwards.poll_backwards(x.taken, x.unclean)


def _precommitted_read(x: Frames) -> DataFrame | None:
    if x.taken is None or x.endings is None:
        return None
    return precommitted_read.precommitted_read(x.taken, x.endings)


def _commit_backwards(x: Frames) -> DataFrame | None:
    return None if x.commits is None else commit_backwards.commit_backwards(x.commits)


def _outage(x: Frames) -> DataFrame | None:
    return outage.outage(x.tables["probes"], x.outage_bounds, x.outage_topics, x.fault_spans)


def _replica_divergence(x: Frames) -> DataFrame | None:
    return replica_divergence.replica_divergence(x.tables["replicas"], x.bounds)


def _watermark_backwards(x: Frames) -> DataFrame | None:
    return watermark_backwards.watermark_backwards(x.tables["watermarks"], x.unclean)


def _stuck(x: Frames) -> DataFrame | None:
    if x.healed_at is None or not x.outage_bounds:
        return None
    return stuck.stuck(x.tables["probes"], x.outage_bounds, x.outage_topics, x.healed_at)


_JOIN = ("sent", "log")

CHECKS: tuple[Check, ...] = (
    Check("lost", _JOIN, lambda x: lost.lost(x.attempts, x.rows), "acknowledged, and gone", ("lost",)),
    Check(
        "expired",
        _JOIN,
        lambda x: expired.expired(x.attempts),
        "gone by retention or compaction, as promised",
        ("expired",),
    ),
    Check(
        "withdrawn",
        _JOIN,
        lambda x: withdrawn.withdrawn(x.attempts),
        "gone with a transaction that did not commit",
        ("withdrawn",),
    ),
    Check("unseen", _JOIN, _unseen, "in the log, but the group that claims it never took it up"),
    Check(
        "lost-in-delivery", (*_JOIN, "commits"), _lost_in_delivery, "the group committed past it without working on it"
    ),
    Check(
        "duplicated",
        _JOIN,
        lambda x: duplicated.duplicated(x.rows, x.attempts),
        "one send, several copies",
        ("several", "unreported"),
    ),
    Check(
        "resent",
        _JOIN,
        lambda x: resent.resent(x.rows),
        "the application sent it again, and both are there",
        ("later_attempts",),
    ),
    Check(
        "redelivered",
        ("delivered",),
        lambda x: redelivered.redelivered(x.tables["delivered"]),
        "a group took it up again",
    ),
    Check(
        "effect-missing", (*_JOIN, "effects", "commits"), _effect_missing, "committed past it, and nothing came of it"
    ),
    Check("effect-repeated", (*_JOIN, "effects"), _effect_repeated, "one input, several visible effects"),
    Check(
        "reordered",
        _JOIN,
        lambda x: reordered.reordered(x.rows),
        "stands before what its producer sent earlier",
        ("rows",),
    ),
    Check("poll-skip", (*_JOIN, "delivered"), _poll_skip, "a consumer was not handed what is in the log"),
    Check("poll-backwards", (*_JOIN, "delivered"), _poll_backwards, "a consumer was handed an earlier offset again"),
    Check(
        "phantom",
        _JOIN,
        lambda x: phantom.phantom(x.rows),
        "bears this run's marks, but nobody sent it",
        ("uncovered",),
    ),
    Check("aborted-read", _JOIN, _aborted_read, "refused or aborted, yet readable"),
    Check(
        "unacked-read",
        _JOIN,
        lambda x: unacked.unacked_read(x.rows),
        "no report came, and it was written",
        ("unreported",),
    ),
    Check(
        "unacked-absent",
        _JOIN,
        lambda x: unacked.unacked_absent(x.attempts),
        "no report came, and it was not written",
        ("unwritten",),
    ),
    Check(
        "torn-transaction",
        _JOIN,
        lambda x: torn_transaction.torn_transaction(x.attempts),
        "only a part of it is visible",
        ("transactional",),
    ),
    Check("precommitted-read", (*_JOIN, "delivered"), _precommitted_read, "read as committed before it was"),
    Check("corrupt", _JOIN, lambda x: corrupt.corrupt(x.rows), "checksum or key are not what was sent", ("altered",)),
    Check(
        "misrouted",
        _JOIN,
        lambda x: misrouted.misrouted(x.rows),
        "stands in another topic or partition than meant",
        ("astray",),
    ),
    Check(
        "inconsistent-offset",
        ("sent",),
        lambda x: inconsistent_offset.inconsistent_offset(x.attempts, x.rows),
        "one offset, two records",
        ("attempts", "rows"),
    ),
    Check(
        "offset-mismatch",
        _JOIN,
        lambda x: offset_mismatch.offset_mismatch(x.attempts),
        "not at the offset it was promised",
        ("moved",),
    ),
    Check(
        "stale-offset",
        ("sent",),
        lambda x: stale_offset.stale_offset(x.timed),
        "offsets went back: the log was cut",
        ("timed",),
    ),
    Check(
        "gap", (*_JOIN, "log_bounds"), lambda x: gap.gap(x.rows, x.open_bounds, x.attempts), "offsets without a record"
    ),
    Check("replica-divergence", ("replicas", "log_bounds"), _replica_divergence, "replicas hold different bytes"),
    Check(
        "unreadable", ("log_bounds",), lambda x: unreadable.unreadable(x.bounds), "the log could not be read to its end"
    ),
    Check("watermark-backwards", ("watermarks",), _watermark_backwards, "what was safe was no longer there"),
    Check("commit-backwards", ("commits",), _commit_backwards, "a group's position fell"),
    Check("outage", ("probes",), _outage, "reading or writing did not work for a while"),
    Check("stuck", ("probes",), _stuck, "reading or writing did not come back after healing"),
)

MEANING = {check.anomaly: check.means for check in CHECKS}
