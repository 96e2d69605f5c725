"""kafka_topics and kafka_cluster_info against brokers."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING, Any

import pytest
from confluent_kafka.admin import (  # type: ignore[attr-defined]
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewTopic,
)
from kafka.protocol.metadata import FindCoordinatorRequest

from plugins.module_utils import topics, topics_backend
from tests.system.kafka_processes import RACKS

if TYPE_CHECKING:
    from tests.system.kafka_processes import Processes
    from tests.system.modules.calls import Modules

pytestmark = pytest.mark.system


def librdkafka(brokers: Processes) -> AdminClient:
    """Another library as the witness, and as whoever changes things behind the module's back."""
    return AdminClient({"bootstrap.servers": ",".join(brokers.servers()), **brokers.client()})


def replicas(brokers: Processes, name: str) -> list[list[int]]:
    metadata = librdkafka(brokers).list_topics(name, timeout=10).topics[name]
    return [partition.replicas for partition in metadata.partitions.values()]


def own_settings(brokers: Processes, name: str) -> dict[str, str]:
    resource = ConfigResource(ConfigResource.Type.TOPIC, name)
    admin = librdkafka(brokers)
    entries = admin.describe_configs([resource])[resource].result()
    return {key: entry.value for key, entry in entries.items() if entry.source == 1}


def test_a_topic_from_creation_to_deletion(modules: Modules, brokers: Processes) -> None:
    item: dict[str, Any] = {"name": "life", "partitions": 2, "replication_factor": 2}
    item["config"] = {"cleanup.policy": ["compact", "delete"], "retention.ms": 60000, "preallocate": True}
    settings = "cleanup.policy=compact,delete, preallocate=true, retention.ms=60000"
    assert modules.steady("kafka_topics", topics=[item]) == [
        f"create topic life: partitions 2, replication factor 2, {settings}"
    ]
    assert len(replicas(brokers, "life")) == 2
    item |= {"partitions": 4, "config": {"retention.ms": "120000"}}
    resets = "cleanup.policy compact,delete -> (default), preallocate true -> (default)"
    assert modules.steady("kafka_topics", topics=[item]) == [
        "grow topic life: partitions 2 -> 4",
        f"configure topic life: {resets}, retention.ms 60000 -> 120000",
    ]
    assert own_settings(brokers, "life") == {"retention.ms": "120000"}
    assert modules.steady("kafka_topics", topics=[{"name": "life", "state": "absent"}]) == [
        "delete topic life with its data"
    ]


def test_what_is_changed_behind_the_back_is_repaired_and_nothing_else(modules: Modules, brokers: Processes) -> None:
    items = [
        {"name": f"back-{n}", "partitions": 1, "replication_factor": 1, "config": {"segment.ms": 70000}} for n in "ab"
    ]
    modules.done("kafka_topics", topics=items)
    admin = librdkafka(brokers)
    entries = [
        ConfigEntry(key, value, incremental_operation=AlterConfigOpType.SET)
        for key, value in {"segment.ms": "80000", "flush.ms": "9"}.items()
    ]
    resource = ConfigResource(ConfigResource.Type.TOPIC, "back-a", incremental_configs=entries)
    admin.incremental_alter_configs([resource])[resource].result()
    for future in admin.create_topics([NewTopic("back-stray", 1, 1)]).values():
        future.result()
    answer = modules.done("kafka_topics", topics=items)
    assert answer["plan"] == ["configure topic back-a: flush.ms 9 -> (default), segment.ms 80000 -> 70000"]
    assert "back-stray" in answer["strays"]
    assert modules.steady("kafka_topics", topics=items, remove_strays=True, ignore_strays=["[!b]*"]) == [
        "delete topic back-stray with its data"
    ]


def test_replicas_move_with_regard_to_racks(modules: Modules, brokers: Processes) -> None:
    item: dict[str, Any] = {"name": "moved", "partitions": 6, "replication_factor": 1}
    modules.done("kafka_topics", topics=[item])
    before = replicas(brokers, "moved")
    plan = modules.steady("kafka_topics", topics=[{**item, "replication_factor": 2, "partitions": 7}])
    assert plan[0] == "move topic moved: replication factor 1 -> 2 (6 partitions)"
    for old, new in zip(before, replicas(brokers, "moved"), strict=False):
        assert new[0] == old[0], "the preferred leader stays"
        assert {RACKS[broker] for broker in new} == {"a", "b"}
    modules.steady("kafka_topics", topics=[{**item, "replication_factor": 3, "partitions": 7}])
    assert all(len(item) == 3 for item in replicas(brokers, "moved"))
    modules.steady("kafka_topics", topics=[{**item, "partitions": 7}])
    assert [item[0] for item in replicas(brokers, "moved")[:6]] == [item[0] for item in before]


def test_internal_topics_stay_as_kafka_made_them(modules: Modules, brokers: Processes) -> None:
    with brokers.cluster() as cluster:
        cluster.ask(FindCoordinatorRequest(key="g", key_type=0, coordinator_keys=["g"]))  # makes __consumer_offsets
        modules.done("kafka_topics", topics=[{"name": "kept", "partitions": 1, "replication_factor": 1}])
        for _ in range(50):
            if "__consumer_offsets" in topics_backend.read(cluster, {}).topics:
                break
    made = own_settings(brokers, "__consumer_offsets")
    assert made["cleanup.policy"] == "compact"
    modules.done("kafka_topics", topics=[{"name": "kept"}, {"name": "__consumer_offsets"}], remove_strays=True)
    assert own_settings(brokers, "__consumer_offsets") == made
    assert "is never deleted" in modules.refused(
        "kafka_topics", topics=[{"name": "__consumer_offsets", "state": "absent"}]
    )


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        ({"name": "bad", "config": {"retention.ms": "soon"}}, "Invalid value soon for configuration retention.ms"),
        ({"name": "bad", "config": {"retention.mss": 1}}, "Unknown topic config name: retention.mss"),
        ({"name": "bad", "replication_factor": 4}, "replication_factor 4 is above the number of brokers, 3."),
        ({"name": "bad", "replication_factor": 1, "config": {"min.insync.replicas": 2}}, "is above the replication"),
    ],
)
def test_bad_input_is_refused_before_anything_changes(modules: Modules, bad: dict[str, Any], words: str) -> None:
    items = [{"name": "good", "partitions": 1, "replication_factor": 1}, bad]
    for check in (True, False):
        assert words in modules.refused("kafka_topics", topics=items, check=check)
    with modules.brokers.cluster() as cluster:
        assert "good" not in topics_backend.read(cluster, topics.parse(items)).topics


def test_three_thousand_partitions_are_created_in_a_few_requests(modules: Modules) -> None:
    items = [{"name": f"many-{n}", "partitions": 60, "replication_factor": 1} for n in range(100)]
    try:
        assert len(modules.done("kafka_topics", topics=items, check=True)["plan"]) == 100
    finally:
        modules.done("kafka_topics", topics=[{"name": item["name"], "state": "absent"} for item in items])


def test_facts_of_a_whole_cluster(modules: Modules) -> None:
    answer = modules.done("kafka_cluster_info", node_id=2, until="whole", expected_brokers=[1, 2, 3])
    assert answer["mode"] == "kraft"
    assert [broker["id"] for broker in answer["brokers"]] == [1, 2, 3]
    assert [broker["rack"] for broker in answer["brokers"]] == ["a", "a", "b"]
    assert [voter["id"] for voter in answer["quorum"]["voters"]] == [1, 2, 3]
    assert answer["controller_id"] in {1, 2, 3}
    assert answer["features"]["metadata.version"] > 0
    assert answer["not_whole"] == answer["offline"] == answer["under_replicated"] == []
    assert answer["gate"]["allowed"]


def test_a_dead_broker_shuts_the_gate_for_the_others_until_it_is_back(modules: Modules, brokers: Processes) -> None:
    item = {"name": "gated", "partitions": 3, "replication_factor": 3, "config": {"min.insync.replicas": 2}}
    modules.done("kafka_topics", topics=[item])
    modules.done("kafka_cluster_info", until="whole")
    brokers.nodes[3].signal(signal.SIGKILL)
    brokers.nodes[3].end()
    try:
        at_once = modules.done("kafka_cluster_info", node_id=2)
        assert not at_once["gate"]["allowed"], "the cluster itself does not know yet"
        refusal = modules.refused("kafka_cluster_info", until="whole", until_timeout_s=6, expected_brokers=[1, 2, 3])
        assert "brokers not there: 3" in refusal
        answer = modules.done("kafka_cluster_info", node_id=2)
        assert not answer["gate"]["allowed"]
        assert any("quorum would keep 1 of 3 voters" in reason for reason in answer["gate"]["reasons"])
        assert {f"gated-{n}" for n in range(3)} <= set(answer["gate"]["blocked_by"])
        assert {f"gated-{n}" for n in range(3)} <= set(answer["at_min_isr"])
        assert modules.done("kafka_cluster_info", node_id=3)["gate"]["allowed"], "it is down anyway"
    finally:
        brokers.nodes[3].start()
    answer = modules.done(
        "kafka_cluster_info", node_id=2, until="whole", until_timeout_s=60, expected_brokers=[1, 2, 3]
    )
    assert answer["gate"]["allowed"]
    assert modules.done("kafka_cluster_info", node_id=2, until="stoppable")["gate"]["allowed"]
