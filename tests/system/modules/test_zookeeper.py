"""The same modules against the last line of Kafka with ZooKeeper."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.system.kafka_processes import Processes, zookeeper
from tests.system.modules.calls import Modules

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = [pytest.mark.system, pytest.mark.long]


@pytest.fixture(scope="module")
def old_brokers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Processes]:
    with zookeeper(tmp_path_factory.mktemp("zookeeper")) as made:
        yield made


@pytest.fixture
def modules(old_brokers: Processes) -> Modules:
    return Modules(old_brokers)


@pytest.fixture(params=[1, 2])
def from_either(request: pytest.FixtureRequest, old_brokers: Processes) -> Modules:
    """Only one of the two brokers is the controller; both must do to begin with."""
    server = old_brokers.servers()[request.param - 1]
    return Modules(old_brokers, bootstrap_servers=[server], client=old_brokers.client())


def test_topics(from_either: Modules) -> None:
    item: dict[str, Any] = {"name": "t", "partitions": 2, "replication_factor": 1, "config": {"retention.ms": 1000}}
    from_either.steady("kafka_topics", topics=[item])
    plan = from_either.steady(
        "kafka_topics", topics=[{"name": "t", "partitions": 3, "replication_factor": 2, "config": {"segment.ms": 9000}}]
    )
    assert [line.split()[0] for line in plan] == ["move", "grow", "configure"]
    from_either.steady("kafka_topics", topics=[{"name": "t", "state": "absent"}])
    for check in (True, False):
        bad = [{"name": "bad", "config": {"retention.ms": "soon"}}]
        assert "Invalid value soon" in from_either.refused("kafka_topics", topics=bad, check=check)


def test_acls(from_either: Modules) -> None:
    items = [{"principal": "ann", "resource_type": "topic", "name": "t", "operations": ["read", "write"]}]
    assert len(from_either.steady("kafka_acls", acls=items)) == 2
    assert len(from_either.steady("kafka_acls", acls=[{**items[0], "state": "absent"}])) == 2


def test_users(from_either: Modules) -> None:
    item: dict[str, Any] = {"name": "lena", "password": "pä,=", "mechanisms": ["SCRAM-SHA-256", "SCRAM-SHA-512"]}
    assert len(from_either.steady("kafka_scram_users", users=[item])) == 2
    assert len(from_either.steady("kafka_scram_users", users=[{**item, "password": "other"}])) == 2
    from_either.steady("kafka_scram_users", users=[{"name": "lena", "state": "absent"}])


def test_quotas(from_either: Modules) -> None:
    items = [
        {"user": "ann", "quotas": {"producer_byte_rate": 1000}},
        {"user": "<default>", "client_id": "<default>", "quotas": {"consumer_byte_rate": 1000}},
        {"ip": "127.0.0.9", "quotas": {"connection_creation_rate": 10}},
    ]
    assert len(from_either.steady("kafka_quotas", quotas=items)) == 3
    assert len(from_either.steady("kafka_quotas", quotas=items[:1], remove_strays=True)) == 2
    from_either.steady("kafka_quotas", quotas=[{"user": "ann", "state": "absent"}])


def test_facts_and_gate(modules: Modules) -> None:
    modules.done(
        "kafka_topics", topics=[{"name": "two", "replication_factor": 2, "config": {"min.insync.replicas": 1}}]
    )
    answer = modules.done("kafka_cluster_info", node_id=1, until="whole", expected_brokers=[1, 2])
    assert (answer["mode"], answer["quorum"]) == ("zookeeper", None)
    assert answer["controller_id"] in {1, 2}
    assert answer["gate"]["allowed"]
