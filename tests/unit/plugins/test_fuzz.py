"""The inventory plugin, whatever Pulumi prints: an inventory comes of it, or Ansible's own error that says what to do."""

from __future__ import annotations

import importlib.util
import json
import re
import shlex
import subprocess
from pathlib import Path
from typing import Any

import pytest
from ansible.errors import AnsibleParserError
from ansible.inventory.data import InventoryData
from hypothesis import example, given
from hypothesis import strategies as st

from infra.state import ROOT
from tests.fuzz import answered, any_text, bounded, json_junk, spoiled, torn

SPEC = importlib.util.spec_from_file_location("kastellan_inventory_fuzz", ROOT / "plugins/inventory/pulumi.py")
assert SPEC is not None
assert SPEC.loader is not None
plugin = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(plugin)

HOST = {
    "name": "broker-1", "address": "198.18.7.11", "ssh_user": "ops", "ssh_port": 22, "ssh_key_file": None,
    "host_key": "ssh-ed25519 AAAA", "node_id": 1, "roles": ["kafka_broker", "kafka_controller"], "rack": "a",
}  # fmt: skip
OUTPUTS = {"hosts": [HOST, {**HOST, "name": "zookeeper-1", "roles": ["zookeeper"], "rack": None}], "stack": "local"}


def filled(monkeypatch: pytest.MonkeyPatch, printed: str, state: Path = Path("/state")) -> InventoryData | None:
    """None: it was refused, by an error of Ansible's with what to do in it."""
    answer = subprocess.CompletedProcess([], 0, stdout=printed, stderr="")
    monkeypatch.setattr(plugin.subprocess, "run", lambda *_, **__: answer)
    made = plugin.InventoryModule()
    made.inventory = InventoryData()
    made._options = {"strict": False, "compose": {}, "groups": {}, "keyed_groups": []}
    hosts = answered(
        lambda: plugin.checked_hosts(plugin.stack_outputs("local", Path("/")), "local"), AnsibleParserError
    )
    if hosts is None:
        return None
    made._fill(hosts, "local", state)
    found: InventoryData = made.inventory
    return found


@bounded
@given(spoiled(OUTPUTS, json_junk))
def test_spoiled_outputs(outputs: Any) -> None:
    with pytest.MonkeyPatch.context() as monkeypatch:
        found = filled(monkeypatch, json.dumps(outputs))
    assert found is None or len(found.hosts) == len(outputs["hosts"])


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("ssh_key_file", "~nobody-of-that-name/key", "there is no such user"),
        ("ssh_key_file", 'a"b', "has a quote"),
        ("ssh_port", "22", "hosts[0].ssh_port is '22'"),
        ("ssh_port", True, "hosts[0].ssh_port is True"),
        ("roles", [{}], "hosts[0].roles has {}"),
        ("rack", 3, "hosts[0].rack is 3"),
        ("name", "", "hosts[0].name is ''"),
    ],
)
def test_a_wrong_field_of_the_outputs_is_named(
    monkeypatch: pytest.MonkeyPatch, field: str, value: object, said: str
) -> None:
    printed = json.dumps({"hosts": [{**HOST, field: value}]})
    monkeypatch.setattr(plugin.subprocess, "run", lambda *_, **__: subprocess.CompletedProcess([], 0, printed, ""))
    with pytest.raises(AnsibleParserError, match=re.escape(said)):
        plugin.stack_outputs("local", Path("/"))


def test_what_pulumi_leaves_out_is_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """A value of nothing may come back as nothing at all."""
    host = {name: value for name, value in HOST.items() if name not in plugin.FREE}
    found = filled(monkeypatch, json.dumps({"hosts": [host]}))
    assert found is not None
    assert found.hosts["broker-1"].vars["kafka_rack"] is None


@bounded
@given(torn(json.dumps(OUTPUTS)))
@example("")
@example("warning: something\n{}")
@example("[" * 5000)
def test_torn_outputs(printed: str) -> None:
    with pytest.MonkeyPatch.context() as monkeypatch:
        filled(monkeypatch, printed)


@bounded
@given(st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=30))
@example("it's")
@example('a "b"')
@example("a%b")
@example("{{ x }}")
@example("back\\slash")
def test_any_folder_of_state(name: str) -> None:
    """ssh's words are split by Ansible as a shell would, and once more by ssh itself: the file survives both."""
    state = Path("/var/lib") / name
    variables = answered(lambda: plugin.host_variables(HOST, state), AnsibleParserError)
    if variables is None:
        return
    words = shlex.split(variables["ansible_ssh_common_args"])
    assert words[1::2][0] == f'UserKnownHostsFile="{state / "known_hosts"}"'
    assert not set('"%\\') & set(str(state))


@bounded
@given(any_text)
def test_any_failure_of_pulumis_is_told_with_the_stack(stderr: str) -> None:
    said = plugin.explain_failure("local", stderr)
    assert "local" in said or "kastellan env" in said
