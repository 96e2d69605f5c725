"""Upkeep with ZooKeeper: the tests of KRaft, and what stands for those about voters. Long ones all."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.system.cluster import test_upkeep
from tests.system.cluster.test_upkeep import brokers
from tests.system.kafka_cluster import Writer
from tests.system.zookeeper.left_out import taken_over

if TYPE_CHECKING:
    from tests.system.kafka_cluster import Cluster

pytestmark = [pytest.mark.system, pytest.mark.long]

globals().update(taken_over(test_upkeep))


def test_a_wiped_broker_refills(cluster: Cluster) -> None:
    host = brokers(cluster)[-1]
    with Writer(cluster.bundle("usercc"), "Topic_Four") as writer:
        cluster.lab.ssh(
            host, "sudo systemctl kill -s KILL kafka; sudo systemctl stop kafka; sudo rm -rf /var/lib/kafka/data"
        )
        assert cluster.play("site").restarted == []
    assert writer.refused == []
    assert writer.lost("after-the-wipe") == set()
    assert cluster.health()["under_replicated"] == [], "it has refilled"
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
