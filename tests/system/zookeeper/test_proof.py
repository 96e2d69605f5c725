"""The proof with ZooKeeper: the tests of KRaft, suite failover, and what happens to the ensemble under load."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.system.cluster import test_proof
from tests.system.cluster.test_proof import NORMAL, faults, newest, passes
from tests.system.zookeeper.left_out import taken_over
from validate import scenario

if TYPE_CHECKING:
    from tests.system.kafka_cluster import Cluster

pytestmark = [pytest.mark.system, pytest.mark.spark, pytest.mark.long]

# Below they have tests of their own, which look closer.
CLOSER = ("expire-session", "kill-two-zookeepers")
FAILOVER = [
    one.id
    for one in scenario.load_all()
    if "zookeeper" in one.modes
    and "failover" in one.suites
    and one.id not in {*NORMAL, *CLOSER}
    and not one.only_on_request  # needs a setting of the brokers
]
SEEN = "sudo grep -ciE 'session (0x[0-9a-f]+ has )?expired' /var/log/kafka/server.log || true"

globals().update(taken_over(test_proof, but=("test_every_other_scenario_is_passed",)))


@pytest.mark.timeout(1800)
@pytest.mark.parametrize("name", FAILOVER)
def test_every_other_scenario_is_passed(cluster: Cluster, name: str) -> None:
    passes(cluster, name)


def test_two_of_three_zookeepers_away_keep_metadata_as_it_is_and_records_going(cluster: Cluster) -> None:
    notes = " ".join(passes(cluster, "kill-two-zookeepers")["notes"])
    assert "2 of 3 voters away: no quorum while it lasts." in notes
    assert "No topic could be made meanwhile, and that was told after" in notes
    assert "Topics could be made again" in notes


def test_a_broker_whose_session_expired_comes_back_and_nothing_is_missing(cluster: Cluster) -> None:
    def expired() -> dict[str, int]:
        """How often each broker says that it was told so."""
        return {host: int(cluster.lab.ssh(host, SEEN)) for host in cluster.nodes()}

    before = expired()
    passes(cluster, "expire-session")
    after = expired()
    hit = {row["target"] for row in faults(newest(cluster), "expire-session")}
    assert {host for host in after if after[host] > before[host]} == hit
