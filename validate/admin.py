"""What the cluster says of itself (leaders, replicas in sync, controller, groups), and the topics of the proof."""

from __future__ import annotations

import logging
import time
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from confluent_kafka import Consumer, ConsumerGroupTopicPartitions, KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.admin._config import ConfigResource
from confluent_kafka.admin._resource import ResourceType
from confluent_kafka.cimpl import NewTopic

from common.errors import KastellanError, UsageError
from common.wait import wait_until
from validate.groups import java_hash
from validate.quorum import ClusterSilent, ask_quorum

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from validate.cluster import Cluster
    from validate.scenario import Topic

ANSWER_S = 10.0
TOPIC_BOUND_S = 60.0
ERRORS_KEPT = 50
GLANCE_S = 1.0
OFFSETS_TOPIC = "__consumer_offsets"

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
        self._client = _client(self._settings, self.errors)

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


def _client(settings: dict[str, Any], errors: list[str]) -> AdminClient:
    def note(error: KafkaError) -> None:
        errors.append(f"{error.name()}: {error.str()}")
        del errors[:-ERRORS_KEPT]

    whole: dict[str, Any] = {**settings, "error_cb": note, "log_level": 3}
    return AdminClient(whole, logger=SILENT)


class Workplace:
    """The topics of a scenario, made and removed with the login of the user that works there."""

    def __init__(self, cluster: Cluster, user: str) -> None:
        self.user = user
        self._mode = cluster.mode
        self.settings = cluster.client(user)
        self.cheap = cluster.cheap_client(user)
        self.errors: list[str] = []
        self._client = _client(self.settings, self.errors)

    def check_login(self) -> None:
        """A wrong password is told as that before anything begins."""
        try:
            told = self._refusal()
        except KafkaException as error:
            raise ClusterSilent(
                f"The cluster does not answer {self.user!r}.",
                details="; ".join([str(error.args[0]), *self.errors[-2:]]),
                resolution="Are bootstrap_servers in the bundle right, and the brokers up?",
            ) from error
        if told:
            raise UsageError(
                f"The cluster does not let {self.user!r} in.",
                details=told,
                resolution=f"The password in the bundle is not the user's: ./kastellan client {self.user}.",
            )

    def _refusal(self) -> str:
        """What a broker said to the login; empty if it was let in. KafkaException if none said anything in time."""
        until_s = time.monotonic() + ANSWER_S
        while True:
            try:
                self._client.list_topics(timeout=GLANCE_S)
            except KafkaException:
                self._client.poll(0)  # what librdkafka has to say of it is heard only then
                if told := next((e for e in reversed(self.errors) if e.startswith("_AUTHENTICATION")), ""):
                    return told
                if time.monotonic() >= until_s:
                    raise
            else:
                return ""

    def make(self, topics: Sequence[Topic]) -> list[str]:
        """Make those that are not there; returns their names. One of another shape is an error.

        The controller alone knows what is there: a broker may go on listing a topic for a while after it was removed.
        """
        asked = [
            NewTopic(t.name, num_partitions=t.partitions, replication_factor=t.replication, config=t.config)
            for t in topics
        ]
        made: list[str] = []
        for name, future in self._client.create_topics(asked, request_timeout=ANSWER_S).items():
            try:
                future.result()
                made.append(name)
            except KafkaException as error:
                known = error.args[0].code() == KafkaError.TOPIC_ALREADY_EXISTS or name in self._shapes([name])
                if not known:
                    self.remove(made)
                    self._done(future.result, "Create", "Topic", name)
        try:
            self._check_shapes([topic for topic in topics if topic.name not in made])
        except UsageError:
            self.remove(made)
            raise
        return made

    def _check_shapes(self, topics: Sequence[Topic]) -> None:
        there = self._shapes([topic.name for topic in topics])
        for topic in topics:
            partitions, replication = there.get(topic.name, (topic.partitions, topic.replication))
            if (partitions, replication) != (topic.partitions, topic.replication):
                raise UsageError(
                    f"Topic {topic.name} exists with another shape.",
                    details=f"It has {partitions} partitions of replication {replication}, the scenario needs "
                    f"{topic.partitions} of {topic.replication}.",
                    resolution="Remove or rename it; the scenario's own topics are made by itself.",
                )

    def await_leaders(self, topics: Sequence[Topic]) -> None:
        def ready() -> bool:
            found = self._client.list_topics(timeout=ANSWER_S).topics
            return all(
                t.name in found
                and len(found[t.name].partitions) == t.partitions
                and all(p.leader >= 0 and len(p.isrs) == t.replication for p in found[t.name].partitions.values())
                for t in topics
            )

        if not wait_until(ready, timeout_s=TOPIC_BOUND_S, every_s=0.2):
            raise ClusterSilent(
                f"The topics {', '.join(t.name for t in topics)} are not all served after {TOPIC_BOUND_S:.0f} s."
            )

    def check_rights(
        self, topics: Sequence[Topic], group: str | None, *, needed: Sequence[str] = ("READ", "WRITE", "DESCRIBE")
    ) -> None:
        """Which ACL is missing is asked beforehand: a workload would only fail with it."""
        from confluent_kafka import TopicCollection  # noqa: PLC0415

        asked = TopicCollection([topic.name for topic in topics])
        found: dict[str, Any] = {}

        def known() -> bool:
            """A broker that has not heard of a topic yet knows nothing of its rights either."""
            told = self._client.describe_topics(asked, include_authorized_operations=True, request_timeout=ANSWER_S)
            try:
                found.update({n: self._done(future.result, "Describe", "Topic", n) for n, future in told.items()})
            except KafkaException:
                return False
            return True

        if not wait_until(known, timeout_s=TOPIC_BOUND_S, every_s=0.2):
            raise ClusterSilent(f"Not every broker knows {', '.join(t.name for t in topics)}.")
        for name, described in found.items():
            self._have(described.authorized_operations, needed, "Topic", name)
        if group is not None:
            self._check_group(f"{group}-rights", topics[0].name)

    def _check_group(self, group: str, topic: str) -> None:
        """A young cluster only just makes the topic of its groups: until then brokers refuse what they will allow."""
        told: list[ClusterSilent] = []

        def known() -> bool:
            try:
                self._try_group(group, topic)
            except ClusterSilent as error:
                told[:] = [error]
                return False
            return True

        if not wait_until(known, timeout_s=TOPIC_BOUND_S, every_s=0.2):
            raise told[0]

    def _try_group(self, group: str, topic: str) -> None:
        """A commit of nothing tells whether the group may be read, and leaves a group that can be described."""
        asked = [ConsumerGroupTopicPartitions(group, [TopicPartition(topic, 0, 0)])]
        future = self._client.alter_consumer_group_offsets(asked, request_timeout=ANSWER_S)[group]
        self._done(future.result, "Read", "Group", group)
        found = self._client.describe_consumer_groups([group], request_timeout=ANSWER_S)
        self._done(found[group].result, "Describe", "Group", group)
        self.remove_group(group)

    def remove(self, names: Sequence[str]) -> None:
        """Gone when nobody lists them any more."""
        if not names:
            return
        for name, future in self._client.delete_topics(list(names), request_timeout=ANSWER_S).items():
            try:
                self._done(future.result, "Delete", "Topic", name)
            except KafkaException as error:
                if error.args[0].code() != KafkaError.UNKNOWN_TOPIC_OR_PART:
                    raise
        if not wait_until(lambda: not self._shapes(names), timeout_s=TOPIC_BOUND_S, every_s=0.2):
            raise ClusterSilent(f"The topics {', '.join(names)} were removed and are still listed.")
        if self._mode == "zookeeper" and not wait_until(
            lambda: not self._taken(names), timeout_s=TOPIC_BOUND_S, every_s=0.2
        ):
            raise ClusterSilent(f"The topics {', '.join(names)} were removed, and their names are not free again.")

    def _taken(self, names: Sequence[str]) -> list[str]:
        """ZooKeeper mode: one that nobody lists any more is there until the last replica is gone; asked by trying."""
        tried = self._client.create_topics(
            [NewTopic(name, num_partitions=1, replication_factor=1) for name in names],
            validate_only=True,
            request_timeout=ANSWER_S,
        )
        found = []
        for name, future in tried.items():
            try:
                future.result()
            except KafkaException as error:
                if error.args[0].code() != KafkaError.TOPIC_ALREADY_EXISTS:
                    raise
                found.append(name)
        return found

    def remove_group(self, group: str) -> None:
        """What a run leaves of its groups is of no use to anybody; that it cannot be removed is no reason to fail."""
        with suppress(KafkaException):
            self._client.delete_consumer_groups([group], request_timeout=ANSWER_S)[group].result()

    def _shapes(self, names: Sequence[str]) -> dict[str, tuple[int, int]]:
        found = self._client.list_topics(timeout=ANSWER_S).topics
        return {
            name: (len(found[name].partitions), len(next(iter(found[name].partitions.values())).replicas))
            for name in names
            if name in found and found[name].partitions and not found[name].error
        }

    def _have(self, operations: Any, needed: Sequence[str], kind: str, name: str) -> None:
        have = {operation.name for operation in operations or ()}
        lacking = [word for word in needed if word not in have]
        if lacking:
            raise self._missing(lacking[0], kind, name)

    def _done(self, result: Callable[[], Any], operation: str, kind: str, name: str) -> Any:
        try:
            return result()
        except KafkaException as error:
            if error.args[0].name().endswith("_AUTHORIZATION_FAILED"):
                raise self._missing(operation, kind, name) from error
            if error.args[0].code() == KafkaError.UNKNOWN_TOPIC_OR_PART:
                raise
            raise ClusterSilent(
                f"The cluster refuses {operation} of {kind.lower()} {name}.",
                details=f"{error.args[0].name()}: {error.args[0].str()}",
            ) from error

    def _missing(self, operation: str, kind: str, name: str) -> UsageError:
        word = operation.capitalize()
        return UsageError(
            f"User {self.user!r} lacks the right {word} on {kind} {name}.",
            details=f"There is no ACL that allows {word} to User:{self.user}, or one that denies it.",
            resolution=f"Add an ACL: principal {self.user}, operation {word}, {kind.lower()} kastellan- (prefixed).",
        )
