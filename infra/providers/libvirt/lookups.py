"""What libvirt must have before anything is made in it: memory enough, a range that is free."""

from __future__ import annotations

import ipaddress
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pulumi
import pulumi_libvirt as libvirt

from common.errors import KastellanError
from infra.known import Known, refuse_smaller
from infra.lookup import enter
from infra.quantities import format_size
from infra.ranges import refuse_taken_here

if TYPE_CHECKING:
    from infra.plan import HostPlan, StackPlan

VOLUME = "libvirt:index/volume:Volume"
DOMAIN = "libvirt:index/domain:Domain"
NETWORK = "libvirt:index/network:Network"
GIB = 2**30
KVM = Path("/dev/kvm")


@dataclass(frozen=True)
class FoundCloud:
    range: str
    network_name: str = ""
    """Of a given one."""

    def address_of(self, host: HostPlan) -> str:
        return str(ipaddress.IPv4Network(self.range)[host.address_index])


def look_up(plan: StackPlan, known: Known) -> FoundCloud:
    cloud = plan.cloud
    if cloud is None:
        raise TypeError(plan.provider)  # the description cannot do that
    uri = pulumi.Config("libvirt").get("uri") or os.environ.get("LIBVIRT_DEFAULT_URI", "")
    if not uri:
        raise KastellanError(
            "It is not said which libvirt is meant.",
            details="Neither `pulumi config` has libvirt:uri, nor the environment LIBVIRT_DEFAULT_URI.",
            resolution=f"pulumi config set libvirt:uri qemu:///system --stack {plan.name}",
        )
    here = uri.startswith("qemu:///")
    # A named socket may be that of a libvirt in another root, with devices of its own.
    seen_from_here = here and "socket=" not in uri
    new = [host for host in plan.hosts if not known.of(DOMAIN, host.name)]
    if new and seen_from_here and cloud.domain_type == "kvm" and not KVM.exists():
        raise KastellanError(
            f"cloud.domain_type is kvm, and this machine has no {KVM}.",
            details="Its processor does not do it, its firmware forbids it, or it is a virtual machine itself.",
            resolution="Nothing was made. Emulation works, slowly: pulumi config set --path"
            f" 'kastellan:cloud.domain_type' qemu --stack {plan.name}",
        )
    node = enter(libvirt.get_node_info)
    _refuse_overcommit(new, int(node.memory_total_kb) * 1024)
    for host in plan.hosts:
        _refuse_other_size(host, known.of(VOLUME, f"{host.name}-data"))
    if not cloud.subnets and here and not known.of(NETWORK, "network"):
        refuse_taken_here(cloud.network)
    return FoundCloud(cloud.network, cloud.subnets.get("", ""))


def _refuse_other_size(host: HostPlan, kept: dict[str, Any] | None) -> None:
    """The plugin cannot change a volume, it would make another one."""
    size = (kept or {}).get("outputs", {}).get("size", host.disk_bytes)
    refuse_smaller(host.name, host.disk_bytes // GIB, {"outputs": {"size": size / GIB}})
    if size < host.disk_bytes:
        has, asked = format_size(int(size)), format_size(host.disk_bytes)
        raise KastellanError(
            f"The data volume of {host.name} has {has}, {asked} are asked for.",
            details="Pulumi cannot let a volume of libvirt grow.",
            resolution="Do it with the host shut down: virsh vol-resize; then pulumi refresh, and this again.",
        )


def _refuse_overcommit(hosts: list[HostPlan], total: int) -> None:
    needed = sum(host.memory_bytes for host in hosts)
    if needed > total:
        raise KastellanError(
            f"The machine is too small: {len(hosts)} hosts need {format_size(needed)}, it has {format_size(total)}.",
            details="Memory of guests is not shared.",
            resolution="Nothing was made. Lower memory or count of the groups, or name a larger machine.",
        )
