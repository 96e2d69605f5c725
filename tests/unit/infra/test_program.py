"""The graph that `pulumi up` declares, with Pulumi's own mocks: no host is made."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pulumi
import pytest

from infra.description import plan_from

if TYPE_CHECKING:
    from pathlib import Path

    from pulumi.runtime.mocks import MockCallArgs, MockResourceArgs

MADE: dict[str, MockResourceArgs] = {}
FACTS = {"subnet": "198.18.7.0/24", "stack_id": "0123abcd", "bridge": "kst-0123abcd"}


class Machine(pulumi.runtime.Mocks):
    """Answers as the providers would."""

    def new_resource(self, args: MockResourceArgs) -> tuple[str, dict[str, Any]]:
        MADE[f"{args.typ.rpartition(':')[2]} {args.name}"] = args
        answers: dict[str, Any] = {"Network": FACTS, "LoginKey": {"public_key": "ssh-ed25519 LOGIN"}}
        if args.typ.endswith("Host"):
            answers["Host"] = {"host_key": f"ssh-ed25519 KEY-{args.name}", "status": "running"}
        return f"id-{args.name}", {**args.inputs, **answers.get(args.typ.rpartition(":")[2], {})}

    def call(self, args: MockCallArgs) -> tuple[dict[Any, Any], list[tuple[str, str]] | None]:
        raise AssertionError(args.token)  # the program calls nothing


@pytest.fixture(autouse=True)
def _mocks() -> None:
    MADE.clear()
    pulumi.runtime.set_mocks(Machine(), project="kastellan", stack="local", preview=False)


def outputs_of(description: dict[str, Any], tmp_path: Path) -> dict[str, Any]:
    from infra.program import build  # noqa: PLC0415 - resources must be declared after the mocks are set

    plan = plan_from("local", description)
    seen: dict[str, Any] = {}

    def program() -> None:
        outputs = build(plan, tmp_path)
        pulumi.Output.all(**outputs).apply(seen.update)

    pulumi.runtime.test(program)()  # type: ignore[no-untyped-call]  # Pulumi gives it no types
    return seen


LOCAL = {
    "provider": "nspawn",
    "groups": {
        "broker": {"count": 2, "address": 11, "roles": ["kafka_broker", "kafka_controller"], "racks": ["a", "b"],
                   "memory": "1GiB", "disk": "2GiB"},
    },
}  # fmt: skip


def test_outputs_are_the_documented_ones(tmp_path: Path) -> None:
    outputs = outputs_of(LOCAL, tmp_path)
    assert set(outputs) == {"hosts", "stack", "network"}
    assert (outputs["stack"], outputs["network"]) == ("local", "198.18.7.0/24")
    assert outputs["hosts"][1] == {
        "name": "broker-2",
        "address": "198.18.7.12",
        "ssh_user": "ops",
        "ssh_port": 22,
        "ssh_key_file": None,
        "host_key": "ssh-ed25519 KEY-broker-2",
        "node_id": 2,
        "roles": ["kafka_broker", "kafka_controller"],
        "rack": "b",
    }


def test_hosts_hang_on_the_stacks_network_and_key(tmp_path: Path) -> None:
    outputs_of(LOCAL, tmp_path)
    host = MADE["Host broker-1"].inputs
    assert host["authorized_key"] == "ssh-ed25519 LOGIN"
    assert (host["stack_id"], host["bridge"]) == ("0123abcd", "kst-0123abcd")
    assert (host["memory_bytes"], host["disk_bytes"]) == (2**30, 2**31)
    assert host["data_path"] == "/var/lib/kafka"


def test_known_hosts_come_from_what_was_made(tmp_path: Path) -> None:
    outputs_of(LOCAL, tmp_path)
    assert MADE["KnownHosts known-hosts"].inputs["hosts"][0] == {
        "address": "198.18.7.11",
        "port": 22,
        "key": "ssh-ed25519 KEY-broker-1",
    }


def test_no_logic_is_pickled_into_the_state() -> None:
    from infra.providers.stub import PartProvider  # noqa: PLC0415 - as above

    assert vars(PartProvider("infra.providers.nspawn.host:Host")) == {"path": "infra.providers.nspawn.host:Host"}


def test_existing_hosts_are_recorded_without_a_network(tmp_path: Path) -> None:
    from tests.unit.infra.test_description import HOST, KEY  # noqa: PLC0415 - beside its only use

    outputs = outputs_of({"provider": "static", "hosts": [HOST]}, tmp_path)
    assert outputs["network"] == ""
    assert MADE["Host broker-1"].inputs["host_key"] == KEY
    assert not any(name.startswith("Network") for name in MADE)
