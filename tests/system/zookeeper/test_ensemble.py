"""The ensemble: closed to everybody but the brokers, and one of its members is never missed."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from tests.system.kafka_cluster import Cluster, Writer
from tests.system.zookeeper.looking import nodes, on_broker

pytestmark = pytest.mark.system

SECRET = re.compile(r"/kafka/config/(users|brokers)(/|$)|/kafka/delegation_token")


def keeper(cluster: Cluster, number: int = 1) -> str:
    hosts = cluster.document()["hosts"]
    return str(next(host["address"] for host in hosts if host["name"] == f"zookeeper-{number}"))


def test_no_node_is_open_to_the_world_to_write_and_no_secret_one_to_read(cluster: Cluster) -> None:
    found = nodes(cluster.lab, keeper(cluster))
    assert {"/", "/kafka/brokers/ids/1", "/kafka/config/users/usercc", "/kafka/consumers"} < found.keys()
    world = {path: re.findall(r"world:anyone:(\w+)", rights) for path, rights in found.items()}
    assert {path for path, rights in world.items() if rights and set(rights) != {"r"}} == set()
    assert {path for path, rights in world.items() if rights and SECRET.match(path)} == set()
    assert not world["/"]
    assert not world["/kafka/consumers"]


TRY = """
import socket, ssl, sys
address, certificate, key = sys.argv[1], *(sys.argv[2:] + ["", ""])[:2]
plain = socket.create_connection((address, 2182), timeout=5)
context = ssl._create_unverified_context()
if certificate not in ("", "plaintext"):
    context.load_cert_chain(certificate, key or None)
try:
    if certificate != "plaintext":
        plain = context.wrap_socket(plain)
    plain.sendall(b"srvr")
    print("answered" if b"Mode" in plain.recv(4096) else "refused")
except OSError:
    print("refused")
"""
STRANGERS = "/root/stranger.pem"
CERTIFICATES = {
    "nobody's": "",
    "of the cluster": "/etc/kafka/ssl/keystore.pem",
    "of a stranger": STRANGERS,
    "in plaintext": "plaintext",
}
STRANGER = (
    "sudo openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=kafka "
    f"-keyout {STRANGERS} -out {STRANGERS}.c 2>/dev/null; sudo sh -c 'cat {STRANGERS}.c >> {STRANGERS}'"
)


@pytest.mark.parametrize("certificate", CERTIFICATES.values(), ids=list(CERTIFICATES))
def test_whoever_is_no_broker_is_refused_at_connect(cluster: Cluster, certificate: str) -> None:
    cluster.lab.ssh("broker-1", STRANGER)
    try:
        assert on_broker(cluster.lab, TRY, keeper(cluster), "/etc/kafka/ssl/zookeeper.pem") == "answered"
        assert on_broker(cluster.lab, TRY, keeper(cluster), certificate) == "refused"
    finally:
        cluster.lab.ssh("broker-1", f"sudo rm {STRANGERS} {STRANGERS}.c")


def test_a_servers_ports_are_those_declared_and_its_service_is_caged(cluster: Cluster) -> None:
    listening = cluster.lab.ssh("zookeeper-1", "ss -Hltn | awk '{print $4}' | sed 's/.*://' | sort -un")
    assert set(listening.split()) <= {"22", "2182", "2888", "3888"}
    exposure = cluster.lab.ssh("zookeeper-1", "systemd-analyze security zookeeper.service | tail -n 1")
    assert float(exposure.split(": ")[1].split()[0]) <= 1.5
    assert (
        cluster.lab.ssh("zookeeper-1", "ps -o user= -p $(systemctl show -p MainPID --value zookeeper)") == "zookeeper"
    )


@pytest.fixture(scope="module")
def ensemble(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """As playbook health writes it, which fails if anything is not well."""
    report = tmp_path_factory.mktemp("health") / "health.json"
    cluster.play("health", "-e", f"kafka_health_file={report}")
    found: dict[str, Any] = json.loads(report.read_text(encoding="utf-8"))["ensemble"]
    return found


def test_health_shows_a_leader_and_followers(ensemble: dict[str, Any]) -> None:
    assert sorted([ensemble["leader"], *ensemble["followers"]]) == ["zookeeper-1", "zookeeper-2", "zookeeper-3"]
    assert all(member["certificate_days"] > 300 for member in ensemble["members"])


def test_servers_roll_with_the_leader_last_and_no_writer_notices(cluster: Cluster, ensemble: dict[str, Any]) -> None:
    with Writer(cluster.bundle("usercc"), "Topic_Four") as writer:
        rolled = cluster.play("rolling_restart", "--limit", "zookeeper")
    order = re.findall(r"TASK \[.*: Restart: (zookeeper-\d)\]", rolled.output)
    assert sorted(order) == ["zookeeper-1", "zookeeper-2", "zookeeper-3"]
    assert order[-1] == ensemble["leader"]
    assert writer.refused == []
    assert len(writer.acked) > 100
    assert writer.lost("after-the-ensembles-roll") == set()


@pytest.mark.long
def test_a_drifted_server_is_named_and_one_restart_repairs_it(cluster: Cluster) -> None:
    cluster.lab.ssh("zookeeper-2", "echo initLimit=11 | sudo tee -a /etc/zookeeper/zoo.cfg > /dev/null")
    drift = cluster.play("drift", check=False)
    assert drift.code != 0
    assert "zookeeper-2: settings: /etc/zookeeper/zoo.cfg (+initLimit=11)" in drift.output
    repaired = cluster.play("site", "--limit", "zookeeper")
    assert repaired.changed >= 1
    assert "Nothing differs from what is declared." in cluster.play("drift").output
