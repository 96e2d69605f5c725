"""What a cluster says of itself: brokers, quorum, and partitions that are not as they should be."""

from __future__ import annotations

import socket
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from . import messages
from .errors import RefusedError
from .messages import NO_ERROR
from .topics import MIN_INSYNC

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .cluster import Cluster

UNKNOWN = -1
CONNECT_TIMEOUT_S = 2
CONNECTS_AT_ONCE = 32


@dataclass(frozen=True)
class Broker:
    id: int
    host: str
    port: int
    rack: str | None
    fenced: bool = False
    """Registered, but without contact to the controller: stopped, or not yet let in."""


@dataclass(frozen=True)
class Voter:
    id: int
    log_end_offset: int
    lag: int
    """Records behind the leader's end; -1 if not known."""
    lag_ms: int
    """How long ago it had all that the leader had; -1 if not known."""


@dataclass(frozen=True)
class Partition:
    topic: str
    index: int
    leader: int
    replicas: tuple[int, ...]
    in_sync: tuple[int, ...]
    min_in_sync: int

    @property
    def name(self) -> str:
        return f"{self.topic}-{self.index}"


@dataclass(frozen=True)
class Facts:
    cluster_id: str
    mode: str
    controller_id: int
    """KRaft: the leader of the quorum; ZooKeeper: the broker that is the controller."""
    brokers: tuple[Broker, ...]
    voters: tuple[Voter, ...]
    observers: tuple[Voter, ...]
    partitions: tuple[Partition, ...]
    features: dict[str, int]
    silent: tuple[int, ...] = ()
    """Brokers that the cluster counts as there and that take no connection: it finds a dead one after seconds only."""

    @property
    def live(self) -> set[int]:
        return {broker.id for broker in self.brokers if not broker.fenced} - set(self.silent)

    def result(self) -> dict[str, Any]:
        """As the module returns it."""
        return {
            "cluster_id": self.cluster_id,
            "mode": self.mode,
            "controller_id": self.controller_id,
            "brokers": [asdict(broker) for broker in self.brokers],
            "silent": list(self.silent),
            "quorum": {
                "voters": [asdict(voter) for voter in self.voters],
                "observers": [asdict(voter) for voter in self.observers],
            }
            if self.mode == "kraft"
            else None,
            "features": self.features,
            "topics": len({partition.topic for partition in self.partitions}),
            "partitions": len(self.partitions),
            "offline": [p.name for p in self.partitions if p.leader < 0],
            "under_replicated": [p.name for p in self.partitions if len(p.in_sync) < len(p.replicas)],
            "under_min_isr": [p.name for p in self.partitions if len(p.in_sync) < p.min_in_sync],
            "at_min_isr": [p.name for p in self.partitions if len(p.in_sync) == p.min_in_sync < len(p.replicas)],
        }


def read(cluster: Cluster) -> Facts:
    metadata = cluster.metadata()
    topics = [topic for topic in metadata.topics if topic.error_code == NO_ERROR]
    min_in_sync = cluster.effective([topic.name for topic in topics], MIN_INSYNC)
    partitions = tuple(
        Partition(
            topic.name,
            partition.partition_index,
            partition.leader_id,
            tuple(partition.replica_nodes),
            tuple(partition.isr_nodes),
            int(min_in_sync[topic.name]),
        )
        for topic in sorted(topics, key=lambda topic: str(topic.name))
        if topic.name in min_in_sync  # else it was deleted between the two questions
        for partition in sorted(topic.partitions, key=lambda partition: int(partition.partition_index))
    )
    quorum = _quorum(cluster)
    brokers = tuple(sorted(_brokers(cluster), key=lambda broker: broker.id))
    return Facts(
        cluster_id=metadata.cluster_id,
        mode="kraft" if cluster.has_quorum else "zookeeper",
        controller_id=_controller(cluster, metadata, quorum),
        brokers=brokers,
        voters=_voters(quorum.leader_id, quorum.current_voters, quorum.current_voters) if quorum else (),
        observers=_voters(quorum.leader_id, quorum.observers, quorum.current_voters) if quorum else (),
        partitions=partitions,
        features=dict(sorted(cluster.features.items())),
        silent=_silent([broker for broker in brokers if not broker.fenced]),
    )


def _quorum(cluster: Cluster) -> Any:
    """None with ZooKeeper, and while the quorum has no leader who could tell."""
    try:
        return cluster.quorum() if cluster.has_quorum else None
    except RefusedError:
        return None


def _controller(cluster: Cluster, metadata: Any, quorum: Any) -> int:
    if not cluster.has_quorum:
        return int(metadata.controller_id)
    return int(quorum.leader_id) if quorum else UNKNOWN


def _brokers(cluster: Cluster) -> list[Broker]:
    """With those that are registered and stopped, where the cluster tells (Kafka 4 and up)."""
    answer = cluster.ask(messages.DescribeClusterRequest(include_fenced_brokers=True))
    return [
        Broker(broker.broker_id, broker.host, broker.port, broker.rack, bool(broker.is_fenced))
        for broker in answer.brokers
    ]


def _silent(brokers: Sequence[Broker]) -> tuple[int, ...]:
    def refuses(broker: Broker) -> bool:
        try:
            socket.create_connection((broker.host, broker.port), timeout=CONNECT_TIMEOUT_S).close()
        except OSError:
            return True
        return False

    with ThreadPoolExecutor(CONNECTS_AT_ONCE) as pool:
        return tuple(broker.id for broker, refused in zip(brokers, pool.map(refuses, brokers), strict=True) if refused)


def _voters(leader_id: int, replicas: Sequence[Any], voters: Sequence[Any]) -> tuple[Voter, ...]:
    """Measured against the leader's own entry, so no clock but the leader's is read."""
    leader = next((replica for replica in voters if replica.replica_id == leader_id), None)
    end = leader.log_end_offset if leader else UNKNOWN
    now_ms = leader.last_caught_up_timestamp if leader else UNKNOWN

    def behind(now: int, then: int) -> int:
        return max(now - then, 0) if now >= 0 and then >= 0 else UNKNOWN

    return tuple(
        Voter(
            replica.replica_id,
            replica.log_end_offset,
            behind(end, replica.log_end_offset),
            behind(now_ms, replica.last_caught_up_timestamp),
        )
        for replica in sorted(replicas, key=lambda replica: int(replica.replica_id))
    )
