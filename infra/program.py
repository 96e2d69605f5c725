"""The hosts of a stack as Pulumi resources, from a plan that has been found right."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from infra.components.cloud_host import CloudHost, CloudHostProps
from infra.components.dynamic import KnownHosts, LoginKey
from infra.components.host import ClusterHost, HostProps
from infra.components.network import NetworkProps, StackNetwork
from infra.known import known_resources
from infra.providers.cloud import cloud_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    import pulumi

    from infra.known import Known
    from infra.plan import CloudPlan, StackPlan

OUTPUT_HOSTS = "hosts"
OUTPUT_STACK = "stack"
OUTPUT_NETWORK = "network"


def build(
    plan: StackPlan, state: Path, *, known: Callable[[str], Known] = known_resources
) -> dict[str, pulumi.Input[Any]]:
    """Declare everything; returns the stack's outputs."""
    if plan.cloud is not None:
        return _build_on_cloud(plan, plan.cloud, state, known)
    key = LoginKey("login-key", {"state_dir": str(state)})
    network = None
    if plan.network:
        props = NetworkProps(plan.provider, stack=plan.name, state_dir=str(state), network=plan.network)
        network = StackNetwork("network", props)
    hosts = [
        ClusterHost(HostProps(plan.provider, host, str(state), authorized_key=key.public_key, network=network))
        for host in plan.hosts
    ]
    return _outputs(plan, state, hosts, network.subnet if network else "")


def _build_on_cloud(
    plan: StackPlan, cloud: CloudPlan, state: Path, known: Callable[[str], Known]
) -> dict[str, pulumi.Input[Any]]:
    """First all is looked up that the description names; then the first resource is declared."""
    provider = cloud_of(plan.provider)
    found = provider.look_up(plan, known(plan.name))
    key = LoginKey("login-key", {"state_dir": str(state)})
    network = provider.network(plan, cloud, found)
    hosts = [
        CloudHost(CloudHostProps(plan.name, host, cloud, provider, found, network, str(state), key.public_key))
        for host in plan.hosts
    ]
    return _outputs(plan, state, hosts, found.range)


def _outputs(
    plan: StackPlan, state: Path, hosts: Sequence[ClusterHost | CloudHost], network: pulumi.Input[str]
) -> dict[str, pulumi.Input[Any]]:
    entries = [
        {"address": host.address, "port": host_plan.ssh_port, "key": host.host_key}
        for host, host_plan in zip(hosts, plan.hosts, strict=True)
    ]
    KnownHosts("known-hosts", {"state_dir": str(state), "hosts": entries})
    return {OUTPUT_HOSTS: [host.facts for host in hosts], OUTPUT_STACK: plan.name, OUTPUT_NETWORK: network}
