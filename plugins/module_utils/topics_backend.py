"""Reads topics from a cluster and applies a plan to it, many at a time."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from . import messages, topics
from .cluster import POLL_S, chunks
from .connection import check_answer
from .errors import RefusedError
from .messages import NO_ERROR, UNKNOWN_TOPIC_OR_PARTITION
from .reconcile import Outcome, Work, refuse_failed, refuse_to_remove_all, wait_for
from .topics import MIN_INSYNC, Existing, Topic, TopicChange

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from .cluster import Cluster

TOPIC_RESOURCE = 2
SET, DELETE = 0, 1
LEFT_TO_THE_CLUSTER = -1
# The controller of KRaft takes at most 10,000 records a request; a topic, its partitions and its settings are records.
RECORDS_A_REQUEST = 5_000
TOPICS_A_REQUEST = 1_000
# So many partitions are moved at once: more would only compete for the same disks and network.
PARTITIONS_A_MOVE = 100
MARKED_FOR_DELETION = "is marked for deletion"


@dataclass(frozen=True)
class State:
    topics: dict[str, Existing]
    brokers: dict[int, str | None]


def read(cluster: Cluster, wanted: Mapping[str, Topic]) -> State:
    """All topics, with the settings of those that are declared."""
    metadata = cluster.metadata()
    known = {topic.name: topic for topic in metadata.topics if topic.error_code == NO_ERROR}
    configs = cluster.topic_configs([name for name in wanted if name in known], (MIN_INSYNC,))
    leaving = _leaving(cluster, known, wanted)
    topics = {}
    for name, topic in known.items():
        partitions = sorted(topic.partitions, key=lambda partition: partition.partition_index)
        topics[name] = Existing(
            name=name,
            replicas=tuple(
                tuple(b for b in partition.replica_nodes if b not in leaving.get((name, partition.partition_index), ()))
                for partition in partitions
            ),
            leaders=tuple(partition.leader_id for partition in partitions),
            config=configs.get(name, {}),
            internal=topic.is_internal,
        )
    return State(topics, {broker.node_id: broker.rack for broker in metadata.brokers})


def _leaving(cluster: Cluster, known: Mapping[str, Any], wanted: Mapping[str, Topic]) -> Mapping[tuple[str, int], Any]:
    """Replicas on their way out. Asked only if a number of replicas is not the declared one: it may be about to be."""
    differs = any(
        len(partition.replica_nodes) != topic.replication_factor
        for name, topic in wanted.items()
        if topic.replication_factor and name in known
        for partition in known[name].partitions
    )
    if not differs:
        return {}
    return {
        (topic.name, partition.partition_index): partition.removing_replicas
        for topic, partition in reassignments(cluster)
    }


def reassignments(cluster: Cluster) -> Iterator[tuple[Any, Any]]:
    answer = cluster.order(lambda: messages.ListPartitionReassignmentsRequest(
        timeout_ms=_timeout_ms(cluster), topics=None), lambda answer: [answer.error_code])  # fmt: skip
    check_answer("the list of moving partitions", answer.error_code, answer.error_message)
    for topic in answer.topics:
        for partition in topic.partitions:
            yield topic, partition


def validate(cluster: Cluster, changes: Sequence[TopicChange]) -> None:
    """Let the cluster check what is planned, without doing it: unknown settings, bad values, its own policies."""
    deleted = {change.name.replace(".", "_") for change in changes if change.action == "delete"}
    creatable = [c for c in _only(changes, "create") if c.name.replace(".", "_") not in deleted]
    deadline_s = time.monotonic() + cluster.timeout_s
    while True:
        try:
            _create(cluster, creatable, validate_only=True)
            break
        except RefusedError as error:
            # ZooKeeper mode: a topic that was just deleted is no longer shown, but its name is free only later.
            if MARKED_FOR_DELETION not in error.details or time.monotonic() > deadline_s:
                raise
            time.sleep(POLL_S)
    _grow(cluster, _only(changes, "grow"), validate_only=True)
    _configure(cluster, _only(changes, "configure"), validate_only=True)


def apply(cluster: Cluster, changes: Sequence[TopicChange], *, reassignment_timeout_s: float) -> None:
    """In the order of the plan; steps of one kind that follow each other go out together."""
    steps: dict[str, Callable[[Cluster, Sequence[TopicChange]], None]] = {
        "delete": _delete,
        "create": _create,
        "replicate": lambda cluster, moves: _replicate(cluster, moves, reassignment_timeout_s),
        "grow": _grow,
        "configure": _configure,
    }
    start = 0
    for end in range(1, len(changes) + 1):
        if end == len(changes) or changes[end].action != changes[start].action:
            steps[changes[start].action](cluster, changes[start:end])
            start = end


def leaderless(cluster: Cluster, changes: Sequence[TopicChange]) -> list[str]:
    """New partitions that nobody could write to yet."""
    names = sorted({change.name for change in changes if change.action in {"create", "grow"}})
    return [
        f"{topic.name}-{partition.partition_index} has no leader"
        for topic in (cluster.metadata(names).topics if names else ())
        for partition in topic.partitions
        if partition.leader_id < 0
    ]


def _only(changes: Sequence[TopicChange], action: str) -> list[TopicChange]:
    return [change for change in changes if change.action == action]


def _create(cluster: Cluster, changes: Sequence[TopicChange], *, validate_only: bool = False) -> None:
    batch: list[TopicChange] = []
    records = 0
    for change in changes:
        partitions = change.after["partitions"]
        weight = 1 + len(change.after.get("config", ())) + (partitions if isinstance(partitions, int) else 1)
        if batch and records + weight > RECORDS_A_REQUEST:
            _create_batch(cluster, batch, validate_only=validate_only)
            batch, records = [], 0
        batch.append(change)
        records += weight
    if batch:
        _create_batch(cluster, batch, validate_only=validate_only)


def _create_batch(cluster: Cluster, changes: Sequence[TopicChange], *, validate_only: bool) -> None:
    def number(value: int | str) -> int:
        return value if isinstance(value, int) else LEFT_TO_THE_CLUSTER

    answer = cluster.order(lambda: messages.CreateTopicsRequest(
        topics=[
            (change.name, number(change.after["partitions"]), number(change.after["replication_factor"]), [],
             list(change.after.get("config", {}).items()))
            for change in changes
        ],
        timeout_ms=_timeout_ms(cluster),
        validate_only=validate_only,
    ), lambda answer: (topic.error_code for topic in answer.topics))  # fmt: skip
    refuse_failed("to create topics", [(t.name, t.error_code, t.error_message) for t in answer.topics])


def _delete(cluster: Cluster, changes: Sequence[TopicChange]) -> None:
    for batch in chunks(changes, TOPICS_A_REQUEST):
        names = [change.name for change in batch]
        answer = cluster.order(lambda names=names: messages.DeleteTopicsRequest(  # type: ignore[misc]
            topics=[messages.DeleteTopicsRequest.DeleteTopicState(name=name, topic_id=None) for name in names],
            topic_names=names, timeout_ms=_timeout_ms(cluster),
        ), lambda answer: (topic.error_code for topic in answer.responses))  # fmt: skip
        refuse_failed("to delete topics", [
            (topic.name, topic.error_code, topic.error_message) for topic in answer.responses
            if topic.error_code != UNKNOWN_TOPIC_OR_PARTITION  # gone already is what was wanted
        ])  # fmt: skip


def _grow(cluster: Cluster, changes: Sequence[TopicChange], *, validate_only: bool = False) -> None:
    for batch in chunks(changes, TOPICS_A_REQUEST):
        answer = cluster.order(lambda batch=batch: messages.CreatePartitionsRequest(  # type: ignore[misc]
            topics=[(change.name, change.after["partitions"], None) for change in batch],
            timeout_ms=_timeout_ms(cluster), validate_only=validate_only,
        ), lambda answer: (result.error_code for result in answer.results))  # fmt: skip
        refuse_failed("to add partitions", [(r.name, r.error_code, r.error_message) for r in answer.results])


def _configure(cluster: Cluster, changes: Sequence[TopicChange], *, validate_only: bool = False) -> None:
    for batch in chunks(changes, TOPICS_A_REQUEST):
        answer = cluster.order(lambda batch=batch: messages.IncrementalAlterConfigsRequest(  # type: ignore[misc]
            resources=[
                (TOPIC_RESOURCE, change.name,
                 [(key, DELETE if value is None else SET, value) for key, value in change.after["config"].items()])
                for change in batch
            ],
            validate_only=validate_only,
        ), lambda answer: (response.error_code for response in answer.responses))  # fmt: skip
        refuse_failed(
            "settings of topics", [(r.resource_name, r.error_code, r.error_message) for r in answer.responses]
        )


def _replicate(cluster: Cluster, changes: Sequence[TopicChange], timeout_s: float) -> None:
    moves = [(change.name, index, replicas) for change in changes for index, replicas in change.assignment.items()]
    for batch in chunks(moves, PARTITIONS_A_MOVE):
        topics: dict[str, list[tuple[int, list[int]]]] = {}
        for name, index, replicas in batch:
            topics.setdefault(name, []).append((index, list(replicas)))
        answer = cluster.order(lambda topics=topics: messages.AlterPartitionReassignmentsRequest(  # type: ignore[misc]
            timeout_ms=_timeout_ms(cluster), topics=list(topics.items()),
        ), lambda answer: [answer.error_code])  # fmt: skip
        check_answer("to move partitions", answer.error_code, answer.error_message)
        refuse_failed("to move partitions", [
            (f"{topic.name}-{partition.partition_index}", partition.error_code, partition.error_message)
            for topic in answer.responses for partition in topic.partitions
        ])  # fmt: skip
        _wait_moved(cluster, {(name, index) for name, index, _ in batch}, timeout_s)


def _wait_moved(cluster: Cluster, moved: set[tuple[str, int]], timeout_s: float) -> None:
    def open_moves() -> list[str]:
        going = {(topic.name, partition.partition_index) for topic, partition in reassignments(cluster)}
        return [f"{name}-{index}" for name, index in sorted(moved & going)]

    wait_for(
        open_moves,
        timeout_s=timeout_s,
        what="Partitions did not all reach their new brokers",
        resolution="The cluster goes on moving them. Run again to wait on, with a higher reassignment_timeout_s.",
    )


def _timeout_ms(cluster: Cluster) -> int:
    """What the cluster may take for its answer: less than this side waits for it."""
    return int(cluster.timeout_s * 800)


def plan_work(cluster: Cluster, params: Mapping[str, Any]) -> Work:
    """Read, check and plan; the cluster has checked the plan as well."""
    wanted = topics.parse(params["topics"])
    state = read(cluster, wanted)
    strays = topics.strays(wanted, state.topics, params["ignore_strays"])
    remove = strays if params["remove_strays"] else []
    refuse_to_remove_all("topics", declared=bool(wanted), strays=remove)
    warnings = topics.check(wanted, state.topics, state.brokers, remove=remove)
    changes = topics.plan(wanted, state.topics, state.brokers, remove=remove)
    validate(cluster, changes)

    def open_changes() -> list[str]:
        now = read(cluster, wanted)
        left = topics.plan(wanted, now.topics, now.brokers, remove=remove)
        return [change.line for change in left] or leaderless(cluster, changes)

    def do() -> None:
        apply(cluster, changes, reassignment_timeout_s=params["reassignment_timeout_s"])
        wait_for(
            open_changes,
            timeout_s=params["timeout_s"],
            what="Topics did not come to be as planned",
            resolution="Look at the brokers: kafka_cluster_info names partitions without a leader.",
        )

    return Work(Outcome(changes, strays, warnings), do)
