"""The topics of a scenario, and what the user that works on them may do there."""

from __future__ import annotations

import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from confluent_kafka import KafkaError, KafkaException, TopicCollection
from confluent_kafka.admin._config import ConfigResource
from confluent_kafka.admin._resource import ResourceType
from confluent_kafka.cimpl import NewTopic

from common.errors import KastellanError, UsageError
from common.wait import wait_until
from validate import groups
from validate.admin import ANSWER_S, admin_client
from validate.quorum import ClusterSilent

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from validate.cluster import Cluster
    from validate.scenario import Topic

TOPIC_BOUND_S = 60.0
OURS = "kastellan-"
LOOKING = "-rights"  # of the group that is only tried
OTHERS = "Alter it, or let a scenario make its own: rename or remove it."
# What is asked for cannot be made by this cluster, whoever asks.
UNFIT = (KafkaError.INVALID_REPLICATION_FACTOR, KafkaError.INVALID_PARTITIONS, KafkaError.INVALID_CONFIG,
         KafkaError.POLICY_VIOLATION, KafkaError.TOPIC_EXCEPTION)  # fmt: skip
GLANCE_S = 1.0


class Unfit(ClusterSilent):
    """The cluster did answer: it cannot make what is asked for."""


class Workplace:
    """The topics of a scenario, made and removed with the login of the user that works there."""

    def __init__(self, cluster: Cluster, user: str) -> None:
        self.user = user
        self._mode = cluster.mode
        self.settings = cluster.client(user)
        self.cheap = cluster.cheap_client(user)
        self.errors: list[str] = []
        self.unseen: list[str] = []
        """Topics that were there before, and whose settings this user may not see."""
        self._client = admin_client(self.settings, self.errors)

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
        try:
            for name, future in self._by_controller(self._client.create_topics, asked).items():
                if self._made(name, future):
                    made.append(name)
            self._check_shapes([topic for topic in topics if topic.name not in made])
        except BaseException:
            with suppress(KastellanError):
                self.remove(made)
            raise
        return made

    def _made(self, name: str, future: Any) -> bool:
        """False: it is there already."""
        try:
            future.result()
        except KafkaException as error:
            if error.args[0].code() != KafkaError.TOPIC_ALREADY_EXISTS and not self._lists(name):
                self._done(future.result, "Create", "Topic", name)
            return False
        return True

    def _by_controller(self, call: Callable[..., dict[str, Any]], asked: list[Any]) -> dict[str, Any]:
        """ZooKeeper mode: a broker that is the controller no more says so, and librdkafka goes on asking it."""
        answers: dict[str, Any] = {}
        until_s = time.monotonic() + ANSWER_S

        def told() -> bool:
            answers.update(call(asked, request_timeout=max(GLANCE_S, until_s - time.monotonic())))
            if not any(_refused_with(future, KafkaError.NOT_CONTROLLER) for future in answers.values()):
                return True
            with suppress(KafkaException):
                self._client.list_topics(timeout=GLANCE_S)  # which also tells librdkafka who it is by now
            return False

        wait_until(told, timeout_s=ANSWER_S, every_s=0.2)
        return answers

    def _check_shapes(self, topics: Sequence[Topic]) -> None:
        there = self._shapes([topic.name for topic in topics])
        for topic in topics:
            partitions, replication = there.get(topic.name, (topic.partitions, topic.replication))
            if (partitions, replication) != (topic.partitions, topic.replication):
                raise UsageError(
                    f"Topic {topic.name} exists with another shape.",
                    details=f"It has {partitions} partitions of replication {replication}, what is needed is "
                    f"{topic.partitions} of {topic.replication}.",
                    resolution=OTHERS,
                )
            if topic.config and topic.name in there:
                self._check_settings(topic)

    def _check_settings(self, topic: Topic) -> None:
        """As far as this user may see them: who may only write to a topic does not know them."""
        asked = ConfigResource(ResourceType.TOPIC, topic.name)
        future = self._client.describe_configs([asked], request_timeout=ANSWER_S)[asked]
        if _refused_with(future, KafkaError.TOPIC_AUTHORIZATION_FAILED):
            self.unseen.append(topic.name)
            return
        found = self._done(future.result, "DescribeConfigs", "Topic", topic.name)
        other = [
            f"{name} is {has}, what is needed is {value}"
            for name, value in topic.config.items()
            if (has := found[name].value if name in found else None) != value
        ]
        if other:
            raise UsageError(
                f"Topic {topic.name} exists with other settings.", details=f"{'; '.join(other)}.", resolution=OTHERS
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
            self._check_group(f"{group}{LOOKING}", topics[0].name)

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
        if right := groups.lacking_right(self.settings, group, topic, ANSWER_S):
            raise self.missing(right, "Group", group.removesuffix(LOOKING))
        self.remove_group(group)

    def remove(self, names: Sequence[str]) -> None:
        """Gone when nobody lists them any more."""
        try:
            if names:
                self._remove(names)
        except KafkaException as error:
            raise ClusterSilent(
                f"Whether the topics {', '.join(names)} are gone is not known.", details=str(error.args[0])
            ) from error

    def _remove(self, names: Sequence[str]) -> None:
        for name, future in self._by_controller(self._client.delete_topics, list(names)).items():
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
        with suppress(ClusterSilent):
            groups.remove(self.settings, group, ANSWER_S)

    def _shapes(self, names: Sequence[str]) -> dict[str, tuple[int, int]]:
        found = self._client.list_topics(timeout=ANSWER_S).topics
        return {
            name: (len(found[name].partitions), len(next(iter(found[name].partitions.values())).replicas))
            for name in names
            if name in found and found[name].partitions and not found[name].error
        }

    def _lists(self, name: str) -> bool:
        """A broker that waits with the request before answers none after it: what went wrong is told by that one."""
        try:
            return name in self._shapes([name])
        except KafkaException:
            return False

    def _have(self, operations: Any, needed: Sequence[str], kind: str, name: str) -> None:
        have = {operation.name for operation in operations or ()}
        lacking = [word for word in needed if word not in have]
        if lacking:
            raise self.missing(lacking[0], kind, name)

    def _done(self, result: Callable[[], Any], operation: str, kind: str, name: str) -> Any:
        try:
            return result()
        except KafkaException as error:
            if error.args[0].name().endswith("_AUTHORIZATION_FAILED"):
                raise self.missing(operation, kind, name) from error
            if error.args[0].code() == KafkaError.UNKNOWN_TOPIC_OR_PART:
                raise
            if error.args[0].code() in UNFIT:
                raise Unfit(
                    f"The cluster cannot make {kind.lower()} {name} like this.",
                    details=f"{error.args[0].name()}: {error.args[0].str()}",
                    resolution="Is it asked for more replicas than there are brokers, or with an unknown setting?",
                ) from error
            raise ClusterSilent(
                f"The cluster refuses {operation} of {kind.lower()} {name}.",
                details=f"{error.args[0].name()}: {error.args[0].str()}",
            ) from error

    def missing(self, operation: str, kind: str, name: str) -> UsageError:
        word = operation.capitalize() if operation.isupper() else operation
        pattern = f"{OURS} (prefixed)" if name.startswith(OURS) else name
        return UsageError(
            f"User {self.user!r} lacks the right {word} on {kind} {name}.",
            details=f"There is no ACL that allows {word} to User:{self.user}, or one that denies it.",
            resolution=f"Add an ACL: principal {self.user}, operation {word}, {kind.lower()} {pattern}.",
        )


def _refused_with(future: Any, code: int) -> bool:
    try:
        future.result()
    except KafkaException as error:
        return bool(error.args[0].code() == code)
    return False
