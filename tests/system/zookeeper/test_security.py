"""The suite is green with ZooKeeper; checks 54 to 56 turn red when somebody opens the ensemble, and no other check does."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.system.cluster.breaking import Ground, Sabotage, proven
from tests.system.cluster.test_security import test_the_suite_is_green
from tests.system.zookeeper.breaks import ENSEMBLE

if TYPE_CHECKING:
    from tests.system.kafka_cluster import Cluster

__all__ = ["test_a_break_turns_its_checks_red", "test_the_suite_is_green"]

pytestmark = [pytest.mark.system, pytest.mark.long]


@pytest.mark.parametrize("one", [pytest.param(one, id=one.name) for one in ENSEMBLE])
def test_a_break_turns_its_checks_red(one: Sabotage, cluster: Cluster) -> None:
    proven(one, Ground(cluster), mended=True)
