"""The network of a stack on OpenStack, its security groups, and what keeps its machines apart."""

from __future__ import annotations

import ipaddress
from typing import TYPE_CHECKING

import pulumi
import pulumi_openstack as openstack

from infra.doors import doors, groups_of
from infra.providers.cloud import options

if TYPE_CHECKING:
    from infra.doors import Door
    from infra.plan import CloudPlan, HostPlan, StackPlan
    from infra.providers.openstack.lookups import FoundCloud

POLICIES = {"soft": "soft-anti-affinity", "strict": "anti-affinity"}


class Network(pulumi.ComponentResource):
    network_id: pulumi.Input[str]
    subnet_id: pulumi.Input[str]
    server_group_id: pulumi.Output[str] | None = None

    def __init__(
        self, plan: StackPlan, cloud: CloudPlan, found: FoundCloud, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        super().__init__("kastellan:openstack:Network", "network", None, opts)
        self._label = cloud.label
        if found.subnet_id:
            self.network_id, self.subnet_id = found.network_id, found.subnet_id
        else:
            self._make(cloud, found)
        self._groups: dict[str, openstack.networking.SecGroup] = {}
        for name, opened in doors(plan, cloud).items():
            self._groups[name] = self._group(name, opened)
        if cloud.spread in POLICIES:
            group = openstack.compute.ServerGroup(
                "hosts", name=cloud.label, policies=POLICIES[cloud.spread], opts=options(self, bounded=())
            )
            self.server_group_id = group.id
        self.register_outputs({})

    def security_groups_of(self, host: HostPlan) -> list[pulumi.Output[str]]:
        return [group.id for name, group in self._groups.items() if name in groups_of(host)]

    def _make(self, cloud: CloudPlan, found: FoundCloud) -> None:
        """Addresses that Neutron deals out itself lie below those of the hosts."""
        network = openstack.networking.Network("network", name=cloud.label, tags=[cloud.label], opts=options(self))
        ip_range = ipaddress.IPv4Network(cloud.network)
        subnet = openstack.networking.Subnet(
            "subnet",
            name=cloud.label,
            network_id=network.id,
            cidr=cloud.network,
            ip_version=4,
            allocation_pools=[{"start": str(ip_range[2]), "end": str(ip_range[9])}],
            dns_nameservers=list(cloud.name_servers),
            tags=[cloud.label],
            opts=options(self),
        )
        self.network_id, self.subnet_id = network.id, subnet.id
        if found.external_network_id:
            router = openstack.networking.Router(
                "router",
                name=cloud.label,
                external_network_id=found.external_network_id,
                tags=[cloud.label],
                opts=options(self),
            )
            openstack.networking.RouterInterface("router", router_id=router.id, subnet_id=subnet.id, opts=options(self))

    def _group(self, name: str, opened: list[Door]) -> openstack.networking.SecGroup:
        group = openstack.networking.SecGroup(
            name,
            name=f"{self._label}-{name}",
            description=f"Kastellan: {name}",
            tags=[self._label],
            opts=options(self, bounded=("delete",)),
        )
        for door in opened:
            openstack.networking.SecGroupRule(
                f"{name}-{door.name}",
                direction="ingress",
                ethertype="IPv6" if door.is_ipv6 else "IPv4",
                protocol="tcp",
                port_range_min=door.port,
                port_range_max=door.port,
                remote_ip_prefix=door.source or None,
                remote_group_id=None if door.source else group.id,
                security_group_id=group.id,
                opts=options(self, bounded=("delete",)),
            )
        return group
