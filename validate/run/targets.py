"""Who is hit: a word of the scenario becomes hosts, by what the cluster says at that moment and by the seed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from common.errors import KastellanError

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Sequence

    from validate.admin import Admin, Partition
    from validate.cluster import Cluster, Host
    from validate.scenario import Step


class NoTarget(KastellanError):
    """There is nobody to hit; nothing was tried, so nothing is known."""

    exit_code = 2


def choose(
    cluster: Cluster, step: Step, partitions: Sequence[Partition], admin: Admin, group: str, chance: random.Random
) -> list[Host]:
    brokers = list(cluster.brokers)
    ways: dict[str, Callable[[], list[Host]]] = {
        "all": lambda: [host for host in cluster.hosts if host.is_broker or host.is_controller],
        "minority": lambda: _minority(cluster, chance),
        "two-brokers": lambda: _two(brokers, chance),
        "leader": lambda: [cluster.host_of(_replica(step, partitions, chance))],
        "follower": lambda: [cluster.host_of(_replica(step, partitions, chance))],
        "controller": lambda: [cluster.host_of(admin.controller())],
        "zookeeper": lambda: _zookeepers(cluster, 1, chance),
        "two-zookeepers": lambda: _zookeepers(cluster, 2, chance),
        "coordinator": lambda: [cluster.host_of(admin.coordinator(group))],
        "broker": lambda: [chance.choice(brokers)],
    }
    return ways[step.target]()


def _two(brokers: list[Host], chance: random.Random) -> list[Host]:
    if len(brokers) < 2:  # noqa: PLR2004  two are asked for
        raise NoTarget("Two brokers are to be hit, and there are not two.")
    return chance.sample(brokers, 2)


def _zookeepers(cluster: Cluster, count: int, chance: random.Random) -> list[Host]:
    """Of three at least: what a scenario says of one or two of them holds for those."""
    there = list(cluster.zookeepers)
    if len(there) < 3:  # noqa: PLR2004  as above
        raise NoTarget(f"ZooKeepers are to be hit, and cluster.json lists {len(there)}: three are needed.")
    return chance.sample(there, count)


def _minority(cluster: Cluster, chance: random.Random) -> list[Host]:
    """As many voters as the quorum can spare; with ZooKeeper one broker."""
    voters = list(cluster.voters) if cluster.mode == "kraft" else list(cluster.brokers)
    spare = (len(voters) - 1) // 2 if cluster.mode == "kraft" else 1
    if spare < 1:
        raise NoTarget(f"Of {len(voters)} voters the quorum can spare none.")
    return chance.sample(voters, spare)


def _replica(step: Step, partitions: Sequence[Partition], chance: random.Random) -> int:
    topic, index = step.of or ("", 0)
    found = next((p for p in partitions if (p.topic, p.index) == (topic, index)), None)
    if found is None or found.leader < 0:
        raise NoTarget(f"{topic}/{index} has no leader at this moment.")
    if step.target == "leader":
        return found.leader
    followers = [node for node in found.in_sync if node != found.leader]
    if not followers:
        raise NoTarget(f"{topic}/{index} has no follower in sync.")
    return chance.choice(followers)
