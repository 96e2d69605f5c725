"""What planning costs where there are many brokers: the real functions of inventory, roles and gate, and a model of the
cluster they plan for. `python -m tests.bench.large_clusters` prints seconds of CPU and MiB for 100 and 1,000 brokers.

The network is not in it: in a real roll each look asks one broker for all metadata and tries to connect to each.
"""

from __future__ import annotations

import importlib.util
import sys
import time
import tracemalloc
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))  # run as a file: its own folder is first on the path, the rooms are not

from ansible.inventory.data import InventoryData  # noqa: E402

from plugins.filter import kafka as filters  # noqa: E402
from plugins.module_utils import node_properties, preflight_rules  # noqa: E402
from plugins.module_utils.facts import Broker, Facts, Partition, Voter  # noqa: E402
from plugins.module_utils.gate import may_stop, not_whole  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Callable

CONTROLLERS, RACKS, REPLICAS, MIN_IN_SYNC = 5, 3, 3, 2
LEADERS_EACH = 50  # partitions that a broker leads
LISTENERS = [
    {"name": "CLIENT", "port": 9092, "protocol": "SASL_SSL", "client_auth": "none"},
    {"name": "BROKER", "port": 9091, "protocol": "SSL", "client_auth": "required"},
    {"name": "CONTROLLER", "port": 9093, "protocol": "SSL", "client_auth": "required"},
]


def hosts(brokers: int) -> list[dict[str, Any]]:
    """As a stack's outputs name them: the first are dedicated controllers."""
    made = []
    for number in range(1, CONTROLLERS + brokers + 1):
        controller = number <= CONTROLLERS
        made.append({
            "name": f"controller-{number}" if controller else f"broker-{number - CONTROLLERS}",
            "address": f"198.18.{number >> 8}.{number & 255}", "ssh_user": "ops", "ssh_port": 22, "ssh_key_file": None,
            "host_key": f"ssh-ed25519 {number}", "node_id": number, "rack": None if controller else f"r{number % RACKS}",
            "roles": ["kafka_controller" if controller else "kafka_broker"],
        })  # fmt: skip
    return made


def inventory(found: list[dict[str, Any]]) -> InventoryData:
    """By the inventory plugin itself."""
    spec = importlib.util.spec_from_file_location("kastellan_inventory", ROOT / "plugins/inventory/pulumi.py")
    assert spec is not None
    assert spec.loader is not None
    plugin = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(plugin)
    made = plugin.InventoryModule()
    made.inventory = InventoryData()
    made._options = {"strict": False, "compose": {}, "groups": {}, "keyed_groups": []}
    made._fill(found, "large", Path("/state"))
    return made.inventory


def settings(filled: InventoryData) -> dict[str, Any]:
    """What role kafka makes of the inventory, before any host is asked."""
    of_hosts = {
        name: {**host.vars, "group_names": [group.name for group in host.get_groups()]}
        for name, host in filled.hosts.items()
    }
    nodes = filters.nodes(filled.get_groups_dict()["kafka"], of_hosts)
    return {
        "mode": "kraft", "version": "4.3.1", "quorum": "dynamic", "nodes": nodes, "node": nodes[-1],
        "listeners": LISTENERS, "sasl_mechanisms": ["SCRAM-SHA-512"], "super_users": ["admin"], "plain_users": {},
        "config_dir": "/etc/kafka", "data_dirs": ["/var/lib/kafka/data"], "config": {}, "topics": [], "users": [],
        "acls": [], "quotas": [], "admin_user": "admin", "cluster_defaults": {"min.insync.replicas": 2},
        "distribution": "maven", "archive_sha512": "",
    }  # fmt: skip


def properties(given: dict[str, Any]) -> list[dict[str, str]]:
    """server.properties of every node, as each host's own template asks for it."""
    return [node_properties.server_properties({**given, "node": node}) for node in given["nodes"]]


@dataclass
class Model:
    """A cluster that does what a real one would when a broker stops and comes back."""

    facts: Facts

    @classmethod
    def of(cls, brokers: int) -> Model:
        ids = range(CONTROLLERS + 1, CONTROLLERS + brokers + 1)
        partitions = tuple(_partition(number, brokers) for number in range(brokers * LEADERS_EACH))
        return cls(
            Facts(
                cluster_id="model", mode="kraft", controller_id=1,
                brokers=tuple(Broker(n, f"broker-{n - CONTROLLERS}", 9092, f"r{n % RACKS}") for n in ids),
                voters=tuple(Voter(n, 100, 0, 0) for n in range(1, CONTROLLERS + 1)),
                observers=(), partitions=partitions, features={},
            )
        )  # fmt: skip

    def stop(self, node_id: int) -> None:
        self.facts = replace(
            self.facts,
            brokers=tuple(replace(b, fenced=True) if b.id == node_id else b for b in self.facts.brokers),
            partitions=tuple(_without(p, node_id) if node_id in p.in_sync else p for p in self.facts.partitions),
        )

    def come_back(self, node_id: int) -> None:
        self.facts = replace(
            self.facts,
            brokers=tuple(replace(b, fenced=False) if b.id == node_id else b for b in self.facts.brokers),
            partitions=tuple(
                replace(p, in_sync=p.replicas) if node_id in p.replicas else p for p in self.facts.partitions
            ),
        )


def _partition(number: int, brokers: int) -> Partition:
    replicas = tuple(CONTROLLERS + 1 + (number + step) % brokers for step in range(REPLICAS))
    return Partition(
        f"topic-{number // LEADERS_EACH}", number % LEADERS_EACH, replicas[0], replicas, replicas, MIN_IN_SYNC
    )


def _without(partition: Partition, node_id: int) -> Partition:
    left = tuple(one for one in partition.in_sync if one != node_id)
    return replace(partition, in_sync=left, leader=left[0] if partition.leader == node_id else partition.leader)


def roll(model: Model, given: dict[str, Any], most: int | None = None) -> list[str]:
    """A rolling restart by the real order and the real gate; returns who was restarted. Raises if a stop is refused."""
    names = [node["name"] for node in given["nodes"] if "kafka_broker" in node["roles"]]
    done = []
    for node in filters.restart_order(given["nodes"], names, model.facts.result())[:most]:
        verdict = may_stop(model.facts, node["node_id"])
        if not verdict.allowed:
            raise RuntimeError("; ".join(verdict.reasons))
        model.stop(node["node_id"])
        if not not_whole(model.facts, expected=sorted(model.facts.live | {node["node_id"]})):
            raise RuntimeError(f"{node['name']} is down, and nobody noticed")
        model.come_back(node["node_id"])
        if lacking := not_whole(model.facts, expected=sorted(model.facts.live)):
            raise RuntimeError("; ".join(lacking))
        done.append(node["name"])
    return done


def cost(work: Callable[[], Any]) -> tuple[Any, float, float]:
    """What it gave, its seconds of CPU, and MiB at its peak, each in a run of its own: tracing costs time."""
    began_s = time.process_time()
    made = work()
    took_s = time.process_time() - began_s
    tracemalloc.start()
    work()
    peak = tracemalloc.get_traced_memory()[1] / 2**20
    tracemalloc.stop()
    return made, took_s, peak


def measure(brokers: int) -> list[tuple[str, float, float]]:
    filled, *of_inventory = cost(lambda: inventory(hosts(brokers)))
    given, *of_settings = cost(lambda: settings(filled))
    problems, *of_preflight = cost(lambda: preflight_rules.inventory_problems(given))
    if problems:
        raise RuntimeError(f"the model's own inventory is refused: {problems}")
    _, *of_properties = cost(lambda: properties(given))
    model, *of_facts = cost(lambda: Model.of(brokers))
    last = CONTROLLERS + brokers
    _, *of_gate = cost(lambda: may_stop(model.facts, last))
    _, *of_whole = cost(lambda: not_whole(model.facts))
    rows = [
        ("inventory", of_inventory), ("what each node knows of the others", of_settings), ("preflight", of_preflight),
        ("server.properties of all", of_properties), ("facts of the cluster, as held", of_facts),
        ("gate, one look", of_gate), ("whole again, one look", of_whole),
    ]  # fmt: skip
    return [(name, took_s, peak) for name, (took_s, peak) in rows]


def main() -> int:
    for brokers in (100, 1000):
        print(f"{brokers} brokers, {CONTROLLERS} controllers, {brokers * LEADERS_EACH:,} partitions of {REPLICAS}")
        for name, took_s, peak in measure(brokers):
            print(f"  {name:<36} {took_s:8.3f} s {peak:8.1f} MiB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
