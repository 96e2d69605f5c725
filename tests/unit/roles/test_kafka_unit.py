"""The unit of Kafka as Ansible writes it: heap by the host's memory, the cage, and what the kernel lets it open."""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Mapping

ROOT = Path(__file__).resolve().parents[3]
MEMORY_MIB = {"small": 1024, "middle": 8192, "large": 131072, "told": 131072}
INVENTORY = """
all:
  vars: {kastellan_state_dir: /s, ansible_connection: local, ansible_python_interpreter: "{{ ansible_playbook_python }}"}
  children:
    kafka_broker: {hosts: {small: {kafka_node_id: 1}, middle: {kafka_node_id: 2}, large: {kafka_node_id: 3},
      told: {kafka_node_id: 4, kafka_heap_size: 3g}}}
    kafka_controller: {hosts: {small: {}}}
    kafka: {children: {kafka_broker: {}, kafka_controller: {}}}
"""
PLAY = """
- hosts: kafka
  gather_facts: false
  vars_files:
    - "{{ root }}/roles/kafka/vars/main/certificates.yml"
    - "{{ root }}/roles/kafka/vars/main/configure.yml"
    - "{{ root }}/roles/kafka/vars/main/install.yml"
    - "{{ root }}/roles/kafka/vars/main/settings.yml"
    - "{{ root }}/roles/kafka/vars/main/zookeeper.yml"
  vars:
    role_path: "{{ root }}/roles/kafka"
    __kafka_seen: {node: {memory_mib: "{{ memory_mib[inventory_hostname] }}"}}
  tasks:
    - ansible.builtin.copy:
        dest: "{{ out }}/{{ inventory_hostname }}.service"
        mode: "0600"
        content: "{{ lookup('ansible.builtin.template', root ~ '/roles/kafka/templates/kafka.service.j2') }}"
"""
# What no setting of the user's may weaken; the live score of all of it is checked on hosts.
CAGE = {
    "NoNewPrivileges": "yes", "CapabilityBoundingSet": "", "AmbientCapabilities": "", "ProtectSystem": "strict",
    "ReadWritePaths": "/var/lib/kafka/data /var/log/kafka", "ProtectHome": "yes", "PrivateTmp": "yes",
    "PrivateDevices": "yes", "DevicePolicy": "closed", "ProtectKernelTunables": "yes", "ProtectKernelModules": "yes",
    "ProtectKernelLogs": "yes", "ProtectClock": "yes", "ProtectHostname": "yes", "ProtectControlGroups": "yes",
    "ProtectProc": "invisible", "ProcSubset": "pid", "RestrictAddressFamilies": "AF_INET AF_INET6 AF_UNIX",
    "RestrictNamespaces": "yes", "RestrictRealtime": "yes", "RestrictSUIDSGID": "yes", "LockPersonality": "yes",
    "SystemCallArchitectures": "native", "UMask": "0027",
}  # fmt: skip


@pytest.fixture(scope="module")
def units(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, str]:
    folder = tmp_path_factory.mktemp("units")
    collections = folder / "collections" / "ansible_collections" / "kastellan"
    collections.mkdir(parents=True)
    (collections / "kafka").symlink_to(ROOT)
    (folder / "group_vars").mkdir()
    (folder / "group_vars" / "all.yml").symlink_to(ROOT / "roles/kafka/defaults/main.yml")
    (folder / "hosts.yml").write_text(INVENTORY, encoding="utf-8")
    (folder / "play.yml").write_text(PLAY, encoding="utf-8")
    more = json.dumps({"root": str(ROOT), "out": str(folder), "memory_mib": MEMORY_MIB})
    done = subprocess.run(
        ["ansible-playbook", "-i", "hosts.yml", "play.yml", "-e", more],
        cwd=folder, capture_output=True, text=True, check=False, timeout=120,
        env={**os.environ, "ANSIBLE_COLLECTIONS_PATH": str(folder / "collections"), "ANSIBLE_NOCOWS": "1"},
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-1000:]
    return {path.stem: path.read_text(encoding="utf-8") for path in folder.glob("*.service")}


def values(unit: str, name: str) -> list[str]:
    return re.findall(rf"^{name}=(.*)$", unit, re.MULTILINE)


@pytest.mark.parametrize(("host", "heap"), [("small", "512m"), ("middle", "2048m"), ("large", "6144m"), ("told", "3g")])
def test_the_heap_is_sized_by_the_host_unless_somebody_says(units: Mapping[str, str], host: str, heap: str) -> None:
    """A quarter of the memory, no less than 512 MiB, no more than 6 GiB: the rest is for the page cache."""
    assert f"-Xms{heap} -Xmx{heap}" in units[host]
    assert "-XX:+UseG1GC" in units[host]


def test_the_cage_is_whole(units: Mapping[str, str]) -> None:
    unit = units["small"]
    assert {name: values(unit, name) for name in CAGE} == {name: [value] for name, value in CAGE.items()}
    assert values(unit, "SystemCallFilter") == ["@system-service", "~@privileged @resources"]
    assert values(unit, "User") + values(unit, "Group") == ["kafka", "kafka"]


def test_it_comes_back_by_itself_and_has_time_to_hand_over(units: Mapping[str, str]) -> None:
    unit = units["small"]
    assert values(unit, "Restart") + values(unit, "RestartSec") == ["on-failure", "5"]
    assert int(values(unit, "TimeoutStopSec")[0]) > 60, "Kafka's own controlled shutdown takes about as long"
    assert int(values(unit, "LimitNOFILE")[0]) >= 100000


def test_it_says_which_node_it_is_and_leaves_nothing_open(units: Mapping[str, str]) -> None:
    assert "(broker and controller 1)" in units["small"]
    assert "(broker 2)" in units["middle"]
    assert not [host for host, unit in units.items() if "{{" in unit or "{%" in unit]
