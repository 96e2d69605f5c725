"""What libvirt must have before anything is made in it: memory enough, a range that is free."""

from __future__ import annotations

import ipaddress
import json
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pulumi
import pulumi_libvirt as libvirt

from common.errors import KastellanError
from common.run import run
from infra.known import Known, refuse_smaller
from infra.lookup import enter
from infra.quantities import format_size

if TYPE_CHECKING:
    from infra.plan import CloudPlan, HostPlan, StackPlan

VOLUME = "libvirt:index/volume:Volume"
DOMAIN = "libvirt:index/domain:Domain"
NETWORK = "libvirt:index/network:Network"
IP_TIMEOUT_S = 20
GIB = 2**30


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
    node = enter(libvirt.get_node_info)
    new = [host for host in plan.hosts if not known.of(DOMAIN, host.name)]
    _refuse_overcommit(new, int(node.memory_total_kb) * 1024)
    for host in plan.hosts:
        _refuse_other_size(host, known.of(VOLUME, f"{host.name}-data"))
    if not cloud.subnets and uri.startswith("qemu:///") and not known.of(NETWORK, "network"):
        _refuse_overlap(cloud)
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


def _refuse_overlap(cloud: CloudPlan) -> None:
    """On this machine the routes say what is taken."""
    wanted = ipaddress.IPv4Network(cloud.network)
    for route in json.loads(run(["ip", "-json", "-4", "route", "show"], timeout_s=IP_TIMEOUT_S) or "[]"):
        destination = route.get("dst", "default")
        if destination != "default" and ipaddress.IPv4Network(destination, strict=False).overlaps(wanted):
            raise KastellanError(
                f"The network {wanted} is in use on this machine: {destination} by {route.get('dev', 'a route')}.",
                details="Two networks of one range cannot both be reached.",
                resolution="Nothing was made. pulumi config set kastellan:network 10.72.0.0/24",
            )
