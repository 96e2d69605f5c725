"""Stack local is the cluster that the exercises speak of: its hosts, topics, users and rights, written down once more."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[3]
SETTINGS = {
    "min.insync.replicas": 2, "flush.ms": 1000, "flush.messages": 10000, "segment.bytes": 1073741824,
    "retention.ms": 36000000,
}  # fmt: skip


@pytest.fixture(scope="module")
def declared() -> dict[str, Any]:
    found: dict[str, Any] = {}
    for path in sorted((ROOT / "inventories/local/group_vars/kafka").glob("*.yml")):
        found |= yaml.safe_load(path.read_text(encoding="utf-8"))
    return found


def test_four_hosts_are_broker_and_controller_each() -> None:
    groups = yaml.safe_load((ROOT / "infra/stacks/local.yaml").read_text(encoding="utf-8"))["groups"]
    broker = groups["broker"]
    assert (broker["prefix"], broker["first"], broker["count"]) == ("broker", 1, 4)
    assert sorted(broker["roles"]) == ["kafka_broker", "kafka_controller"]
    assert (groups["extra"]["count"], groups["extra"]["roles"]) == (0, ["kafka_broker"])


@pytest.mark.parametrize(
    ("name", "partitions", "replicas"), [("Topic_One", 1, 2), ("Topic_Three", 3, 2), ("Topic_Four", 4, 3)]
)
def test_the_three_topics(declared: dict[str, Any], name: str, partitions: int, replicas: int) -> None:
    assert [topic["name"] for topic in declared["kafka_topics"]] == ["Topic_One", "Topic_Three", "Topic_Four"]
    (topic,) = [topic for topic in declared["kafka_topics"] if topic["name"] == name]
    assert topic == {"name": name, "partitions": partitions, "replication_factor": replicas, "config": SETTINGS}


def test_defaults_of_the_cluster_show_on_topics_of_its_own(declared: dict[str, Any]) -> None:
    """But for retention, which is the topics'."""
    assert declared["kafka_cluster_defaults"] == {
        "min.insync.replicas": 2, "log.flush.interval.ms": 1000, "log.flush.interval.messages": 10000,
        "log.segment.bytes": 1073741824,
    }  # fmt: skip


def rights(declared: dict[str, Any], principal: str) -> set[tuple[str, str, str, str]]:
    return {
        (acl["resource_type"], acl["name"], acl.get("pattern_type", "literal"), operation)
        for acl in declared["kafka_acls"]
        if acl["principal"] == principal
        for operation in acl["operations"]
    }


def test_users_and_their_rights_are_these_and_no_more(declared: dict[str, Any]) -> None:
    assert declared["kafka_users"] == [{"name": "usercc"}, {"name": "validator"}], "no password has a default"
    assert {acl["principal"] for acl in declared["kafka_acls"]} == {"usercc", "validator"}
    topics = ("Topic_One", "Topic_Three", "Topic_Four")
    assert rights(declared, "usercc") == {("group", "*", "literal", "read")} | {
        ("topic", topic, "literal", operation)
        for topic in topics
        for operation in ("create", "read", "write", "describe")
    }
    of_validator = rights(declared, "validator")
    assert {(name, pattern) for _, name, pattern, _ in of_validator} == {("kastellan-", "prefixed")}
    assert {kind for kind, *_ in of_validator} == {"topic", "group", "transactional_id"}


def test_version_and_heap(declared: dict[str, Any]) -> None:
    assert (declared["kafka_version"], declared["kafka_heap_size"]) == ("4.3.1", "512m")
    assert "kafka_mode" not in declared, "KRaft is the default"
