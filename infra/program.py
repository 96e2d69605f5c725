"""The hosts of a stack as Pulumi resources, from a plan that has been found right."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from infra.components.dynamic import KnownHosts, LoginKey
from infra.components.host import ClusterHost, HostProps
from infra.components.network import NetworkProps, StackNetwork

if TYPE_CHECKING:
    from pathlib import Path

    import pulumi

    from infra.plan import StackPlan

OUTPUT_HOSTS = "hosts"
OUTPUT_STACK = "stack"
OUTPUT_NETWORK = "network"


def build(plan: StackPlan, state: Path) -> dict[str, pulumi.Input[Any]]:
    """Declare everything; returns the stack's outputs."""
    key = LoginKey("login-key", {"state_dir": str(state)})
    network = None
    if plan.network:
        props = NetworkProps(plan.provider, stack=plan.name, state_dir=str(state), network=plan.network)
        network = StackNetwork("network", props)
    hosts = [
        ClusterHost(HostProps(plan.provider, host, str(state), authorized_key=key.public_key, network=network))
        for host in plan.hosts
    ]
    entries = [
        {"address": host.address, "port": host_plan.ssh_port, "key": host.host_key}
        for host, host_plan in zip(hosts, plan.hosts, strict=True)
    ]
    KnownHosts("known-hosts", {"state_dir": str(state), "hosts": entries})
    return {
        OUTPUT_HOSTS: [host.facts for host in hosts],
        OUTPUT_STACK: plan.name,
        OUTPUT_NETWORK: network.subnet if network else "",
    }
