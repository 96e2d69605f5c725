"""Upkeep with ZooKeeper: the tests of KRaft, and what stands for those about voters. Long ones all."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.system.cluster import test_upkeep
from tests.system.cluster.test_upkeep import brokers, is_refused, refilled
from tests.system.kafka_cluster import Writer
from tests.system.zookeeper.left_out import taken_over

if TYPE_CHECKING:
    from tests.system.kafka_cluster import Cluster

pytestmark = [pytest.mark.system, pytest.mark.long]

globals().update(taken_over(test_upkeep))


def test_what_this_mode_does_not_have_is_refused_before_anything_changes(cluster: Cluster) -> None:
    bad = {
        "kafka_version": "4.3.1", "kafka_quorum": "static", "zookeeper_id": 1,
        "kafka_config": {"controller.quorum.fetch.timeout.ms": 1}, "kafka_zookeeper_chroot": "kafka",
    }  # fmt: skip
    is_refused(
        cluster,
        bad,
        "Kafka 4.3.1 has no ZooKeeper mode; 3.9.2 is the last version with it",
        "kafka_quorum is static, which is about KRaft",
        "kafka_config sets controller.quorum.fetch.timeout.ms, which means nothing while kafka_mode is zookeeper",
        "zookeeper_id 1 is given to zookeeper-1 and zookeeper-2 and zookeeper-3: ids are unique.",
        "begin with / and do not end with it, e.g. /kafka.",
    )


def test_a_wiped_broker_refills(cluster: Cluster) -> None:
    refilled(cluster, brokers(cluster)[-1])
    assert cluster.play("site").changed == 0


def test_a_fourth_broker_joins(cluster: Cluster) -> None:
    """The ensemble lets it in, and its principal is known to the others, who are restarted for that. It stays."""
    cluster.lab.native("pulumi", "config", "set", "--stack", "local", "--path", "kastellan:groups.broker.count", "4")
    cluster.lab.kastellan("up", "--until", "hosts")
    with Writer(cluster.bundle("usercc"), "Topic_Four") as writer:
        cluster.play("site")
    assert brokers(cluster) == ["broker-1", "broker-2", "broker-3", "broker-4"]
    assert writer.refused == []
    assert writer.lost("after-the-fourth") == set()
    assert cluster.health()["problems"] == []
    assert cluster.play("site").changed == 0
