"""Topics as declared and as they are, and what lies between: pure functions, no cluster in sight."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from .errors import BadInputError
from .placement import place
from .reconcile import Change, is_ignored, refuse_duplicates

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from .cluster import Entry

NAME = re.compile(r"[A-Za-z0-9._-]{1,249}")
MIN_INSYNC = "min.insync.replicas"
# Set for a while by whoever moves replicas; taking them away would speed that up beyond what the network bears.
TRANSIENT = {"leader.replication.throttled.replicas", "follower.replication.throttled.replicas"}
# Types of settings that the cluster names with each.
BOOLEAN, LIST, DOUBLE = 1, 7, 6
WHOLE_NUMBERS = {3, 4, 5}


@dataclass(frozen=True)
class Topic:
    """As declared. None leaves it to the cluster, or as it is."""

    name: str
    present: bool = True
    partitions: int | None = None
    replication_factor: int | None = None
    config: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Existing:
    """As it is. `replicas` has one tuple a partition, what is being moved already at its goal."""

    name: str
    replicas: tuple[tuple[int, ...], ...]
    leaders: tuple[int, ...] = ()
    config: Mapping[str, Entry] = field(default_factory=dict)
    internal: bool = False

    @property
    def partitions(self) -> int:
        return len(self.replicas)

    @property
    def replication_factor(self) -> int:
        return max((len(replicas) for replicas in self.replicas), default=0)

    @property
    def protected(self) -> bool:
        return is_internal(self.name, flagged=self.internal)


@dataclass(frozen=True)
class TopicChange(Change):
    assignment: Mapping[int, tuple[int, ...]] = field(default_factory=dict)


def is_internal(name: str, *, flagged: bool = False) -> bool:
    return flagged or name.startswith("__")


def parse(items: Sequence[Mapping[str, Any]]) -> dict[str, Topic]:
    """The declared list, checked as far as that is possible without the cluster."""
    refuse_duplicates("Topics", (item["name"] for item in items))
    topics = {item["name"]: _topic(item) for item in items}
    refuse_collisions([topic.name for topic in topics.values() if topic.present], ())
    return topics


def _topic(item: Mapping[str, Any]) -> Topic:
    name = item["name"]
    if not NAME.fullmatch(name) or name in {".", ".."}:
        raise BadInputError(
            f"{name!r} is no name for a topic.",
            resolution="Use up to 249 letters, digits, '.', '_' and '-', e.g. 'orders-eu'.",
        )
    topic = Topic(
        name=name,
        present=item.get("state", "present") == "present",
        partitions=item.get("partitions"),
        replication_factor=item.get("replication_factor"),
        config={key: config_text(name, key, value) for key, value in (item.get("config") or {}).items()},
    )
    for what, value in (("partitions", topic.partitions), ("replication_factor", topic.replication_factor)):
        if value is not None and value < 1:
            raise BadInputError(f"Topic {name!r}: {what} is {value}.", resolution="Set 1 or more, or leave it out.")
    if not topic.present and is_internal(name):
        raise BadInputError(
            f"Topic {name!r} is internal to Kafka: it is never deleted.", resolution="Take it off the list."
        )
    return topic


def config_text(topic: str, key: str, value: Any) -> str:
    """YAML's values as Kafka writes them: true, 1000, compact,delete."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    if isinstance(value, list):
        return ",".join(config_text(topic, key, item) for item in value)
    if value is None or isinstance(value, dict):
        raise BadInputError(
            f"Topic {topic!r}: {key} has no value that Kafka could take.",
            resolution="Give it one, or leave it out: what is not declared goes back to the cluster's default.",
        )
    return str(value)


def refuse_collisions(declared: Sequence[str], existing: Sequence[str]) -> None:
    """Kafka names metrics with '_' for '.', and refuses a second topic of the same name there."""
    known = {name.replace(".", "_"): name for name in existing}
    for name in declared:
        other = known.setdefault(name.replace(".", "_"), name)
        if other != name:
            raise BadInputError(
                f"Topics {other!r} and {name!r} collide.",
                details="Kafka takes '.' and '_' for the same in the names of its metrics.",
                resolution="Rename one of them.",
            )


def check(
    wanted: Mapping[str, Topic],
    existing: Mapping[str, Existing],
    brokers: Mapping[int, str | None],
    *,
    remove: Sequence[str] = (),
) -> list[str]:
    """Refuse what this cluster cannot do; returns warnings."""
    gone = {name for name, topic in wanted.items() if not topic.present} | set(remove)
    present = [topic for topic in wanted.values() if topic.present]
    refuse_collisions([topic.name for topic in present if topic.name not in existing], [*(existing.keys() - gone)])
    warnings = []
    for topic in present:
        have = existing.get(topic.name)
        _check_partitions(topic, have)
        warnings += _check_replication(topic, have, len(brokers))
    return warnings


def _check_partitions(topic: Topic, have: Existing | None) -> None:
    if have and topic.partitions and topic.partitions < have.partitions:
        raise BadInputError(
            f"Topic {topic.name!r} has {have.partitions} partitions, declared are {topic.partitions}: "
            "Kafka cannot take partitions away.",
            resolution=f"Declare {have.partitions}, or delete the topic with its data (state: absent), then create it.",
        )


def _check_replication(topic: Topic, have: Existing | None, brokers: int) -> list[str]:
    factor = topic.replication_factor or (have.replication_factor if have else 0)
    # An unchanged topic is left in peace while one of its brokers is down.
    if factor > brokers and not (have and have.replication_factor == factor):
        raise BadInputError(
            f"Topic {topic.name!r}: replication_factor {factor} is above the number of brokers, {brokers}.",
            resolution=f"Lower it to {brokers} or add {'a broker' if factor - brokers == 1 else 'brokers'}.",
        )
    declared = topic.config.get(MIN_INSYNC, "")
    if factor and declared.isdecimal() and int(declared) > factor:
        raise BadInputError(
            f"Topic {topic.name!r}: {MIN_INSYNC} {declared} is above the replication factor, {factor}: "
            "nobody could write with acks=all.",
            resolution=f"Lower {MIN_INSYNC} to {max(factor - 1, 1)} or raise replication_factor.",
        )
    inherited = have.config.get(MIN_INSYNC) if have else None
    if not declared and inherited and not inherited.of_topic and int(inherited.value or 0) > factor:
        why = f"has replication factor {factor} and inherits {MIN_INSYNC} {inherited.value}"
        return [f"Topic {topic.name!r} {why}: nobody can write to it with acks=all."]
    return []


def plan(
    wanted: Mapping[str, Topic],
    existing: Mapping[str, Existing],
    brokers: Mapping[int, str | None],
    *,
    remove: Sequence[str] = (),
) -> list[TopicChange]:
    """Steps in the order in which they are safe: make room, create, place replicas, add partitions, configure."""
    gone = {name for name, topic in wanted.items() if not topic.present} | set(remove)
    deleted = [_delete(existing[name]) for name in sorted(gone & existing.keys())]
    present = [topic for _, topic in sorted(wanted.items()) if topic.present]
    created = [_create(topic) for topic in present if topic.name not in existing]
    kept = [(topic, existing[topic.name]) for topic in present if topic.name in existing]
    load = Counter(broker for have in existing.values() for replicas in have.replicas for broker in replicas)
    moved = [
        _replicate(topic, have, brokers, load)
        for topic, have in kept
        if topic.replication_factor and any(len(replicas) != topic.replication_factor for replicas in have.replicas)
    ]
    grown = [_grow(topic, have) for topic, have in kept if topic.partitions and topic.partitions > have.partitions]
    configured = [change for topic, have in kept if (change := _configure(topic, have))]
    # With fewer replicas to come, a lower min.insync.replicas has to be there first.
    shrinking = {
        change.name for change in moved if change.after["replication_factor"] < change.before["replication_factor"]
    }
    before = [change for change in configured if change.name in shrinking]
    after = [change for change in configured if change.name not in shrinking]
    return [*deleted, *created, *before, *moved, *grown, *after]


def strays(wanted: Mapping[str, Topic], existing: Mapping[str, Existing], ignored: Sequence[str]) -> list[str]:
    return sorted(
        name
        for name, topic in existing.items()
        if name not in wanted and not topic.protected and not is_ignored(name, ignored)
    )


def same(kind: int, have: str | None, want: str) -> bool:
    """Whether two values of a setting mean the same to Kafka."""
    return have is not None and (have == want or _meaning(kind, have) == _meaning(kind, want))


def _meaning(kind: int, value: str) -> Any:
    try:
        if kind in WHOLE_NUMBERS:
            return int(value)
        if kind == DOUBLE:
            return float(value)
    except ValueError:
        return value  # the cluster will refuse it
    if kind == BOOLEAN:
        return value.lower()
    return {part.strip() for part in value.split(",")} if kind == LIST else value


def _delete(have: Existing) -> TopicChange:
    before = {"partitions": have.partitions, "replication_factor": have.replication_factor}
    return TopicChange("delete", have.name, f"delete topic {have.name} with its data", before)


def _create(topic: Topic) -> TopicChange:
    after: dict[str, Any] = {
        "partitions": topic.partitions or "default",
        "replication_factor": topic.replication_factor or "default",
    }
    words = [f"partitions {after['partitions']}", f"replication factor {after['replication_factor']}"]
    words += [f"{key}={value}" for key, value in sorted(topic.config.items())]
    after |= {"config": dict(topic.config)} if topic.config else {}
    return TopicChange("create", topic.name, f"create topic {topic.name}: {', '.join(words)}", {}, after)


def _replicate(topic: Topic, have: Existing, brokers: Mapping[int, str | None], load: Counter[int]) -> TopicChange:
    factor = topic.replication_factor or 1
    assignment = place(have.replicas, have.leaders, factor, brokers, load)
    # The smallest, so that a topic with partitions of several sizes counts as one that grows.
    old = next(len(replicas) for replicas in have.replicas if len(replicas) != factor)
    line = f"move topic {topic.name}: replication factor {old} -> {factor} ({len(assignment)} partitions)"
    sides = {"replication_factor": old}, {"replication_factor": factor}
    return TopicChange("replicate", topic.name, line, *sides, assignment=assignment)


def _grow(topic: Topic, have: Existing) -> TopicChange:
    line = f"grow topic {topic.name}: partitions {have.partitions} -> {topic.partitions}"
    return TopicChange("grow", topic.name, line, {"partitions": have.partitions}, {"partitions": topic.partitions})


def _configure(topic: Topic, have: Existing) -> TopicChange | None:
    entries = {key: entry for key, entry in have.config.items() if entry.of_topic}
    differing = {
        key: value
        for key, value in topic.config.items()
        if key not in entries or not same(entries[key].kind, entries[key].value, value)
    }
    # Kafka sets up its internal topics itself: only what is declared of them is touched.
    undeclared = set() if have.protected else entries.keys() - topic.config.keys() - TRANSIENT
    if not differing and not undeclared:
        return None
    after = {key: differing.get(key) for key in sorted(differing.keys() | undeclared)}
    before = {key: entries[key].value if key in entries else None for key in after}
    words = [f"{key} {_shown(before[key])} -> {_shown(value)}" for key, value in after.items()]
    line = f"configure topic {topic.name}: {', '.join(words)}"
    return TopicChange("configure", topic.name, line, {"config": before}, {"config": after})


def _shown(value: str | None) -> str:
    return "(default)" if value is None else value
