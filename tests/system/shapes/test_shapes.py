"""Another shape in every respect that the variables offer: dedicated controller, static quorum, PLAIN beside SCRAM, an
authority of the user's own with one in between; then a host that is gone, and the end of it all.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest

from infra.providers.nspawn.cgroup import HostGroup
from tests.system.canaries import leaks, secrets_of, watched_processes
from tests.system.kafka_cluster import Cluster, read, write
from tests.system.lab import new_lab

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = [pytest.mark.system, pytest.mark.long]

HOSTS = """\
provider: nspawn
network: auto
groups:
  controller: {count: 1, address: 5, roles: [kafka_controller], first_node_id: 101, memory: 1024MiB, disk: 2GiB}
  broker: {count: 2, address: 11, roles: [kafka_broker], memory: 1024MiB, disk: 2GiB}
"""
VARIABLES = """\
kafka_version: 4.3.1
kafka_heap_size: 384m
kafka_quorum: static
kafka_sasl_mechanisms: [SCRAM-SHA-512, PLAIN]
kafka_topics: [{{name: kept, partitions: 2, replication_factor: 2, config: {{min.insync.replicas: 1}}}}]
kafka_users: [{{name: usercc}}]
kafka_acls:
  - {{principal: usercc, resource_type: topic, name: kept, operations: [read, write]}}
  - {{principal: usercc, resource_type: group, name: g, operations: [read]}}
kafka_ca_certificates: [{folder}/between.pem, {folder}/root.pem]
kafka_ca_key: {folder}/between.key
"""
AUTHORITY = """
set -eu
new="openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes"
$new -x509 -days 900 -subj "/CN=Corporate root" -keyout root.key -out root.pem
printf 'basicConstraints=critical,CA:TRUE,pathlen:0\\nkeyUsage=critical,keyCertSign,cRLSign\\nsubjectKeyIdentifier=hash\\n' > ca.ext
$new -subj "/CN=Corporate issuing" -keyout between.key |
    openssl x509 -req -CA root.pem -CAkey root.key -days 800 -extfile ca.ext -out between.pem
"""


@pytest.fixture(scope="module")
def shaped(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    folder = tmp_path_factory.mktemp("authority")
    subprocess.run(["sh", "-c", AUTHORITY], cwd=folder, check=True, capture_output=True, timeout=60)
    with new_lab(HOSTS) as lab:
        declared = lab.folder / "inventories/local/group_vars/kafka"
        shutil.rmtree(declared)
        declared.mkdir()
        (declared / "shape.yml").write_text(VARIABLES.format(folder=folder))
        lab.kastellan("up", "--until", "hosts")
        made = Cluster(lab)
        made.play("site")
        yield made


def test_the_controller_is_no_broker_and_the_quorum_is_static(shaped: Cluster) -> None:
    report = shaped.lab.folder / "health.json"
    shaped.play("health", "-e", f"kafka_health_file={report}")
    health = json.loads(report.read_text())
    assert [voter["id"] for voter in health["quorum"]["voters"]] == [101]
    assert health["controller_id"] == 101
    settings = shaped.lab.ssh("broker-1", "sudo cat /etc/kafka/server.properties")
    assert "controller.quorum.voters=101@" in settings
    assert "process.roles=broker\n" in settings
    assert "broker" not in shaped.lab.ssh(
        "controller-1", "sudo grep process.roles /etc/kafka/server.properties"
    ).replace("process.roles", "")
    assert shaped.play("site").changed == 0


@pytest.mark.parametrize("mechanism", ["SCRAM-SHA-512", "PLAIN"])
def test_users_log_in_by_either_mechanism_and_by_nothing_else(shaped: Cluster, mechanism: str) -> None:
    client = {**shaped.bundle("usercc"), "sasl.mechanism": mechanism}
    assert write(client, "kept") == [""]
    assert read(client, "kept", "g") == "record"
    assert write({**client, "sasl.password": "wrong"}, "kept", timeout_s=4) != [""]
    assert write(shaped.bundle("usercc", mtls=True), "kept") == [""]


def test_clients_trust_the_root_and_nodes_send_what_is_in_between(shaped: Cluster, tmp_path: Path) -> None:
    bundle = shaped.lab.state() / "clients" / "usercc"
    subjects = subprocess.run(
        ["sh", "-c", f"openssl crl2pkcs7 -nocrl -certfile {bundle}/ca.pem | openssl pkcs7 -print_certs -noout"],
        capture_output=True, text=True, check=True, timeout=30,
    ).stdout  # fmt: skip
    assert "Corporate root" in subjects
    root = tmp_path / "root.pem"
    root.write_text((bundle / "ca.pem").read_text())
    address = shaped.document()["bootstrap_servers"].split(",")[0]
    shown = subprocess.run(
        ["openssl", "s_client", "-connect", address, "-CAfile", str(root), "-verify_return_error", "-showcerts"],
        stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True, timeout=30,
    ).stdout  # fmt: skip
    assert "Verify return code: 0 (ok)" in shown
    assert "s:CN = Corporate issuing" in shown


def test_a_host_that_is_gone_is_named_and_nothing_changes(shaped: Cluster) -> None:
    HostGroup(shaped.lab.stack_id(), "broker-2").end()
    refused = shaped.play("site", "-e", '{"kafka_config": {"num.io.threads": 9}}', check=False)
    assert refused.code != 0
    assert refused.changed == 0
    assert refused.restarted == []
    assert "broker-2" in refused.output
    assert "UNREACHABLE" in refused.output
    shaped.lab.kastellan("up", "--until", "hosts")
    shaped.play("site")
    assert "All is well." in shaped.play("health").output


def test_reset_asks_for_the_right_answer_and_then_leaves_nothing(shaped: Cluster) -> None:
    state = shaped.lab.state()
    cluster_id = (state / "cluster-id").read_text().strip()
    refused = shaped.play("reset", "-e", '{"kafka_reset_cluster_id": "another"}', check=False)
    assert refused.code != 0
    assert "That is not the id of this cluster: nothing was removed." in refused.output
    assert read(shaped.bundle("usercc"), "kept", "g2") == "GROUP_AUTHORIZATION_FAILED"

    shaped.play("reset", "-e", json.dumps({"kafka_reset_cluster_id": cluster_id}))
    assert {"pki", "clients", "secrets.yml", "cluster.json"}.isdisjoint(path.name for path in state.iterdir())
    for host in ("broker-1", "controller-1"):
        left = shaped.lab.ssh(
            host, "ls -d /etc/kafka /var/lib/kafka/data /opt/kafka /etc/systemd/system/kafka.service", check=False
        )
        assert left == ""
    with watched_processes(shaped.lab, "broker-1") as seen, watched_processes(shaped.lab, "controller-1") as more:
        shaped.play("site")
    assert (state / "cluster-id").read_text().strip() != cluster_id
    (watched,) = more.values()
    assert "java" in watched
    assert leaks({**seen, **more}, secrets_of(shaped)) == []
    assert write(shaped.bundle("usercc"), "kept") == [""]
