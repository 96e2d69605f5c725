"""The inventory plugin, as far as it needs neither Pulumi nor hosts."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from ansible.errors import AnsibleParserError
from ansible.inventory.data import InventoryData

ROOT = Path(__file__).resolve().parents[3]
SPEC = importlib.util.spec_from_file_location("kastellan_inventory", ROOT / "plugins/inventory/pulumi.py")
assert SPEC is not None
assert SPEC.loader is not None
plugin = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(plugin)

HOST = {
    "name": "broker-1", "address": "198.18.7.11", "ssh_user": "ops", "ssh_port": 22, "ssh_key_file": None,
    "host_key": "ssh-ed25519 AAAA", "node_id": 1, "roles": ["kafka_broker", "kafka_controller"], "rack": "a",
}  # fmt: skip
ZOOKEEPER = {**HOST, "name": "zookeeper-1", "address": "198.18.7.31", "roles": ["zookeeper"], "rack": None}


def filled(*hosts: dict[str, Any]) -> InventoryData:
    inventory = InventoryData()
    made = plugin.InventoryModule()
    made.inventory = inventory
    made._options = {"strict": False, "compose": {}, "groups": {}, "keyed_groups": []}
    made._fill(list(hosts), "local", Path("/state"))
    return inventory


def test_groups_are_roles_and_kafka_is_their_parent() -> None:
    inventory = filled(HOST, ZOOKEEPER)
    groups = inventory.get_groups_dict()
    assert groups["kafka_broker"] == groups["kafka_controller"] == groups["kafka"] == ["broker-1"]
    assert groups["zookeeper"] == ["zookeeper-1"]
    assert inventory.groups["all"].vars["kastellan_state_dir"] == "/state"


def test_variables_of_a_host() -> None:
    variables = filled(HOST).hosts["broker-1"].vars
    assert variables["kafka_node_id"] == 1
    assert variables["kafka_rack"] == "a"
    assert variables["ansible_ssh_private_key_file"] == "/state/ssh/id_ed25519"
    assert "StrictHostKeyChecking=yes" in variables["ansible_ssh_common_args"]
    assert "/state/known_hosts" in variables["ansible_ssh_common_args"]


def test_zookeeper_counts_its_own_ids() -> None:
    variables = filled(ZOOKEEPER).hosts["zookeeper-1"].vars
    assert variables["zookeeper_id"] == 1
    assert "kafka_node_id" not in variables


def test_a_host_made_anew_gets_a_connection_of_its_own() -> None:
    paths = {
        plugin.host_variables({**HOST, "host_key": key}, Path("/state"))["ansible_control_path"] for key in ("k1", "k2")
    }
    assert len(paths) == 2


@pytest.mark.parametrize(
    ("stderr", "said"),
    [
        ("error: no stack named 'local' found", "it is not up. Run ./kastellan up local"),
        ("error: PULUMI_ACCESS_TOKEN must be set for login", 'eval "$(./kastellan env)"'),
        ("error: incorrect passphrase", "incorrect passphrase"),
    ],
)
def test_failures_say_what_to_do(stderr: str, said: str) -> None:
    assert said in plugin.explain_failure("local", stderr)


def test_no_pulumi_on_path(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(AnsibleParserError, match=r"no program pulumi on PATH.*kastellan env"):
        plugin.stack_outputs("local", tmp_path)


def test_a_stack_without_hosts_is_an_error(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    answer = subprocess.CompletedProcess([], 0, stdout="{}", stderr="")
    monkeypatch.setattr(plugin.subprocess, "run", lambda *_, **__: answer)
    with pytest.raises(AnsibleParserError, match=r"Stack local has no hosts: it is not up. Run ./kastellan up local"):
        plugin.stack_outputs("local", tmp_path)


def test_an_inventory_outside_a_checkout_must_name_it(tmp_path: Path) -> None:
    with pytest.raises(AnsibleParserError, match="set project_dir"):
        plugin.nearest_project(tmp_path)
    assert plugin.nearest_project(ROOT / "inventories/local") == ROOT


@pytest.mark.parametrize(("extra", "asked"), [("", 2), ("cache: true\ncache_plugin: ansible.builtin.jsonfile\n", 1)])
def test_outputs_are_kept_only_where_that_was_asked_for(tmp_path: Path, extra: str, asked: int) -> None:
    """Against a stand-in for Pulumi that writes down every call."""
    (tmp_path / "Pulumi.yaml").write_text("name: x\nruntime: python\n")
    stand_in = tmp_path / "bin" / "pulumi"
    stand_in.parent.mkdir()
    stand_in.write_text(f"#!/bin/sh\necho called >> {tmp_path}/calls\necho '{json.dumps({'hosts': [HOST]})}'\n")
    stand_in.chmod(0o755)
    folder = tmp_path / "inventories" / "local"
    folder.mkdir(parents=True)
    place = f"cache_connection: {tmp_path}/cache\n" if extra else ""
    (folder / "kastellan.yml").write_text(f"plugin: kastellan.kafka.pulumi\n{extra}{place}")
    environ = {
        **os.environ,
        "PATH": f"{stand_in.parent}:{Path(sys.executable).parent}:{os.environ['PATH']}",
        "ANSIBLE_COLLECTIONS_PATH": str(ROOT / ".kastellan/collections"),
    }
    for _ in range(2):
        done = subprocess.run(
            ["ansible-inventory", "-i", str(folder), "--graph"],
            cwd=tmp_path, env=environ, capture_output=True, text=True, timeout=60, check=True,
        )  # fmt: skip
        assert "broker-1" in done.stdout
    assert (tmp_path / "calls").read_text().count("called") == asked
