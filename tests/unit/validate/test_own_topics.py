"""A scenario's own topics: made and removed whoever is the controller by now, and never another's by mistake."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import pytest
from confluent_kafka import KafkaError

from common.errors import UsageError
from tests.unit.validate.control import cluster
from tests.unit.validate.test_workplace import future
from validate import workplace
from validate.quorum import ClusterSilent
from validate.run import one, own_topics
from validate.run.folder import Entry
from validate.run.own_topics import OwnTopics
from validate.scenario import Topic, load
from validate.workplace import Unfit, Workplace

if TYPE_CHECKING:
    from collections.abc import Callable
    from concurrent.futures import Future
    from pathlib import Path

PAIR = Topic("kastellan-pair", 1, 2, {"unclean.leader.election.enable": "true", "min.insync.replicas": "1"})


class Moved:
    """The controller went elsewhere: librdkafka asks the old one until it looks at the metadata again."""

    def __init__(self, settings: dict[str, str] | None = None, *, stays_lost: bool = False) -> None:
        self.there: set[str] = set() if settings is None else {PAIR.name}
        self.settings = {} if settings is None else settings
        self._lost, self._stays_lost = True, stays_lost
        self.refuses: int | None = None

    def _each(self, names: list[str], work: Callable[[str], None]) -> dict[str, Future[Any]]:
        if self._lost:
            return {name: future(error=KafkaError.NOT_CONTROLLER) for name in names}
        for name in names:
            work(name)
        return {name: future() for name in names}

    def create_topics(self, asked: list[Any], **_: Any) -> dict[str, Future[Any]]:
        names = [one.topic for one in asked]
        there = {name: future(error=KafkaError.TOPIC_ALREADY_EXISTS) for name in self.there & set(names)}
        return self._each(names, self.there.add) | ({} if self._lost else there)

    def delete_topics(self, names: list[str], **_: Any) -> dict[str, Future[Any]]:
        return self._each(names, self.there.discard)

    def list_topics(self, **_: Any) -> Any:
        self._lost = self._stays_lost
        one = SimpleNamespace(error=None, partitions={0: SimpleNamespace(replicas=[1, 2])})
        return SimpleNamespace(topics=dict.fromkeys(self.there, one))

    def describe_configs(self, asked: list[Any], **_: Any) -> dict[Any, Future[Any]]:
        told = {name: SimpleNamespace(value=value) for name, value in self.settings.items()}
        return {one: future(told, self.refuses) for one in asked}


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[Moved], Workplace]:
    def made(brokers: Moved) -> Workplace:
        monkeypatch.setattr(workplace, "admin_client", lambda *_: brokers)
        monkeypatch.setattr("validate.cluster.Cluster._bundle", lambda *_: {})
        monkeypatch.setattr(workplace, "TOPIC_BOUND_S", 0.5)
        monkeypatch.setattr(workplace, "ANSWER_S", 0.5)
        return Workplace(cluster(tmp_path), "validator")

    return made


def test_a_controller_that_moved_is_found_again(place: Callable[[Moved], Workplace]) -> None:
    brokers = Moved()
    assert place(brokers).make([PAIR]) == [PAIR.name]
    brokers._lost = True
    place(brokers).remove([PAIR.name])
    assert brokers.there == set()


def test_one_that_is_never_found_is_told(place: Callable[[Moved], Workplace]) -> None:
    with pytest.raises(ClusterSilent, match=r"refuses Create of topic kastellan-pair\.\nNOT_CONTROLLER"):
        place(Moved(stays_lost=True)).make([PAIR])


def test_a_topic_of_other_settings_is_refused(place: Callable[[Moved], Workplace]) -> None:
    """Who takes a topic for his own that allows what the scenario forbids proves nothing."""
    brokers = Moved({"unclean.leader.election.enable": "false", "min.insync.replicas": "1"})
    with pytest.raises(UsageError, match="Topic kastellan-pair exists with other settings") as told:
        place(brokers).make([PAIR])
    assert told.value.details == "unclean.leader.election.enable is false, what is needed is true."
    assert brokers.there == {PAIR.name}


def test_a_topic_of_the_same_settings_is_used_and_stays(place: Callable[[Moved], Workplace]) -> None:
    brokers = Moved({"unclean.leader.election.enable": "true", "min.insync.replicas": "1", "flush.ms": "7"})
    assert place(brokers).make([PAIR]) == []


def test_settings_that_may_not_be_seen_are_told_and_hinder_nobody(place: Callable[[Moved], Workplace]) -> None:
    brokers = Moved({})
    brokers.refuses = KafkaError.TOPIC_AUTHORIZATION_FAILED
    one = place(brokers)
    assert (one.make([PAIR]), one.unseen) == ([], [PAIR.name])


def test_what_was_made_goes_when_the_rest_cannot_be_looked_at(place: Callable[[Moved], Workplace]) -> None:
    brokers = Moved({})
    brokers.refuses = KafkaError._TIMED_OUT
    with pytest.raises(ClusterSilent, match="refuses DescribeConfigs of topic kastellan-pair"):
        place(brokers).make([Topic("kastellan-new", 1, 2, {}), PAIR])
    assert brokers.there == {PAIR.name}


def test_what_no_broker_can_make_leaves_its_scenario_unknown(place: Callable[[Moved], Workplace]) -> None:
    """And no more than that: the next one may be possible."""
    brokers = Moved()
    brokers.create_topics = lambda asked, **_: {  # type: ignore[method-assign]
        one.topic: future(error=KafkaError.INVALID_REPLICATION_FACTOR) for one in asked
    }
    with pytest.raises(Unfit, match="The cluster cannot make topic kastellan-pair like this") as told:
        place(brokers).make([PAIR])
    assert told.value.exit_code == 2


def test_a_cluster_that_goes_away_meanwhile_is_told_as_that(place: Callable[[Moved], Workplace]) -> None:
    brokers = Moved()
    brokers.list_topics = lambda **_: future(error=KafkaError._TRANSPORT).result()  # type: ignore[method-assign]
    brokers._lost = False
    with pytest.raises(ClusterSilent, match="Whether the topics kastellan-pair are gone is not known"):
        place(brokers).remove([PAIR.name])


class Stuck:
    """A workplace whose topics cannot be removed yet."""

    user = "validator"

    def __init__(self) -> None:
        self.stuck, self.removed = True, list[str]()

    def remove(self, names: list[str]) -> None:
        if self.stuck:
            raise ClusterSilent("The cluster refuses Delete.", details="NOT_CONTROLLER")
        self.removed += names


@pytest.fixture
def stuck(monkeypatch: pytest.MonkeyPatch) -> Stuck:
    made = Stuck()
    monkeypatch.setattr(own_topics, "Workplace", lambda *_: made)
    return made


@pytest.fixture
def own(tmp_path: Path) -> OwnTopics:
    """With a topic on record."""
    made = OwnTopics(cluster(tmp_path))
    made.open("validator", [PAIR.name])
    return made


@pytest.fixture
def entry() -> Entry:
    return Entry("clean-election", "t", "t", ["delivery"], "e", "r", {})


def test_what_could_not_be_removed_is_told_and_removed_later(stuck: Stuck, own: OwnTopics, entry: Entry) -> None:
    one._remove(cast("Workplace", stuck), own, [PAIR.name], entry)
    assert entry.notes == ["Its topics could not be removed: The cluster refuses Delete. NOT_CONTROLLER"]
    assert own.left() == {PAIR.name: "validator"}
    own.open("admin", ["kastellan-other"])
    own.close(["kastellan-other"])
    assert own.left() == {PAIR.name: "validator"}, "what another scenario made and removed is no matter of it"
    stuck.stuck = False
    assert (own.remove(), stuck.removed, own.path.exists()) == ([PAIR.name], [PAIR.name], False)


def test_what_is_left_hinders_the_scenario_of_that_name_alone(stuck: Stuck, own: OwnTopics, entry: Entry) -> None:
    with pytest.raises(ClusterSilent, match=r"Topics of a scenario before cannot be removed \(kastellan-pair\)"):
        one._clear(own, load("clean-election"), entry)
    one._clear(own, load("baseline"), entry)
    assert entry.notes == ["Topics of a scenario before are there still (kastellan-pair): The cluster refuses Delete."]
    stuck.stuck = False
    one._clear(own, load("clean-election"), entry)
    assert own.left() == {}


def test_a_scenario_clears_what_is_left_before_it_makes_its_own(
    stuck: Stuck, own: OwnTopics, entry: Entry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def make(_: Any) -> None:
        assert stuck.removed == [PAIR.name]
        raise ClusterSilent("far enough")

    stuck.stuck = False
    place = SimpleNamespace(check_login=lambda: None, make=make, remove_group=lambda _: None)
    monkeypatch.setattr(one, "Workplace", lambda *_: place)
    monkeypatch.setattr(one, "_require_whole", lambda _: None)
    folder = SimpleNamespace(folder=lambda *_: tmp_path)
    context: Any = SimpleNamespace(cluster=cluster(tmp_path), folder=folder, mark="m")
    with pytest.raises(ClusterSilent, match="far enough"):
        one._run(context, load("clean-election"), entry)
    assert own.left() == {}
