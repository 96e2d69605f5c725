"""A cluster with ZooKeeper beside its brokers: who is hit, who keeps the quorum, what is cut."""

from __future__ import annotations

import random
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any, cast

import pytest
from confluent_kafka import KafkaError, KafkaException

from tests.unit.validate.control import GOOD, cluster, partitions
from validate import scenario as scenarios
from validate.faults import network
from validate.faults.errors import FaultError
from validate.faults.kinds import scripts_of
from validate.run.expected import forecast, keeps_quorum
from validate.run.targets import NoTarget, choose
from validate.workplace import Workplace

if TYPE_CHECKING:
    from pathlib import Path

    from validate.admin import Admin
    from validate.cluster import Cluster, Host

SHAPES = {"kastellan-one": (1, 2, 2), "kastellan-four": (4, 3, 2)}
NOBODY = cast("Admin", None)


def beside(folder: Path, keepers: int = 3) -> Cluster:
    hosts: list[dict[str, Any]] = [{**host, "roles": ["kafka_broker"]} for host in GOOD["hosts"][:3]]
    hosts += [
        {
            **hosts[0], "name": f"zookeeper-{number}", "address": f"198.18.0.{20 + number}", "node_id": None,
            "roles": ["zookeeper"], "service": "zookeeper", "ports": [2182, 2888],
        }
        for number in range(1, keepers + 1)
    ]  # fmt: skip
    listeners = [listener for listener in GOOD["listeners"] if listener["name"] != "CONTROLLER"]
    return cluster(folder, 1, mode="zookeeper", hosts=hosts, listeners=listeners)


def hit(at_hand: Cluster, target: str) -> list[Host]:
    step = scenarios.Step("kill", None, target=target)
    return choose(at_hand, step, [], NOBODY, "g", random.Random(7))


def test_zookeepers_are_hit_by_their_own_unit_and_brokers_by_theirs(tmp_path: Path) -> None:
    at_hand = beside(tmp_path)
    (keeper,) = hit(at_hand, "zookeeper")
    assert keeper.is_zookeeper
    assert len({host.name for host in hit(at_hand, "two-zookeepers")}) == 2
    assert "unit=zookeeper.service" in scripts_of(at_hand, "kill", keeper, {}).begin
    assert "unit=kafka.service" in scripts_of(at_hand, "kill", at_hand.brokers[0], {}).begin
    assert not any(host.is_zookeeper for host in hit(at_hand, "all"))


def test_one_alone_is_not_hit(tmp_path: Path) -> None:
    with pytest.raises(NoTarget):
        hit(beside(tmp_path, keepers=1), "zookeeper")


def test_a_majority_of_the_ensemble_is_needed_and_brokers_do_not_count(tmp_path: Path) -> None:
    at_hand = beside(tmp_path)
    assert keeps_quorum(at_hand, at_hand.zookeepers[:1])
    assert not keeps_quorum(at_hand, at_hand.zookeepers[:2])
    assert keeps_quorum(at_hand, at_hand.brokers)


@pytest.mark.parametrize("count", [1, 2])
def test_partitions_serve_on_whatever_happens_to_zookeeper(tmp_path: Path, count: int) -> None:
    at_hand = beside(tmp_path)
    step = scenarios.Step("kill", None, target="zookeeper")
    found = forecast(at_hand, step, at_hand.zookeepers[:count], partitions(SHAPES, 3))
    assert not found.silent
    assert any("2 of 3 voters away" in note for note in found.notes) == (count == 2)


def test_a_cut_takes_the_ensembles_ports_along(tmp_path: Path) -> None:
    at_hand = beside(tmp_path)
    broker = at_hand.brokers[0]
    assert "{ 2182, 2888 }" in network.rules(at_hand, broker, cut="controller", direction="both")
    assert "2182" in network.rules(at_hand, broker, cut="all", direction="both")
    assert "2182" not in network.rules(at_hand, broker, cut="clients", direction="both")
    assert "2888" in network.rules(at_hand, at_hand.zookeepers[0], cut="all", direction="both")


def test_what_keeps_the_metadata_must_be_known_to_be_cut_off(tmp_path: Path) -> None:
    at_hand = beside(tmp_path, keepers=0)
    with pytest.raises(FaultError, match="neither a CONTROLLER listener nor a ZooKeeper"):
        network.rules(at_hand, at_hand.brokers[0], cut="controller", direction="both")


class Deleting:
    """In place of librdkafka's administrator: a name stays taken for a while after nobody lists it."""

    def __init__(self, taken: int) -> None:
        self.taken = taken
        self.tried = 0

    def delete_topics(self, names: list[str], **_: Any) -> dict[str, Future[None]]:
        return {name: done() for name in names}

    def create_topics(self, topics: list[Any], *, validate_only: bool, **_: Any) -> dict[str, Future[None]]:
        assert validate_only
        self.tried += 1
        error = KafkaException(KafkaError(KafkaError.TOPIC_ALREADY_EXISTS)) if self.tried <= self.taken else None
        return {topic.topic: done(error) for topic in topics}

    def list_topics(self, **_: Any) -> Any:
        return type("Nothing", (), {"topics": {}})()


def done(error: Exception | None = None) -> Future[None]:
    future: Future[None] = Future()
    if error:
        future.set_exception(error)
    else:
        future.set_result(None)
    return future


@pytest.mark.parametrize(("mode", "asked"), [("zookeeper", 3), ("kraft", 0)])
def test_a_removed_topic_is_gone_when_its_name_is_free(
    tmp_path: Path, mode: str, asked: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = Deleting(taken=2)
    monkeypatch.setattr("validate.workplace.admin_client", lambda *_: client)
    monkeypatch.setattr("validate.cluster.Cluster._bundle", lambda *_: {})
    Workplace(cluster(tmp_path, 1, mode=mode), "validator").remove(["kastellan-one"])
    assert client.tried == asked
