"""The network of a stack on AWS, its security groups, and what keeps its machines apart."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pulumi
import pulumi_aws as aws

from infra.doors import ALL, doors, groups_of
from infra.providers.cloud import MARK, options

if TYPE_CHECKING:
    from infra.doors import Door
    from infra.plan import CloudPlan, HostPlan, StackPlan
    from infra.providers.aws.lookups import FoundCloud, Place

EVERYWHERE = "0.0.0.0/0"


class Network(pulumi.ComponentResource):
    placement_group: pulumi.Output[str] | None = None

    def __init__(
        self, plan: StackPlan, cloud: CloudPlan, found: FoundCloud, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        super().__init__("kastellan:aws:Network", "network", None, opts)
        self._label, self._tags = cloud.label, {**cloud.tags, MARK: cloud.label}
        self._subnets: dict[str, pulumi.Input[str]] = {}
        self._vpc_id: pulumi.Input[str] = found.vpc_id
        places = {place.zone: place for place in found.places.values()}
        if not found.vpc_id:
            self._make(cloud, list(places.values()))
        for place in places.values():
            if place.subnet_id:
                self._subnets[place.zone] = place.subnet_id
        self._groups: dict[str, aws.ec2.SecurityGroup] = {}
        for name, opened in doors(plan, cloud).items():
            self._groups[name] = self._group(name, opened)
        # Outwards all is open, as it is by default elsewhere: names, time, packages.
        aws.vpc.SecurityGroupEgressRule(
            "out",
            security_group_id=self._groups[ALL].id,
            ip_protocol="-1",
            cidr_ipv4=EVERYWHERE,
            tags=self._tags,
            opts=options(self),
        )
        if cloud.spread == "strict":
            group = aws.ec2.PlacementGroup(
                "hosts", name=cloud.label, strategy="spread", tags=self._tags, opts=options(self)
            )
            self.placement_group = group.name
        self.register_outputs({})

    def subnet_of(self, place: Place) -> pulumi.Input[str]:
        return self._subnets[place.zone]

    def security_groups_of(self, host: HostPlan) -> list[pulumi.Output[str]]:
        return [group.id for name, group in self._groups.items() if name in groups_of(host)]

    def _make(self, cloud: CloudPlan, places: list[Place]) -> None:
        """No way in or out but those that the operator gives it: a peering, a VPN."""
        tags = {**self._tags, "Name": cloud.label}
        vpc = aws.ec2.Vpc("network", cidr_block=cloud.network, enable_dns_support=True, tags=tags, opts=options(self))
        self._vpc_id = vpc.id
        for place in places:
            subnet = aws.ec2.Subnet(
                place.zone,
                vpc_id=vpc.id,
                cidr_block=place.range,
                availability_zone=place.zone,
                map_public_ip_on_launch=False,
                tags={**tags, "Name": f"{cloud.label}-{place.zone}"},
                opts=options(self),
            )
            self._subnets[place.zone] = subnet.id

    def _group(self, name: str, opened: list[Door]) -> aws.ec2.SecurityGroup:
        full = f"{self._label}-{name}"
        group = aws.ec2.SecurityGroup(
            name,
            name=full,
            description=f"Kastellan: {name}",
            vpc_id=self._vpc_id,
            tags={**self._tags, "Name": full},
            opts=options(self),
        )
        for door in opened:
            aws.vpc.SecurityGroupIngressRule(
                f"{name}-{door.name}",
                security_group_id=group.id,
                ip_protocol="tcp",
                from_port=door.port,
                to_port=door.port,
                cidr_ipv4=door.source if door.source and not door.is_ipv6 else None,
                cidr_ipv6=door.source if door.is_ipv6 else None,
                referenced_security_group_id=None if door.source else group.id,
                tags=self._tags,
                opts=options(self),
            )
        return group
