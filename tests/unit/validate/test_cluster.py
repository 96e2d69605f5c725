"""cluster.json is read whole, or refused with the field that is wrong and the one that was meant."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from common.errors import UsageError
from tests.unit.validate.control import GOOD, described
from validate import cluster as clusters

if TYPE_CHECKING:
    from pathlib import Path


def test_what_is_described_is_there_with_whole_paths(tmp_path: Path) -> None:
    found = clusters.load(described(tmp_path))
    assert [host.name for host in found.brokers] == ["broker-1", "broker-2", "broker-3", "broker-4"]
    assert [host.name for host in found.voters] == [host.name for host in found.brokers]
    login = found.hosts[0].login
    assert login is not None
    assert login.key_file == tmp_path / "ssh" / "id_ed25519"
    assert found.clients_dir == tmp_path / "clients"
    assert found.operations["rolling_restart"].cwd == tmp_path.parents[1]
    assert (found.timeouts.session_s, found.timeouts.election_s) == (9.0, 3.0)
    assert found.listeners["CONTROLLER"] == 9093


EXTERNAL = [
    {**GOOD["listeners"][0], "name": name, "port": port} for name, port in (("CONTROLLER", 9095), ("OUTER", 9093))
]


@pytest.mark.parametrize(
    ("servers", "ports"),
    [
        ("198.18.0.11:19092,198.18.0.12:29092", [19092, 29092, 9093]),  # a port per broker; nobody names the third
        ("other:9093,198.18.0.12:29092", [9093, 29092, 9093]),
        ("kafka.example.org:443", [9093, 9093, 9093]),  # a load balancer, whose port no broker has
        ("kafka.example.org:9095", [9095, 9095, 9095]),
        ("[2001:db8::1]:19092,BROKER.example.org:29092", [9093, 29092, 19092]),
    ],
)
def test_a_host_is_reached_at_the_port_that_clients_are_told_for_it(
    servers: str, ports: list[int], tmp_path: Path
) -> None:
    hosts = [dict(GOOD["hosts"][n]) for n in range(3)]
    if "broker." in servers.lower():
        hosts[1]["address"], hosts[2]["address"] = "broker.example.org", "2001:db8::1"
    found = clusters.load(described(tmp_path, bootstrap_servers=servers, listeners=EXTERNAL, hosts=hosts))
    assert [found.client_port(host) for host in found.brokers] == ports


def test_a_listener_for_clients_is_theirs_whatever_bootstrap_servers_say(tmp_path: Path) -> None:
    found = clusters.load(described(tmp_path, bootstrap_servers="198.18.0.11:19092"))
    assert {found.client_port(host) for host in found.brokers} == {9092}


def test_a_host_without_ssh_has_no_login(tmp_path: Path) -> None:
    hosts = [{**GOOD["hosts"][0], "ssh": None}]
    assert clusters.load(described(tmp_path, hosts=hosts)).hosts[0].login is None


@pytest.mark.parametrize(
    ("wrong", "right", "where"),
    [
        ("bootstrap_server", "bootstrap_servers", ""),
        ("validatoruser", "validator_user", ""),
        ("fault_allowed", "faults_allowed", ""),
    ],
)
def test_a_misspelt_field_names_the_one_that_was_meant(tmp_path: Path, wrong: str, right: str, where: str) -> None:
    path = described(tmp_path)
    content = json.loads(path.read_text())
    content[wrong] = content.pop(right)
    path.write_text(json.dumps(content))
    with pytest.raises(UsageError) as told:
        clusters.load(path)
    assert f"There is a field '{wrong}'" in told.value.details
    assert told.value.resolution == f"Write '{right}' for '{wrong}'."
    assert where in told.value.details


def test_a_misspelt_field_of_a_host_says_which_host(tmp_path: Path) -> None:
    host = dict(GOOD["hosts"][1])
    host["adress"] = host.pop("address")
    with pytest.raises(UsageError) as told:
        clusters.load(described(tmp_path, hosts=[GOOD["hosts"][0], host]))
    assert "'adress' in hosts/1" in told.value.details
    assert told.value.resolution == "Write 'address' for 'adress'."


def test_a_missing_field_is_named(tmp_path: Path) -> None:
    path = described(tmp_path)
    content = json.loads(path.read_text())
    del content["timeouts"]
    path.write_text(json.dumps(content))
    with pytest.raises(UsageError) as told:
        clusters.load(path)
    assert told.value.details == "The field 'timeouts' is missing."


@pytest.mark.parametrize(("key", "value"), [("mode", "raft"), ("faults_allowed", "yes"), ("data_dirs", ["relative"])])
def test_a_wrong_value_is_named_with_its_place(tmp_path: Path, key: str, value: Any) -> None:
    with pytest.raises(UsageError) as told:
        clusters.load(described(tmp_path, **{key: value}))
    assert told.value.details.startswith(key)


def test_no_such_stack_names_the_nearest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clusters, "HOME", tmp_path)
    (tmp_path / "local").mkdir()
    described(tmp_path / "local")
    assert clusters.of_stack("local") == tmp_path / "local" / "cluster.json"
    with pytest.raises(UsageError) as told:
        clusters.of_stack("locla")
    assert told.value.exit_code == 64
    assert told.value.resolution == "Did you mean 'local'?"


def test_a_bundle_that_is_not_there_says_what_writes_it(tmp_path: Path) -> None:
    found = clusters.load(described(tmp_path))
    with pytest.raises(UsageError, match="no client bundle of user 'validator'") as told:
        found.client("validator")
    assert "./kastellan client validator" in told.value.resolution


def test_a_file_that_is_no_json_is_told_as_that(tmp_path: Path) -> None:
    path = tmp_path / "cluster.json"
    path.write_text("{")
    with pytest.raises(UsageError, match="no JSON"):
        clusters.load(path)
