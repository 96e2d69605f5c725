"""One host of a stack, made or recorded by its provider; the same outputs either way."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pulumi

from infra.components.dynamic import MadeHost
from infra.rules import PREFIX_LENGTH

if TYPE_CHECKING:
    from infra.components.network import StackNetwork
    from infra.plan import HostPlan

SHARED = "shared"  # of the stack's state directory


@dataclass(frozen=True)
class HostProps:
    provider: str
    plan: HostPlan
    state_dir: str
    authorized_key: pulumi.Input[str]
    network: StackNetwork | None
    """None for hosts that exist already."""


class ClusterHost(pulumi.ComponentResource):
    address: pulumi.Output[str]
    host_key: pulumi.Output[str]
    facts: pulumi.Output[dict[str, Any]]
    """One entry of the stack output `hosts`."""

    def __init__(self, props: HostProps, opts: pulumi.ResourceOptions | None = None) -> None:
        plan = props.plan
        super().__init__("kastellan:infra:ClusterHost", plan.name, None, opts)
        inputs = _made_inputs(props, props.network) if props.network else _recorded_inputs(plan)
        made = MadeHost(props.provider, plan.name, inputs, pulumi.ResourceOptions(parent=self))
        self.address, self.host_key = made.address, made.host_key
        self.facts = pulumi.Output.all(made.address, made.host_key).apply(lambda seen: facts_of(plan, *seen))
        self.register_outputs({"address": self.address})


def _made_inputs(props: HostProps, network: StackNetwork) -> dict[str, Any]:
    plan = props.plan
    return {
        "name": plan.name,
        "stack_id": network.stack_id,
        "state_dir": props.state_dir,
        "bridge": network.bridge,
        "address": network.subnet.apply(lambda subnet: str(ipaddress.IPv4Network(subnet)[plan.address_index])),
        "prefix_length": PREFIX_LENGTH,
        "memory_bytes": plan.memory_bytes,
        "disk_bytes": plan.disk_bytes,
        "data_path": plan.data_path,
        "shared_path": str(Path(props.state_dir) / SHARED) if plan.shared else "",
        "authorized_key": props.authorized_key,
    }


def _recorded_inputs(plan: HostPlan) -> dict[str, Any]:
    return {"name": plan.name, "address": plan.address, "host_key": plan.host_key}


def facts_of(plan: HostPlan, address: str, host_key: str) -> dict[str, Any]:
    return {
        "name": plan.name,
        "address": address,
        "ssh_user": plan.ssh_user,
        "ssh_port": plan.ssh_port,
        "ssh_key_file": plan.ssh_key_file,
        "host_key": host_key,
        "node_id": plan.node_id,
        "roles": list(plan.roles),
        "rack": plan.rack,
    }
