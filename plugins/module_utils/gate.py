"""May a node be stopped now, and is the cluster whole again? Pure functions of the facts: every case is tested."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Collection

    from .facts import Facts, Voter

# A voter fetches at least every 500 ms and gives a leader up after controller.quorum.fetch.timeout.ms (2 s).
VOTER_LAG_MS_MAX = 2_000
# Named one by one up to here; of a large cluster a number says more than a page of names.
NAMED_MAX = 20


@dataclass(frozen=True)
class Verdict:
    node_id: int
    allowed: bool
    reasons: tuple[str, ...]
    """Why not; empty if allowed."""
    blocked_by: tuple[str, ...]
    """Partitions that the stop would take below min.insync.replicas although they have replicas enough."""
    unprotected: tuple[str, ...]
    """Partitions of the node that no restart leaves writable: replication is not above min.insync.replicas."""
    warnings: tuple[str, ...] = ()
    """What no waiting would make better."""

    def result(self) -> dict[str, Any]:
        return {key: list(value) if isinstance(value, tuple) else value for key, value in asdict(self).items()}


def may_stop(facts: Facts, node_id: int, *, require_writable: bool = False) -> Verdict:
    """Refuse if the quorum would lose its majority or a partition that could stay writable would not."""
    blocked, unprotected = [], []
    # In sync may still be called a broker that died a moment ago.
    staying = facts.live - {node_id}
    for partition in facts.partitions:
        if node_id not in partition.replicas:
            continue
        if len(partition.replicas) <= partition.min_in_sync:
            unprotected.append(partition.name)
        # One that is out of sync anyway takes nothing away; its restart may be the cure.
        elif node_id in partition.in_sync and len(set(partition.in_sync) & staying) < partition.min_in_sync:
            blocked.append(partition.name)
    reasons, warnings = _quorum(facts, node_id)
    if blocked:
        reasons.append(f"{_count(blocked)} would fall below min.insync.replicas: {_names(blocked)}.")
    if unprotected:
        warnings.append(
            f"{_count(unprotected)} cannot stay writable through any restart, since replication is not above "
            f"min.insync.replicas: {_names(unprotected)}."
        )
    if require_writable:
        reasons, warnings = reasons + warnings, []
    return Verdict(node_id, not reasons, tuple(reasons), tuple(blocked), tuple(unprotected), tuple(warnings))


def not_whole(facts: Facts, *, expected: Collection[int] = ()) -> list[str]:
    """What keeps the cluster from being whole: nodes that are missing or behind, replicas out of sync."""
    missing = []
    absent = sorted(set(expected) - facts.live)
    if absent:
        missing.append(f"brokers not there: {', '.join(map(str, absent))}")
    dead = sorted(set(facts.silent) - set(absent))
    if dead:
        missing.append(f"brokers that take no connection: {', '.join(map(str, dead))}")
    fenced = [broker.id for broker in facts.brokers if broker.fenced and broker.id not in absent]
    if fenced and not expected:
        missing.append(f"brokers registered and not there: {', '.join(map(str, fenced))}")
    if facts.controller_id < 0:
        missing.append("the quorum has no leader" if facts.mode == "kraft" else "there is no controller")
    behind = [voter.id for voter in facts.voters if not caught_up(voter, facts)]
    if behind:
        missing.append(f"voters behind: {', '.join(map(str, behind))}")
    short = [partition.name for partition in facts.partitions if len(partition.in_sync) < len(partition.replicas)]
    if short:
        missing.append(f"replicas out of sync in {_count(short)}: {_names(short)}")
    leaderless = [partition.name for partition in facts.partitions if partition.leader < 0]
    if leaderless:
        missing.append(f"no leader for {_count(leaderless)}: {_names(leaderless)}")
    return missing


def caught_up(voter: Voter, facts: Facts) -> bool:
    """A combined node that takes no connection is no voter to count on, however short ago it was heard of."""
    return 0 <= voter.lag_ms <= VOTER_LAG_MS_MAX and voter.id not in facts.silent


def _quorum(facts: Facts, node_id: int) -> tuple[list[str], list[str]]:
    """Reasons and warnings."""
    count = len(facts.voters)
    if facts.controller_id < 0:
        return ["The quorum has no leader." if facts.mode == "kraft" else "There is no controller."], []
    if node_id not in {voter.id for voter in facts.voters}:
        return [], []
    majority = count // 2 + 1
    if count - 1 < majority:
        # No waiting helps: a rule that forbade it would forbid every restart for good.
        return [], [f"A quorum of {count} cannot keep a majority through any restart of a controller."]
    others = [voter for voter in facts.voters if voter.id != node_id]
    behind = [voter.id for voter in others if not caught_up(voter, facts)]
    staying = len(others) - len(behind)
    if staying >= majority:
        return [], []
    named = f" (behind or gone: {', '.join(map(str, behind))})" if behind else ""
    return [f"The quorum would keep {staying} of {count} voters; a majority needs {majority}{named}."], []


def _count(names: list[str]) -> str:
    return f"{len(names)} partition" + ("s" if len(names) > 1 else "")


def _names(names: list[str]) -> str:
    return ", ".join(names[:NAMED_MAX]) + (f" and {len(names) - NAMED_MAX} more" if len(names) > NAMED_MAX else "")
