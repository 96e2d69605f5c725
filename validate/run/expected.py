"""What must come out, computed from the cluster at hand before anything is broken: who serves on, who must not."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import yaml

from validate.act import claiming, groups
from validate.groups import java_hash
from validate.run.load import PROBE_TIMEOUT_MS

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from validate.admin import Partition
    from validate.cluster import Cluster, Host
    from validate.scenario import Scenario, Step

FRESH_FACTOR = 1.3
RUNNING_FACTOR = 2.0
SILENCE_S = (
    PROBE_TIMEOUT_MS / 1000
)  # what a client loses on an address that does not even refuse it: a probe's own time-out
OFFSETS_PARTITIONS = 50


@dataclass(frozen=True)
class Forecast:
    """What is known before a step about the time in which it lasts."""

    serving: frozenset[tuple[str, int]]
    silent: frozenset[tuple[str, int]]
    """Partitions that cannot acknowledge anything while it lasts."""
    notes: tuple[str, ...] = ()


def forecast(cluster: Cluster, step: Step, hosts: Sequence[Host], partitions: Sequence[Partition]) -> Forecast:
    """Partitions as they stand before the fault, hosts as they were chosen."""
    if step.operation is not None:
        return _roll(partitions)
    down = {host.node_id for host in hosts if host.node_id is not None}
    if step.options.get("cut") == "clients":
        served = {_key(p) for p in partitions if p.leader not in down}
        return Forecast(frozenset(served), _rest(partitions, served), notes=_told(served, partitions, hosts))
    kept = keeps_quorum(cluster, hosts)
    clean = step.fault == "stop"
    served = {_key(p) for p in partitions if _serves(p, down, clean=clean, quorum=kept)}
    notes = _told(served, partitions, hosts)
    if not kept:
        count = len(cluster.voters) or len(cluster.zookeepers)
        notes = (*notes, f"{len(hosts)} of {count} voters away: no quorum while it lasts.")
    return Forecast(frozenset(served), _rest(partitions, served), notes)


def keeps_quorum(cluster: Cluster, hosts: Iterable[Host]) -> bool:
    """ZooKeeper's own quorum is on other hosts than the brokers'."""
    voters = {host.name for host in (cluster.voters if cluster.mode == "kraft" else cluster.zookeepers)}
    if not voters:  # an ensemble that cluster.json does not list is on hosts that nobody breaks here
        return True
    away = voters & {host.name for host in hosts}
    return len(voters) - len(away) > len(voters) // 2


def _serves(partition: Partition, down: set[int], *, clean: bool, quorum: bool) -> bool:
    left = [node for node in partition.in_sync if node not in down]
    if len(left) < max(1, partition.min_in_sync):
        return False
    # Without a quorum nobody can take a dead replica out of the in-sync set; a clean stop did that beforehand.
    return clean or quorum or len(left) == len(partition.in_sync)


def _roll(partitions: Sequence[Partition]) -> Forecast:
    """One node at a time: who has a replica to spare serves throughout, the others wait at times."""
    served = frozenset(_key(p) for p in partitions if len(p.in_sync) > max(1, p.min_in_sync))
    waits = sorted({p.topic for p in partitions if _key(p) not in served})
    notes = (f"No replica to spare, so it waits while a node of it is away: {', '.join(waits)}.",) if waits else ()
    return Forecast(served, frozenset(), notes)


def _rest(partitions: Sequence[Partition], served: set[tuple[str, int]]) -> frozenset[tuple[str, int]]:
    return frozenset(_key(p) for p in partitions) - served


def _key(partition: Partition) -> tuple[str, int]:
    return partition.topic, partition.index


def _told(served: set[tuple[str, int]], partitions: Sequence[Partition], hosts: Sequence[Host]) -> tuple[str, ...]:
    waits = [p.name for p in partitions if _key(p) not in served]
    who = ", ".join(f"{host.name} ({host.node_id})" for host in hosts)
    told = f"Hit: {who}. Goes on: {', '.join(sorted(f'{t}-{n}' for t, n in served)) or 'nothing'}."
    return (told, f"Cannot acknowledge meanwhile: {', '.join(sorted(waits))}.") if waits else (told,)


def blocked_groups(groups: Iterable[str], offsets: Sequence[Partition], down: set[int]) -> list[str]:
    """Groups whose partition of __consumer_offsets keeps too few replicas in sync to take a commit."""
    by_index = {p.index: p for p in offsets}
    count = len(by_index) or OFFSETS_PARTITIONS
    found = []
    for group in groups:
        home = by_index.get(java_hash(group) % count)
        if home and len([node for node in home.in_sync if node not in down]) < max(1, home.min_in_sync):
            found.append(f"Group {group} can neither join nor commit: {home.name} is on {list(home.replicas)}.")
    return found


def group_of(group: str, suffix: str) -> str:
    return f"{group}-{suffix}" if suffix else group


@dataclass
class Expectation:
    """EXPECT.yml in the making; steps add what they know when their targets are chosen."""

    scenario: Scenario
    cluster: Cluster
    group: str
    forecasts: list[Forecast] = field(default_factory=list)
    controller_hit: bool = False
    workload_died: bool = False
    """What it left in the air is its own doing: that does not speak against the cluster."""
    broke_off: bool = False
    """Acts were not played to their end, and members killed: what they had still to read speaks against nobody."""
    slow_readers: bool = False
    """They read on when the wait for them was over: what they had still to read speaks against nobody either."""

    def add(self, step: Step, hosts: Sequence[Host], found: Forecast, controller: int | None) -> None:
        self.forecasts.append(found)
        hits = controller is not None and any(host.node_id == controller for host in hosts)
        several = len(self.scenario.all_steps) > 1 or step.times > 1
        self.controller_hit = self.controller_hit or hits or several

    def serving(self) -> dict[str, list[int]]:
        """Who must have acked enough while faults lasted. Between several steps all are whole again."""
        shapes = {topic.name: list(range(topic.partitions)) for topic in self.scenario.topics}
        if len(self.forecasts) != 1:
            return shapes
        kept = self.forecasts[0].serving
        return {name: [index for index in indexes if (name, index) in kept] for name, indexes in shapes.items()}

    def content(self) -> dict[str, Any]:
        made: dict[str, Any] = {"anomalies": self._anomalies(), "progress": self._progress()}
        if outage := self._outage():
            made["outage"] = outage
        if self.scenario.expect.unclean:
            made["unclean"] = list(self.scenario.expect.unclean)
        if claims := self._claims():
            names = [topic.name for topic in self.scenario.inputs]
            made["groups"] = {group: {"topics": names, "from": "earliest"} for group in claims}
        return made

    def groups(self) -> list[str]:
        if self.scenario.acts:
            return [group_of(self.group, suffix) for suffix in groups(self.scenario.acts)]
        return [self.group] if self.scenario.workload.consumers else []

    def _claims(self) -> list[str]:
        """Groups that have to have read everything."""
        if self.broke_off or self.slow_readers:
            return []
        if not self.scenario.acts:
            return self.groups()
        shared = self.scenario.workload.consumer
        return [group_of(self.group, suffix) for suffix in claiming(self.scenario.acts, shared)]

    def write(self, ledger: Path) -> None:
        (ledger / "EXPECT.yml").write_text(yaml.safe_dump(self.content(), sort_keys=False), encoding="utf-8")

    def _anomalies(self) -> dict[str, Any]:
        wanted = self.scenario.expect.anomalies
        if isinstance(wanted, dict):
            return self._of_a_death(wanted)
        from validate.expect import SCHEMA_FILE  # noqa: PLC0415  it brings Spark's modules

        schema = json.loads(SCHEMA_FILE.read_text(encoding="utf-8"))
        names = schema["properties"]["anomalies"]["propertyNames"]["enum"]
        if self.scenario.workload.probes:
            # The fresh witness logs in anew for every record: one that takes longer than the next is overtaken by it on
            # its way to the cluster. Of a producer that is promised an order it is a violation without our asking.
            names = [name for name in names if name != "reordered"]
        return self._of_a_death({name: {"count": 0} for name in names})

    def _of_a_death(self, wanted: dict[str, Any]) -> dict[str, Any]:
        spared: tuple[str, ...] = ("unacked",) if self.workload_died or self.broke_off else ()
        spared += ("unseen",) if self.broke_off or self.slow_readers else ()
        return {name: bound for name, bound in wanted.items() if not name.startswith(spared)}

    def _progress(self) -> dict[str, Any]:
        least: dict[str, Any] = dict(self.scenario.progress)
        if self.scenario.workload.kind != "paced":
            return {"acked_per_partition": least["acked_per_partition"]}
        if self.scenario.disturbs:
            least["serving"] = self.serving()
        return least

    def _outage(self) -> dict[str, Any] | None:
        wanted = self.scenario.expect.outage
        if wanted == "measured":
            return None
        if isinstance(wanted, dict):
            fresh_s, running_s = wanted["fresh_s"], wanted["running_s"]
        else:
            time_s = self.cluster.timeouts.session_s + (self.cluster.timeouts.election_s if self.controller_hit else 0)
            more_s = SILENCE_S if wanted == "silence" else 0.0
            fresh_s, running_s = FRESH_FACTOR * time_s + more_s, RUNNING_FACTOR * time_s + more_s
        topics = [t.name for t in self.scenario.topics if t.spare] if self.scenario.disturbs else None
        bounds: dict[str, Any] = {
            name: {"write_s": round(value, 3), "read_s": round(value, 3)}
            for name, value in (("fresh", fresh_s), ("running", running_s))
        }
        return bounds if topics is None else {**bounds, "topics": topics}
