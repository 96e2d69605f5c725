"""Without Pulumi: an INI inventory, the playbooks by their full names, from another directory."""

from __future__ import annotations

import hashlib
import json
import tarfile
from typing import TYPE_CHECKING

import pytest

from tests.system.kafka_cluster import read, write
from tests.system.lab import Lab, new_lab
from tools.kafka.fetch import ensure

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.system

ODD = 'it\'s "quoted", with = \\ $HOME grüße {{ x }}'
# Kafka as its own release would come: a .tgz with a checksum, here made of the same jars.
VARIABLES = f"""\
kafka_distribution: archive
kafka_heap_size: 512m
kafka_topics: [{{name: t, partitions: 1, replication_factor: 3}}]
kafka_users: [{{name: odd, password: !unsafe {json.dumps(ODD)}}}]
kafka_acls:
  - {{principal: odd, resource_type: topic, name: t, operations: [read, write]}}
  - {{principal: odd, resource_type: group, name: g, operations: [read]}}
"""


@pytest.fixture(scope="module")
def hosts() -> Iterator[Lab]:
    with new_lab() as lab:
        lab.describe("local", count=3)
        lab.kastellan("up", "--until", "hosts")
        yield lab


def release(path: Path) -> str:
    with tarfile.open(str(ensure("4.3.1")["archive"])) as tar, tarfile.open(path, "w:gz", compresslevel=1) as made:
        for entry in tar:
            made.addfile(entry, tar.extractfile(entry))
    sha512 = hashlib.sha512(path.read_bytes()).hexdigest()
    return f"kafka_archive_file: {path}\nkafka_archive_sha512: {sha512}\n"


def test_three_static_hosts_become_a_cluster(hosts: Lab, tmp_path: Path) -> None:
    lines = [
        f"{host['name']} ansible_host={host['address']} kafka_node_id={host['node_id']}"
        for host in hosts.outputs()["hosts"]
    ]
    hosts.invent(
        tmp_path / "hosts.ini", "[kafka_broker]", *lines, "[kafka_controller]", *[line.split()[0] for line in lines],
        "[kafka:children]", "kafka_broker", "kafka_controller", state_dir=tmp_path / "state",
    )  # fmt: skip
    (tmp_path / "group_vars").mkdir()
    (tmp_path / "group_vars" / "kafka.yml").write_text(VARIABLES + release(tmp_path / "kafka.tgz"), encoding="utf-8")
    play = (
        f'cd {hosts.folder} && eval "$(./kastellan env)" && unset ANSIBLE_CONFIG && cd {tmp_path} && '
        f"ANSIBLE_COLLECTIONS_PATH={hosts.folder}/.kastellan/collections "
        "exec ansible-playbook -i hosts.ini kastellan.kafka."
    )
    hosts.run("bash", "-c", f"{play}site", timeout_s=600)
    clients = tmp_path / "state" / "clients" / "odd"
    client = json.loads((clients / "librdkafka.json").read_text(encoding="utf-8"))
    assert client["sasl.password"] == ODD
    assert write(client, "t") == [""]
    assert read(client, "t", "g") == "record"
    for name in ("site", "access", "preflight", "drift", "health"):
        again = hosts.run("bash", "-c", f"{play}{name}", timeout_s=600)
        assert again.stdout.count("changed=0") == 3, again.stdout
    assert "All is well." in again.stdout
