"""Brokers on an ensemble that is not theirs: another inventory made it, and its owner gave them a certificate."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import pytest

from tests.system.kafka_cluster import Cluster, Played, read, write
from tests.system.lab import Lab, new_lab
from tests.system.zookeeper.looking import nodes

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = [pytest.mark.system, pytest.mark.long]

HOSTS = """\
provider: nspawn
network: auto
groups:
  broker: {prefix: broker, count: 2, address: 11, roles: [kafka_broker], memory: 1024MiB, disk: 2GiB}
  zookeeper: {prefix: zookeeper, count: 1, address: 21, roles: [zookeeper], memory: 640MiB, disk: 1GiB}
"""
VARIABLES = """\
kafka_mode: zookeeper
kafka_version: 3.9.2
kafka_heap_size: 384m
kafka_zookeeper_connect: "{address}:2182"
kafka_zookeeper_chroot: /guests/ours
kafka_zookeeper_certificate: {login}/cert.pem
kafka_zookeeper_key: {login}/key.pem
kafka_zookeeper_ca: {login}/ca.pem
kafka_topics: [{{name: t, partitions: 1, replication_factor: 2, config: {{min.insync.replicas: 1}}}}]
kafka_users: [{{name: usercc}}]
kafka_acls:
  - {{principal: usercc, resource_type: topic, name: t, operations: [read, write]}}
  - {{principal: usercc, resource_type: group, name: g, operations: [read]}}
"""


class Apart:
    """Two inventories of the same hosts, each with a state of its own, neither of which knows the other's."""

    def __init__(self, lab: Lab, folder: Path) -> None:
        self.lab, self.folder, self._cluster = lab, folder, Cluster(lab)
        found = {host["name"]: host["address"] for host in lab.outputs()["hosts"]}
        self.address = found["zookeeper-1"]
        guests = [f"{name} ansible_host={found[name]}" for name in ("broker-1", "broker-2")]
        keeper = f"zookeeper-1 ansible_host={self.address} zookeeper_id=1"
        self._invent("theirs", "[zookeeper]", keeper, "[guests]", *guests, "[zookeeper:vars]",
                       "zookeeper_heap_size=128m", "zookeeper_clients=['broker-1', 'broker-2']")  # fmt: skip
        brokers = [f"{guest} kafka_node_id={number}" for number, guest in enumerate(guests, 1)]
        self._brokers = ["[kafka_broker]", *brokers, "[kafka:children]", "kafka_broker"]
        self._invent("ours", *self._brokers)
        (folder / "group_vars").mkdir()
        text = VARIABLES.format(address=self.address, login=folder / "clients/kafka")
        (folder / "group_vars/kafka.yml").write_text(text, encoding="utf-8")

    def _invent(self, name: str, *groups: str) -> None:
        self.lab.invent(self.folder / f"{name}.ini", *groups, state_dir=self.folder / name)

    def invent_another(self) -> None:
        """The same brokers on the same place, by somebody whose state knows of no cluster there."""
        self._invent("another", *self._brokers)

    def play(self, whose: str, name: str, *words: str, check: bool = True) -> Played:
        return self._cluster.play(name, "-i", str(self.folder / f"{whose}.ini"), *words, check=check)

    def give_a_login(self) -> None:
        """What the ensemble's owner does for a guest."""
        words = ("issue", "--pki", str(self.folder / "theirs/pki-zookeeper"), "--clients", str(self.folder / "clients"))
        self.lab.run(".venv/bin/python", "-m", "certs", *words, "kafka")

    def client(self) -> dict[str, Any]:
        found = json.loads((self.folder / "ours/clients/usercc/librdkafka.json").read_text(encoding="utf-8"))
        return dict(found)


@pytest.fixture(scope="module")
def apart(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Apart]:
    with new_lab(HOSTS) as lab:
        lab.kastellan("up", "--until", "hosts")
        made = Apart(lab, tmp_path_factory.mktemp("apart"))
        made.play("theirs", "site")
        made.give_a_login()
        made.play("ours", "site")
        yield made


def test_brokers_serve_on_an_ensemble_of_others(apart: Apart) -> None:
    assert write(apart.client(), "t") == [""]
    assert read(apart.client(), "t", "g") == "record"


def test_a_second_run_changes_nothing_and_nothing_drifts(apart: Apart) -> None:
    again = apart.play("ours", "site")
    assert again.changed == 0, again.output
    drift = apart.play("ours", "drift").output
    assert drift.count("Nothing differs from what is declared.") == 2, drift


def test_what_is_not_below_the_chroot_is_as_its_owner_left_it(apart: Apart) -> None:
    found = nodes(apart.lab, apart.address)
    assert [found[path] for path in ("/", "/zookeeper")] == ["world:anyone:cdrwa"] * 2
    assert {"/guests/ours/brokers/ids/1", "/guests/ours/config/users/usercc"} < found.keys()
    world = {path: re.findall(r"world:anyone:(\w+)", rights) for path, rights in found.items()}
    ours = {path: rights for path, rights in world.items() if path.startswith("/guests/ours")}
    assert {path for path, rights in ours.items() if rights and set(rights) != {"r"}} == set()
    assert not ours["/guests/ours"]
    assert not ours["/guests/ours/config/users/usercc"]


def test_health_asks_the_others_servers_and_the_proof_leaves_them_alone(apart: Apart) -> None:
    report = apart.folder / "health.json"
    apart.play("ours", "health", "-e", f"kafka_health_file={report}")
    found = json.loads(report.read_text(encoding="utf-8"))["ensemble"]
    assert (found["leader"], found["followers"]) == (apart.address, [])
    described = json.loads((apart.folder / "ours/cluster.json").read_text(encoding="utf-8"))
    assert [host["name"] for host in described["hosts"]] == ["broker-1", "broker-2"]


def test_a_renewed_login_restarts_the_brokers_one_by_one(apart: Apart) -> None:
    for path in (apart.folder / "clients/kafka").iterdir():
        path.unlink()
    apart.give_a_login()
    rolled = apart.play("ours", "site")
    assert sorted(rolled.restarted) == ["broker-1", "broker-2"]
    assert write(apart.client(), "t") == [""]
    assert apart.play("ours", "site").changed == 0


def test_a_place_that_belongs_to_another_cluster_is_refused_and_those_who_serve_serve_on(apart: Apart) -> None:
    """The last one: what is installed on the brokers' disks is another cluster's afterwards."""
    apart.invent_another()
    words = ("-e", '{"kafka_data_dirs": ["/var/lib/kafka/other"]}')
    refused = apart.play("another", "site", *words, check=False)
    assert refused.code != 0
    assert "/guests/ours belongs to cluster" in refused.output
    assert refused.restarted == []
    assert write(apart.client(), "t") == [""]
