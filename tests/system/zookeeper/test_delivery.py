"""Delivery semantics and the labs with ZooKeeper: the tests of KRaft, and the labs that are no rows of that table."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.system.cluster import test_delivery
from tests.system.cluster.test_proof import ROWS, passes
from tests.system.zookeeper.left_out import taken_over
from validate import scenario

if TYPE_CHECKING:
    from tests.system.kafka_cluster import Cluster

pytestmark = [pytest.mark.system, pytest.mark.spark, pytest.mark.long]

LABS = [
    one.id for one in scenario.load_all() if "lab" in one.suites and "zookeeper" in one.modes and one.id not in ROWS
]

globals().update(taken_over(test_delivery))


@pytest.mark.timeout(1800)
@pytest.mark.parametrize("name", LABS)
def test_every_lab_is_passed(cluster: Cluster, name: str) -> None:
    passes(cluster, name)
