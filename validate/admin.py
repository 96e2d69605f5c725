"""What the cluster says of itself: leaders, replicas in sync, controller, groups."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.admin._config import ConfigResource
from confluent_kafka.admin._resource import ResourceType

from common.errors import KastellanError
from validate.groups import java_hash
from validate.quorum import ClusterSilent, ask_quorum

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from validate.cluster import Cluster
    from validate.scenario import Topic

ANSWER_S = 10.0
ERRORS_KEPT = 50
OFFSETS_TOPIC = "__consumer_offsets"
LEAST_SESSION = "group.min.session.timeout.ms"

SILENT = logging.getLogger("validate.admin")
SILENT.addHandler(logging.NullHandler())
SILENT.propagate = False


@dataclass(frozen=True)
class Partition:
    topic: str
    index: int
    leader: int
    """-1: none."""
    replicas: tuple[int, ...]
    in_sync: tuple[int, ...]
    min_in_sync: int = 1

    @property
    def name(self) -> str:
        return f"{self.topic}-{self.index}"

    @property
    def whole(self) -> bool:
        return self.leader >= 0 and set(self.in_sync) == set(self.replicas)


class Admin:
    """Looks with the administrator's login: it alone may see every topic."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self._settings = cluster.client(cluster.admin_user)
        self.errors: list[str] = []
        self._client = admin_client(self._settings, self.errors)

    def partitions(self, topics: Iterable[str] | None = None, *, timeout_s: float = ANSWER_S) -> list[Partition]:
        """All partitions as some broker knows them, or those of some topics."""
        wanted = set(topics) if topics is not None else None
        try:
            found = self._client.list_topics(timeout=timeout_s).topics
        except KafkaException as error:
            raise self._silent(error) from error
        return [
            Partition(name, index, p.leader, tuple(p.replicas), tuple(p.isrs))
            for name, topic in sorted(found.items())
            if wanted is None or name in wanted
            for index, p in sorted(topic.partitions.items())
        ]

    def brokers(self, *, timeout_s: float = ANSWER_S) -> set[int]:
        try:
            return set(self._client.list_topics(timeout=timeout_s).brokers)
        except KafkaException as error:
            raise self._silent(error) from error

    def not_whole(self) -> list[str]:
        """What keeps the cluster from being whole, in words; empty if nothing does."""
        return [*self._asked(self._missing), *self._asked(self._lagging)]

    def _asked(self, question: Callable[[], list[str]]) -> list[str]:
        try:
            return question()
        except KastellanError as error:
            return [f"{error.brief} {error.details}".strip()]

    def _missing(self) -> list[str]:
        missing = {host.node_id for host in self.cluster.brokers} - self.brokers()
        told = [f"broker {node} is not there" for node in sorted(node for node in missing if node is not None)]
        return told + [
            f"{p.name}: in sync {list(p.in_sync)} of {list(p.replicas)}, leader {p.leader}"
            for p in self.partitions()
            if not p.whole
        ]

    def _lagging(self) -> list[str]:
        if self.cluster.mode != "kraft":
            return []
        leader, ends = self.quorum()
        expected = {host.node_id for host in self.cluster.voters}
        told = [
            f"voter {node} is not in the quorum" for node in sorted(n for n in expected - set(ends) if n is not None)
        ]
        end = ends.get(leader, 0)
        return told + [f"voter {node} is {end - at} records behind" for node, at in ends.items() if end - at > LAG_MOST]

    def quorum(self) -> tuple[int, dict[int, int]]:
        """The leader of the quorum, and each voter's end of the metadata log."""
        return ask_quorum(self._settings, ANSWER_S)

    def controller(self) -> int:
        """KRaft: the leader of the quorum, as metadata names any broker there; ZooKeeper: the broker of that role."""
        if self.cluster.mode == "kraft":
            return self.quorum()[0]
        try:
            return int(self._client.list_topics(timeout=ANSWER_S).controller_id)
        except KafkaException as error:
            raise self._silent(error) from error

    def coordinator(self, group: str) -> int:
        """The leader of the group's place in the topic of groups: told by metadata, whoever dies."""
        homes = {p.index: p.leader for p in self.partitions([OFFSETS_TOPIC])}
        if not homes:
            raise ClusterSilent(f"The cluster has no topic {OFFSETS_TOPIC} yet, so nobody keeps group {group}.")
        return homes[java_hash(group) % len(homes)]

    def min_in_sync(self, topics: Sequence[str]) -> dict[str, int]:
        """min.insync.replicas in force, wherever it was set."""
        asked = [ConfigResource(ResourceType.TOPIC, name) for name in topics]
        try:
            answers = self._client.describe_configs(asked, request_timeout=ANSWER_S)
            return {r.name: int(future.result()["min.insync.replicas"].value) for r, future in answers.items()}
        except KafkaException as error:
            raise self._silent(error) from error

    def _least_session_ms(self, node: int) -> int:
        asked = ConfigResource(ResourceType.BROKER, str(node))  # of brokers one a call: each answers for itself
        found = self._client.describe_configs([asked], request_timeout=ANSWER_S)[asked].result()
        return int(found[LEAST_SESSION].value)

    def least_session_ms(self) -> int:
        """The shortest session that every broker lets a classic group's member have."""
        try:
            return max(self._least_session_ms(node) for node in sorted(self.brokers()))
        except KafkaException as error:
            raise self._silent(error) from error

    def behind(self, group: str, topics: Sequence[Topic]) -> int:
        """How many records a group has not committed yet, over all its partitions.

        Asked as a consumer that joins nothing: librdkafka's calls for administrators that go to a group's coordinator
        end the process if it goes away meanwhile (confluentinc/librdkafka#4605).
        """
        places = [TopicPartition(topic.name, index) for topic in topics for index in range(topic.partitions)]
        settings = {**self._settings, "group.id": group, "enable.auto.commit": False, "log_level": 3}
        consumer = Consumer({**settings, "error_cb": lambda _: None}, logger=SILENT)
        try:
            committed = consumer.committed(places, timeout=ANSWER_S)
            ends = [consumer.get_watermark_offsets(place, timeout=ANSWER_S)[1] for place in places]
        except KafkaException as error:
            raise self._silent(error) from error
        finally:
            consumer.close()
        return sum(max(0, end - max(0, at.offset)) for at, end in zip(committed, ends, strict=True))

    def _silent(self, error: KafkaException) -> ClusterSilent:
        said = error.args[0].str() if error.args and isinstance(error.args[0], KafkaError) else str(error)
        return ClusterSilent(
            "The cluster does not answer the administrator.", details="; ".join([said, *self.errors[-2:]])
        )


LAG_MOST = 100


def admin_client(settings: dict[str, Any], errors: list[str]) -> AdminClient:
    def note(error: KafkaError) -> None:
        errors.append(f"{error.name()}: {error.str()}")
        del errors[:-ERRORS_KEPT]

    whole: dict[str, Any] = {**settings, "error_cb": note, "log_level": 3}
    return AdminClient(whole, logger=SILENT)
