"""What AWS must have before anything is made in it: what the description names, no strays. Quotas of AWS say how much
there may be, not how much there is: they are compared with the whole stack, the rest AWS tells us itself.
"""

from __future__ import annotations

import ipaddress
import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pulumi_aws as aws

from common.errors import KastellanError
from infra.known import Found, Known, refuse_smaller, refuse_strays
from infra.lookup import allowed, ask, enter, large_enough, one_of, one_of_each_flavor, told
from infra.providers.cloud import HOST_MARK, MARK
from infra.ranges import refuse_taken_here

if TYPE_CHECKING:
    from collections.abc import Sequence

    from infra.plan import CloudPlan, HostPlan, StackPlan

VOLUME = "aws:ebs/volume:Volume"
VPC = "aws:ec2/vpc:Vpc"
MACHINE = "aws:ec2/instance:Instance"
MIB = 2**20
# AWS keeps so many machines of one group apart in a zone, no more.
MOST_APART = 7
# Running machines of the families A, C, D, H, I, M, R, T and Z, counted by their processors.
STANDARD = re.compile(r"(a|c|d|h|i[ms]?|m|r|t|z)\d")
STANDARD_QUOTA = "L-1216C47A"
STATES = ("pending", "running", "stopping", "stopped")


@dataclass(frozen=True)
class Place:
    """A zone, and the subnet there: made if it has no id yet."""

    zone: str
    range: str
    subnet_id: str = ""


@dataclass(frozen=True)
class FoundCloud:
    range: str
    image_id: str
    places: dict[str, Place]
    """By rack; one under the empty name is for all hosts."""
    vpc_id: str = ""

    def place_of(self, host: HostPlan) -> Place:
        return self.places.get(host.rack or "") or self.places[""]

    def address_of(self, host: HostPlan) -> str:
        return str(ipaddress.IPv4Network(self.place_of(host).range)[host.address_index])


def look_up(plan: StackPlan, known: Known) -> FoundCloud:
    cloud = plan.cloud
    if cloud is None:
        raise TypeError(plan.provider)  # the description cannot do that
    enter(aws.get_caller_identity)
    image = ask("cloud.image", cloud.image, lambda: _image(cloud))
    vpc_id, places = _given(cloud) if cloud.subnets else ("", _new(cloud))
    found = FoundCloud(cloud.network, str(image.id), places, vpc_id)
    kinds = {host.flavor: _kind(host) for host in one_of_each_flavor(plan.hosts)}
    for host in plan.hosts:
        kind, place = kinds[host.flavor], found.place_of(host)
        large_enough(host.name, host.flavor, has=int(kind.memory_size) * MIB, needed=host.memory_bytes)
        one_of("cloud.image: architecture", str(image.architecture), kind.supported_architectures)
        one_of(f"flavor {host.flavor}: zone", place.zone, _zones_with(host.flavor))
        refuse_smaller(host.name, host.disk_bytes // 2**30, known.of(VOLUME, host.name))
    if cloud.network and not known.of(VPC, "network"):
        refuse_taken_here(cloud.network, own_only=True)
    standard = [host for host in plan.hosts if STANDARD.match(host.flavor)]
    if any(not known.of(MACHINE, host.name) for host in standard):
        _refuse_beyond_quota([kinds[host.flavor] for host in standard])
    _refuse_crowd(cloud, [found.place_of(host).zone for host in plan.hosts])
    refuse_strays(cloud.label, _marked(cloud, plan.hosts), known)
    return found


def _image(cloud: CloudPlan) -> Any:
    """By id, or the newest with a name like that; whose images count is said, as anybody can publish one."""
    if cloud.image.startswith("ami-"):
        return aws.ec2.get_ami(filters=[{"name": "image-id", "values": [cloud.image]}])
    owners = list(cloud.image_owners) or ["self", "amazon"]
    wanted = [{"name": "name", "values": [cloud.image]}, {"name": "state", "values": ["available"]}]
    return aws.ec2.get_ami(owners=owners, filters=wanted, most_recent=True)


def _kind(host: HostPlan) -> Any:
    name = host.flavor
    return ask(f"groups.{host.group}.flavor", name, lambda: aws.ec2.get_instance_type(instance_type=name))


def _zones_with(kind: str) -> Sequence[str]:
    wanted = [{"name": "instance-type", "values": [kind]}]
    offered = enter(lambda: aws.ec2.get_instance_type_offerings(location_type="availability-zone", filters=wanted))
    return [str(zone) for zone in offered.locations]


def _given(cloud: CloudPlan) -> tuple[str, dict[str, Place]]:
    subnets = {
        rack: ask("network", ident, lambda ident=ident: aws.ec2.get_subnet(id=ident))  # type: ignore[misc]
        for rack, ident in cloud.subnets.items()
    }
    vpcs = {str(subnet.vpc_id) for subnet in subnets.values()}
    if len(vpcs) > 1:
        raise KastellanError(
            "The given subnets lie in several networks.",
            details=", ".join(f"{cloud.subnets[rack]} in {subnet.vpc_id}" for rack, subnet in subnets.items()),
            resolution="Nothing was made. Name subnets of one VPC under network.subnets.",
        )
    places = {
        rack: Place(str(subnet.availability_zone), str(subnet.cidr_block), str(subnet.id))
        for rack, subnet in subnets.items()
    }
    return vpcs.pop(), places


def _new(cloud: CloudPlan) -> dict[str, Place]:
    """Each zone gets the next /24, in the order in which the description first names it: a new one moves none."""
    offered = enter(lambda: aws.get_availability_zones(state="available")).names
    for rack, zone in cloud.zones.items():
        one_of(f"cloud.zones.{rack}", zone, offered)
    zones = dict.fromkeys(cloud.zones.values()) or {min(offered): None}
    ranges = ipaddress.IPv4Network(cloud.network).subnets(new_prefix=24)
    place_in = {zone: Place(zone, str(subnet)) for zone, subnet in zip(zones, ranges, strict=False)}
    return {rack: place_in[zone] for rack, zone in cloud.zones.items()} or {"": next(iter(place_in.values()))}


def _refuse_beyond_quota(kinds: list[Any]) -> None:
    """New accounts are allowed a few processors. Whoever may not ask is told by AWS, later."""
    quota = told(lambda: aws.servicequotas.get_service_quota(service_code="ec2", quota_code=STANDARD_QUOTA))
    if quota:
        needed = sum(int(kind.default_vcpus) for kind in kinds)
        allowed("vCPUs of standard machines", needed=needed, limit=quota.value)


def _refuse_crowd(cloud: CloudPlan, zones: list[str]) -> None:
    zone, count = max(Counter(zones).items(), key=lambda entry: entry[1])
    if cloud.spread == "strict" and count > MOST_APART:
        raise KastellanError(
            f"{count} hosts in zone {zone} cannot be kept apart.",
            details=f"A spread placement group of AWS holds {MOST_APART} in a zone.",
            resolution="Nothing was made. Name more zones under cloud.zones, or write cloud.spread: soft.",
        )


def _marked(cloud: CloudPlan, hosts: tuple[HostPlan, ...]) -> list[Found]:
    """What a killed call may have made. Kept volumes of hosts that are asked for no longer are no strays."""
    names = [host.name for host in hosts]
    mine = [{"name": f"tag:{MARK}", "values": [cloud.label]}, {"name": f"tag:{HOST_MARK}", "values": names}]
    machines = enter(lambda: aws.ec2.get_instances(filters=mine, instance_state_names=list(STATES))).ids
    ports = enter(lambda: aws.ec2.get_network_interfaces(filters=mine)).ids
    volumes = enter(lambda: aws.ebs.get_ebs_volumes(filters=mine)).ids
    return [
        *(Found("machine", it, f"aws ec2 terminate-instances --instance-ids {it}") for it in machines),
        *(Found("interface", it, f"aws ec2 delete-network-interface --network-interface-id {it}") for it in ports),
        *(Found("volume", it, f"aws ec2 delete-volume --volume-id {it}    # with its data") for it in volumes),
    ]
