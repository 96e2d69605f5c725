"""Upkeep with ZooKeeper: the tests of KRaft, imported; long ones all. Left out: those about voters and about a fifth broker's quorum."""

from __future__ import annotations

import pytest

from tests.system.cluster.test_secured import test_secrets_are_seen_nowhere
from tests.system.cluster.test_upkeep import (
    test_a_changed_setting_rolls_and_loses_nothing,
    test_a_setting_of_the_cluster_restarts_nobody,
    test_drift_names_each_change_and_site_repairs_exactly_those,
)

__all__ = [
    "test_a_changed_setting_rolls_and_loses_nothing",
    "test_a_setting_of_the_cluster_restarts_nobody",
    "test_drift_names_each_change_and_site_repairs_exactly_those",
    "test_secrets_are_seen_nowhere",
]

pytestmark = [pytest.mark.system, pytest.mark.long]
