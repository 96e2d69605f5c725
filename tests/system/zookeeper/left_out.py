"""What is promised of a KRaft cluster is tried with ZooKeeper by the same tests: all of these files but what is named here.

Files that are not among them try the judge, the workloads and the security checks, on whatever cluster is there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Collection
    from types import ModuleType

SHARED = ("test_secured", "test_upkeep", "test_proof", "test_delivery")
MOST = 10
# Test -> what Kafka does not have in this mode, and what is tried in its place.
LEFT_OUT = {
    "test_secured::test_the_quorum_is_told_by_hand": (
        "kafka-metadata-quorum.sh asks KRaft's quorum, and there is none: the controller is one of the brokers"
    ),
    "test_secured::test_status_shows_the_quorum": (
        "no voters and no lag of theirs; test_ensemble::test_health_shows_a_leader_and_followers looks at ZooKeeper's"
    ),
    "test_upkeep::test_a_wiped_voter_is_replaced_in_the_quorum": (
        "KIP-853 is KRaft's: a broker's disk holds no vote; test_upkeep::test_a_wiped_broker_refills"
    ),
    "test_upkeep::test_a_fifth_broker_joins_and_another_controller_is_refused": (
        "no set of controllers that could differ, and three brokers; test_upkeep::test_a_fourth_broker_joins"
    ),
}


def taken_over(module: ModuleType, *, only: Collection[str] = (), but: Collection[str] = ()) -> dict[str, Any]:
    """Tests of a module, for the names of another one, and its fixtures, which those may need."""
    name = module.__name__.rpartition(".")[2]
    found: dict[str, Any] = {}
    for key, value in vars(module).items():
        of_this = key.startswith("test_") and f"{name}::{key}" not in LEFT_OUT and key not in but
        if (of_this and (not only or key in only)) or type(value).__module__ == "_pytest.fixtures":
            found[key] = value
    return found
