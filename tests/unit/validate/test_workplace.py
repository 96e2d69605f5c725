"""What the cluster does not let the user do is told before records flow: which right, on what, and what else is wrong."""

from __future__ import annotations

from concurrent.futures import Future
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import AclOperation  # type: ignore[attr-defined]  # it is there
from kafka import errors

from common.errors import UsageError
from tests.unit.validate.control import cluster
from validate import groups, workplace
from validate.quorum import ClusterSilent
from validate.scenario import load
from validate.workplace import Workplace

if TYPE_CHECKING:
    from pathlib import Path

GROUP, SCENARIO = "kastellan-readers", "baseline"
TOPICS = load(SCENARIO).topics
ALL = (AclOperation.READ, AclOperation.WRITE, AclOperation.DESCRIBE)


def future(value: Any = None, error: int | None = None) -> Future[Any]:
    made: Future[Any] = Future()
    if error is None:
        made.set_result(value)
    else:
        made.set_exception(KafkaException(KafkaError(error)))
    return made


class Brokers:
    """In place of librdkafka's administrator: `refuses` are the calls that are not allowed to this user."""

    def __init__(
        self, *refuses: str, rights: tuple[Any, ...] = ALL, there: dict[str, tuple[int, int]] | None = None
    ) -> None:
        self._refuses, self._rights, self.there = refuses, rights, dict(there or {})
        self.removed: list[str] = []
        self.forgotten: list[str] = []
        self.young = 0  # how often the coordinator of a group is not there yet

    def _answer(self, call: str, kind: str, value: Any = None) -> Future[Any]:
        errors = {"topic": KafkaError.TOPIC_AUTHORIZATION_FAILED, "group": KafkaError.GROUP_AUTHORIZATION_FAILED}
        return future(value, errors[kind] if call in self._refuses else None)

    def create_topics(self, topics: list[Any], **_: Any) -> dict[str, Future[Any]]:
        answers = {}
        for topic in topics:
            if topic.topic in self.there:
                answers[topic.topic] = future(error=KafkaError.TOPIC_ALREADY_EXISTS)
                continue
            answers[topic.topic] = self._answer("create", "topic")
            if "create" not in self._refuses:
                self.there[topic.topic] = (topic.num_partitions, topic.replication_factor)
        return answers

    def delete_topics(self, names: list[str], **_: Any) -> dict[str, Future[Any]]:
        if "delete" not in self._refuses:
            self.removed += names
            self.there = {name: shape for name, shape in self.there.items() if name not in names}
        return {name: self._answer("delete", "topic") for name in names}

    def list_topics(self, **_: Any) -> Any:
        def described(partitions: int, replication: int) -> Any:
            one = SimpleNamespace(replicas=list(range(replication)))
            return SimpleNamespace(error=None, partitions=dict.fromkeys(range(partitions), one))

        return SimpleNamespace(topics={name: described(*shape) for name, shape in self.there.items()})

    def describe_topics(self, *_: Any, **__: Any) -> dict[str, Future[Any]]:
        rights = SimpleNamespace(authorized_operations=list(self._rights))
        return {name: self._answer("describe", "topic", rights) for name in [t.name for t in TOPICS]}

    def describe_configs(self, asked: list[Any], **_: Any) -> dict[Any, Future[Any]]:
        told = {key: SimpleNamespace(value=str(value)) for topic in TOPICS for key, value in topic.config.items()}
        return {one: future(told) for one in asked}

    # Of groups another library's administrator is asked.
    def alter_group_offsets(self, _: str, offsets: dict[Any, Any]) -> dict[Any, Any]:
        self.young -= 1
        code = 15 if self.young >= 0 else 30 if "read group" in self._refuses else 0
        return dict.fromkeys(offsets, errors.for_code(code))

    def describe_groups(self, groups: list[str]) -> dict[str, Any]:
        if "describe group" in self._refuses:
            raise errors.GroupAuthorizationFailedError
        return {group: {"error": None, "members": []} for group in groups}

    def delete_groups(self, groups: list[str]) -> list[tuple[str, str]]:
        if "delete group" in self._refuses:
            raise errors.GroupAuthorizationFailedError
        self.forgotten += groups
        return [(group, "OK") for group in groups]


def answering(brokers: Any) -> Any:
    """In place of validate.quorum.asked: without its thread and its client."""

    def asked(_: Any, __: float, question: Any, *, brief: str, resolution: str) -> Any:
        try:
            return question(brokers)
        except Exception as error:
            raise ClusterSilent(brief, details=str(error), resolution=resolution) from error

    return asked


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    def made(brokers: Any) -> Workplace:
        monkeypatch.setattr(workplace, "admin_client", lambda *_: brokers)
        monkeypatch.setattr(groups, "asked", answering(brokers))
        monkeypatch.setattr("validate.cluster.Cluster._bundle", lambda *_: {})
        monkeypatch.setattr(workplace, "TOPIC_BOUND_S", 0.3)
        monkeypatch.setattr(workplace, "ANSWER_S", 0.3)
        return Workplace(cluster(tmp_path), "validator")

    return made


@pytest.mark.parametrize(
    ("lacking", "told"),
    [
        (AclOperation.READ, "lacks the right Read on Topic"),
        (AclOperation.WRITE, "lacks the right Write on Topic"),
        (AclOperation.DESCRIBE, "lacks the right Describe on Topic"),
    ],
)
def test_a_right_on_topics_that_is_missing_is_named(lacking: Any, told: str, place: Any) -> None:
    one = place(Brokers(rights=tuple(right for right in ALL if right != lacking)))
    with pytest.raises(UsageError, match=f"User 'validator' {told} {TOPICS[0].name}") as error:
        one.check_rights(TOPICS, GROUP)
    assert "Add an ACL: principal validator, operation" in error.value.resolution


@pytest.mark.parametrize(
    ("call", "told"),
    [
        ("describe", f"lacks the right Describe on Topic {TOPICS[0].name}"),
        ("read group", f"lacks the right Read on Group {GROUP}"),
        ("describe group", f"lacks the right Describe on Group {GROUP}"),
    ],
)
def test_a_call_that_is_not_allowed_names_the_right(call: str, told: str, place: Any) -> None:
    with pytest.raises(UsageError, match=told):
        place(Brokers(call)).check_rights(TOPICS, GROUP)


def test_who_may_do_all_that_is_needed_is_let_through(place: Any) -> None:
    place(Brokers()).check_rights(TOPICS, GROUP)
    place(Brokers("read group")).check_rights(TOPICS, None)
    # A group that stays behind is no reason to fail.
    place(Brokers("delete group")).check_rights(TOPICS, GROUP)


def test_a_coordinator_that_is_not_there_yet_is_waited_for_and_a_group_of_the_look_is_gone(place: Any) -> None:
    brokers = Brokers()
    brokers.young = 1
    place(brokers).check_rights(TOPICS, GROUP)
    assert brokers.young < 0
    assert brokers.forgotten == [f"{GROUP}-rights"]
    brokers.young = 10**6
    with pytest.raises(ClusterSilent, match="coordinator of a group does not say what was asked"):
        place(brokers).check_rights(TOPICS, GROUP)


def test_topics_that_may_not_be_made_name_the_right(place: Any) -> None:
    with pytest.raises(UsageError, match=f"'validator' lacks the right Create on Topic {TOPICS[0].name}"):
        place(Brokers("create")).make(TOPICS)


def test_topics_that_may_not_be_removed_name_the_right(place: Any) -> None:
    with pytest.raises(UsageError, match="lacks the right Delete on Topic kastellan-x"):
        place(Brokers("delete", there={"kastellan-x": (1, 1)})).remove(["kastellan-x"])


def test_a_topic_of_another_shape_is_told_and_what_was_made_for_it_is_gone(place: Any) -> None:
    brokers = Brokers(there={TOPICS[0].name: (TOPICS[0].partitions + 1, TOPICS[0].replication)})
    with pytest.raises(UsageError, match=f"Topic {TOPICS[0].name} exists with another shape") as told:
        place(brokers).make(TOPICS)
    assert f"It has {TOPICS[0].partitions + 1} partitions of replication {TOPICS[0].replication}" in told.value.details
    assert brokers.removed == [topic.name for topic in TOPICS[1:]]


def test_topics_that_are_there_in_the_same_shape_are_used_and_stay(place: Any) -> None:
    first, *others = TOPICS
    brokers = Brokers(there={first.name: (first.partitions, first.replication)})
    assert place(brokers).make(TOPICS) == [topic.name for topic in others]


class Busy(Brokers):
    """Brokers that wait with the first request, and so with all after it on the same connection."""

    def create_topics(self, topics: list[Any], **_: Any) -> dict[str, Future[Any]]:
        return {topic.topic: future(error=KafkaError._TIMED_OUT) for topic in topics}

    def list_topics(self, **_: Any) -> Any:
        raise KafkaException(KafkaError(KafkaError._TIMED_OUT))


def test_brokers_that_wait_with_a_topic_and_then_say_nothing_are_told_as_silent(place: Any) -> None:
    with pytest.raises(ClusterSilent, match=f"refuses Create of topic {TOPICS[0].name}.\n_TIMED_OUT"):
        place(Busy()).make(TOPICS)


class NoLogin:
    """A broker that refuses the login, or nobody at all."""

    def __init__(self, errors: list[str], said: str) -> None:
        self._errors, self._said = errors, said

    def list_topics(self, **_: Any) -> None:
        raise KafkaException(KafkaError(KafkaError._TRANSPORT))

    def poll(self, _: float) -> None:
        self._errors.append(self._said)


@pytest.mark.parametrize(
    ("said", "kind", "told"),
    [
        ("_AUTHENTICATION: SCRAM: invalid credentials", UsageError, "The cluster does not let 'validator' in"),
        ("_TRANSPORT: Connection refused", ClusterSilent, "The cluster does not answer 'validator'"),
    ],
)
def test_a_wrong_password_is_told_from_a_cluster_that_is_away(
    said: str, kind: type[Exception], told: str, place: Any
) -> None:
    one = place(None)
    one._client = NoLogin(one.errors, said)
    with pytest.raises(kind, match=told) as error:
        one.check_login()
    assert said in str(error.value)
