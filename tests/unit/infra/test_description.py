"""Descriptions that cannot be meant are refused, naming the field and a good value."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from common.errors import EXIT_USAGE
from infra.description import DescriptionError, load_plan
from infra.state import ROOT

if TYPE_CHECKING:
    from pathlib import Path

GROUP = {"prefix": "broker", "count": 4, "address": 11, "roles": ["kafka_broker"], "memory": "1GiB", "disk": "2GiB"}
KEY = "ssh-ed25519 " + base64.b64encode(b"\0\0\0\x0bssh-ed25519" + bytes(36)).decode()
HOST = {"name": "broker-1", "address": "192.0.2.11", "roles": ["kafka_broker"], "node_id": 1, "host_key": KEY}


def plan_of(tmp_path: Path, description: Any, **overrides: Any) -> Any:
    (tmp_path / "local.yaml").write_text(yaml.safe_dump(description))
    return load_plan("local", folder=tmp_path, overrides=overrides)


def made(**changes: Any) -> dict[str, Any]:
    group = {key: value for key, value in {**GROUP, **changes}.items() if value is not None}
    return {"provider": "nspawn", "network": "auto", "groups": {"broker": group}}


def listed(**changes: Any) -> dict[str, Any]:
    return {
        "provider": "static",
        "hosts": [{key: value for key, value in {**HOST, **changes}.items() if value is not None}],
    }


def test_the_local_stack_is_four_combined_nodes_and_room_for_more() -> None:
    plan = load_plan("local", folder=ROOT / "infra/stacks", overrides={"groups": {"extra": {"count": 1}}})
    assert [(host.name, host.node_id, host.address_index) for host in plan.hosts] == [
        (f"broker-{number}", number, 10 + number) for number in range(1, 6)
    ]
    assert [host.roles for host in plan.hosts] == [("kafka_broker", "kafka_controller")] * 4 + [("kafka_broker",)]


def test_racks_go_round(tmp_path: Path) -> None:
    plan = plan_of(tmp_path, made(racks=["a", "b", "c"]))
    assert [host.rack for host in plan.hosts] == ["a", "b", "c", "a"]


def test_overrides_win_field_by_field_also_as_text(tmp_path: Path) -> None:
    plan = plan_of(tmp_path, made(), groups={"broker": {"count": "2", "memory": "512MiB"}})
    assert [host.memory_bytes for host in plan.hosts] == [2**29] * 2
    assert plan.hosts[0].disk_bytes == 2 * 2**30


def test_kinds_count_their_own_ids(tmp_path: Path) -> None:
    description = made(count=1)
    description["groups"]["zookeeper"] = {
        **GROUP,
        "prefix": "zookeeper",
        "count": 1,
        "address": 31,
        "roles": ["zookeeper"],
    }
    description["groups"]["worker"] = {
        **GROUP,
        "prefix": "worker",
        "count": 1,
        "address": 51,
        "roles": ["spark_worker"],
    }
    hosts = plan_of(tmp_path, description).hosts
    assert {(host.name, host.node_id, host.data_path) for host in hosts} == {
        ("broker-1", 1, "/var/lib/kafka"),
        ("zookeeper-1", 1, "/var/lib/zookeeper"),
        ("worker-1", None, "/var/lib/spark"),
    }


@pytest.mark.parametrize(("told", "shared"), [(True, True), ("false", False)])
def test_a_group_sees_the_shared_folder_if_it_says_so(tmp_path: Path, told: Any, shared: bool) -> None:
    assert {host.shared for host in plan_of(tmp_path, made(shared=told)).hosts} == {shared}
    assert {host.shared for host in plan_of(tmp_path, made()).hosts} == {False}


def test_a_listed_host_keeps_what_it_was_given(tmp_path: Path) -> None:
    (host,) = plan_of(tmp_path, listed(ssh_user="admin", ssh_port=2222, host_key=f"{KEY} root@somewhere")).hosts
    assert (host.address, host.ssh_user, host.ssh_port, host.host_key) == ("192.0.2.11", "admin", 2222, KEY)


@pytest.mark.parametrize(
    ("description", "said"),
    [
        (made(count=0), "all groups have count 0: give one a count, e.g. groups.broker.count: 4"),
        (made(count=-1), "groups.broker.count is -1: it must be at least 0"),
        (made(count="many"), "groups.broker.count is 'many': it must be a whole number, e.g. 1"),
        (made(count=True), "groups.broker.count is True: it must be a whole number, e.g. 1"),
        (made(count=250), "do not fit into the network, whose highest address is .254; lower count or address"),
        (made(memory="0MiB"), "groups.broker.memory is 0MiB: it must be at least 256MiB"),
        (made(disk="-4GiB"), "groups.broker.disk: '-4GiB' is no size: write a whole number with MiB, GiB or TiB, e.g. 4GiB"),
        (made(disk="1MiB"), "groups.broker.disk is 1MiB: it must be at least 64MiB"),
        (made(disk=4), "groups.broker.disk: 4 is no size"),
        (made(roles=["kafka_brokr"]), "groups.broker.roles has 'kafka_brokr': did you mean 'kafka_broker'?"),
        (made(roles=[]), "groups.broker.roles must list at least one role, e.g. [kafka_broker]"),
        (made(memroy="1GiB"), "groups.broker.memroy is unknown: did you mean 'memory'?"),
        (made(memory=None), "groups.broker.memory is missing"),
        (made(prefix="Broker_"), "'Broker_-1' is no host name: use small letters, digits and '-', e.g. broker-1"),
        (made(data_path="data"), "groups.broker.data_path is 'data': it must be a folder's full path"),
        (made(shared="yes"), "groups.broker.shared is 'yes': it must be true or false"),
        (made(racks="a"), "groups.broker.racks must be a list of names, e.g. [rack-a, rack-b]"),
        ({**made(), "provider": "nspwan"}, "provider is 'nspwan': did you mean 'nspawn'?"),
        ({**made(), "network": "10.0.0.0/24"}, "network is 10.0.0.0/24: it must be a /24 of 198.18.0.0/15, e.g. 198.18.7.0/24"),
        ({**made(), "network": "198.18.0.0/16"}, "it must be a /24 of 198.18.0.0/15"),
        ({**made(), "network": "here"}, "network is 'here': write auto, or a network like 198.18.7.0/24"),
        ({**made(), "groups": {}}, "groups is empty: describe at least one group of hosts"),
        ({**made(), "groups": {"broker": GROUP, "two": {**GROUP, "address": 31}}}, "host name broker-1 is there twice (broker-1, broker-1)"),
        ({**made(), "groups": {"broker": GROUP, "two": {**GROUP, "prefix": "b", "first_node_id": 9}}}, "address .11 is there twice (broker-1, b-1)"),
        ({**made(), "groups": {"broker": GROUP, "two": {**GROUP, "prefix": "b", "address": 31}}}, "node id 1 of kind kafka is there twice (broker-1, b-1)"),
        ({**made(), "hosts": [HOST]}, "provider nspawn takes no hosts: describe groups instead"),
        ({"provider": "static", "hosts": []}, "hosts is empty: list the hosts you have, infra/stacks/static.yaml shows one"),
        (listed(host_key=None), "hosts[0].host_key is missing"),
        (listed(host_key="ssh-ed25519 nonsense"), "hosts[0].host_key is no public host key"),
        (listed(address="broker.example"), "hosts[0].address is 'broker.example': it must be an IP address, e.g. 192.0.2.11"),
        (listed(node_id=None), "hosts[0].node_id is None: kafka_broker needs a whole number from 1, e.g. node_id: 1"),
        (listed(ssh_port=0), "hosts[0].ssh_port is 0: it must be a port, e.g. 22"),
    ],
)  # fmt: skip
def test_bad_descriptions(tmp_path: Path, description: dict[str, Any], said: str) -> None:
    with pytest.raises(DescriptionError) as refusal:
        plan_of(tmp_path, description)
    assert said in refusal.value.brief
    assert refusal.value.details.startswith("Described in infra/stacks/local.yaml")
    assert "docs/reference/stacks.md" in refusal.value.resolution
    assert refusal.value.exit_code == EXIT_USAGE


@pytest.mark.parametrize(
    ("overrides", "said"),
    [
        ({"netwrok": "auto"}, "Unknown key 'netwrok'."),
        ({"groups": {"brokr": {"count": 1}}}, "groups.brokr: the stack has no such group, did you mean 'broker'?"),
        ({"groups": {"broker": {"cuont": 1}}}, "groups.broker.cuont is unknown: did you mean 'count'?"),
        ({"groups": {"broker": 3}}, "groups.broker must have fields, e.g. groups.broker.count"),
        ({"groups": 3}, "groups: both the file and `pulumi config` must have names with fields in them"),
    ],
)
def test_bad_overrides(tmp_path: Path, overrides: dict[str, Any], said: str) -> None:
    with pytest.raises(DescriptionError) as refusal:
        plan_of(tmp_path, made(), **overrides)
    assert said in refusal.value.brief


def test_an_override_is_named_as_where_the_fault_may_lie(tmp_path: Path) -> None:
    with pytest.raises(DescriptionError) as refusal:
        plan_of(tmp_path, made(), groups={"broker": {"count": -3}})
    assert "with the overrides of `pulumi config`: groups" in refusal.value.details


@pytest.mark.parametrize("name", ["Local", "pulumi", "collections", "a/b", "", "1st", "x" * 41])
def test_bad_stack_names(tmp_path: Path, name: str) -> None:
    with pytest.raises(DescriptionError, match="is no stack name"):
        load_plan(name, folder=tmp_path, overrides={})


def test_no_such_stack_names_the_nearest(tmp_path: Path) -> None:
    (tmp_path / "local.yaml").write_text("{}")
    with pytest.raises(DescriptionError) as refusal:
        load_plan("locla", folder=tmp_path, overrides={})
    assert refusal.value.resolution.startswith("Did you mean 'local'?")


@pytest.mark.parametrize("text", ["a: [", "just words", ""])
def test_a_file_that_is_no_description(tmp_path: Path, text: str) -> None:
    (tmp_path / "local.yaml").write_text(text)
    with pytest.raises(DescriptionError, match=r"cannot be read|holds no fields"):
        load_plan("local", folder=tmp_path, overrides={})
