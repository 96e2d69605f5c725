"""What OpenStack must have before anything is made in it: what the description names, room in the quota, no strays."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pulumi_openstack as openstack

from common.errors import KastellanError
from infra.known import Found, Known, refuse_smaller, refuse_strays
from infra.lookup import allowed, ask, enough, enter, large_enough, one_of, one_of_each_flavor, told
from infra.ranges import refuse_overlap, refuse_taken_here

if TYPE_CHECKING:
    from infra.plan import CloudPlan, HostPlan, StackPlan

SERVER = "openstack:compute/instance:Instance"
PORT = "openstack:networking/port:Port"
VOLUME = "openstack:blockstorage/volume:Volume"
NETWORK = "openstack:networking/network:Network"
MIB, GIB = 2**20, 2**30
MEMORY = "MiB of memory"
NO_LIMIT = -1.0
# Ports bear the name as a tag, and Neutron took no longer ones for years.
LONGEST_TAG = 60


@dataclass(frozen=True)
class FoundCloud:
    range: str
    image_id: str
    flavor_ids: dict[str, str]
    subnet_id: str = ""
    network_id: str = ""
    external_network_id: str = ""

    def address_of(self, host: HostPlan) -> str:
        return str(ipaddress.IPv4Network(self.range)[host.address_index])


def look_up(plan: StackPlan, known: Known) -> FoundCloud:
    cloud = _cloud(plan)
    _refuse_long_names([f"{cloud.label}-{host.name}" for host in plan.hosts if not known.of(PORT, host.name)])
    zones = enter(lambda: openstack.compute.get_availability_zones(state="available"))
    for rack, zone in cloud.zones.items():
        one_of(f"cloud.zones.{rack}", zone, zones.names)
    image = ask("cloud.image", cloud.image, lambda: openstack.images.get_image(name=cloud.image, most_recent=True))
    flavors = {host.flavor: _flavor(host) for host in one_of_each_flavor(plan.hosts)}
    for host in plan.hosts:
        flavor = flavors[host.flavor]
        large_enough(host.name, host.flavor, has=int(flavor.ram) * MIB, needed=host.memory_bytes)
        if not known.of(SERVER, host.name):  # a newer image is for servers that are made from then on
            _refuse_unfit_image(cloud.image, image, host, flavor)
        refuse_smaller(host.name, host.disk_bytes // GIB, known.of(VOLUME, host.name))
    to_make = cloud.network if not known.of(NETWORK, "network") else ""
    if to_make:
        refuse_taken_here(to_make, own_only=True)
    refuse_strays(cloud.label, _marked(cloud, plan.hosts), known)
    if new := [host for host in plan.hosts if not known.of(SERVER, host.name)]:
        _refuse_beyond_quota(plan.hosts, new, flavors, grouped=cloud.spread != "none")
    return FoundCloud(
        image_id=str(image.id),
        flavor_ids={name: str(flavor.id) for name, flavor in flavors.items()},
        **_network(cloud, to_make),
    )


def _cloud(plan: StackPlan) -> CloudPlan:
    if plan.cloud is None:
        raise TypeError(plan.provider)  # the description cannot do that
    return plan.cloud


def _refuse_long_names(names: list[str]) -> None:
    for name in names:
        if len(name) > LONGEST_TAG:
            raise KastellanError(
                f"The name {name} has {len(name)} letters, a port's tag takes {LONGEST_TAG}.",
                details="It is made of cloud.label, prefix and number; newer versions of Neutron take longer ones.",
                resolution="Nothing was made. Set a shorter cloud.label or prefix.",
            )


def _flavor(host: HostPlan) -> Any:
    """Found by its name also if it is not public, and used by its id: by name a server finds public ones only."""
    name = host.flavor
    return ask(f"groups.{host.group}.flavor", name, lambda: openstack.compute.get_flavor(name=name))


def _refuse_unfit_image(name: str, image: Any, host: HostPlan, flavor: Any) -> None:
    """What an image says of itself. Whether it has cloud-init none says: that shows when it boots."""
    if image.disk_format == "iso":
        raise KastellanError(
            f"cloud.image: {name!r} is an installer (iso), no disk that boots.",
            details="A machine is never installed: it boots from a copy of an image with cloud-init.",
            resolution="Nothing was made. Debian's generic and genericcloud images fit.",
        )
    large_enough(host.name, host.flavor, has=int(flavor.ram) * MIB, needed=int(image.min_ram_mb or 0) * MIB)
    # A flavor without a disk of its own takes whatever the image needs.
    if flavor.disk and flavor.disk < (image.min_disk_gb or 0):
        raise KastellanError(
            f"Flavor {host.flavor} is too small for {host.name}: its disk has {flavor.disk}GiB, image {name!r} needs"
            f" {image.min_disk_gb}GiB.",
            details="It is the disk of the system; the data has a volume of its own.",
            resolution="Nothing was made. Name a larger flavor for the group, or another image.",
        )


def _network(cloud: CloudPlan, to_make: str) -> dict[str, str]:
    found: dict[str, str] = {"range": cloud.network}
    if cloud.subnets:
        name = cloud.subnets[""]
        subnet = ask("network.subnet", name, lambda: _subnet(name))
        found |= {"range": str(subnet.cidr), "subnet_id": str(subnet.id), "network_id": str(subnet.network_id)}
    if cloud.external_network:
        name = cloud.external_network
        external = ask(
            "cloud.external_network", name, lambda: openstack.networking.get_network(name=name, external=True)
        )
        found["external_network_id"] = str(external.id)
        for ident in (external.subnets or ()) if to_make else ():
            # A router between two of one range is refused by Neutron, when half of the stack is there.
            outside = told(lambda ident=ident: openstack.networking.get_subnet(subnet_id=ident))  # type: ignore[misc]
            if outside and ":" not in str(outside.cidr):
                refuse_overlap(to_make, str(outside.cidr), f"by {name}, which a router would lead to")
    return found


def _subnet(name: str) -> Any:
    is_id = len(name) == 36 and name.count("-") == 4  # noqa: PLR2004 - how an UUID looks
    return openstack.networking.get_subnet(subnet_id=name) if is_id else openstack.networking.get_subnet(name=name)


def _marked(cloud: CloudPlan, hosts: tuple[HostPlan, ...]) -> list[Found]:
    """Ports bear our mark and say which server has them, volumes have our names. Servers cannot be listed by Pulumi."""
    found = []
    ports = enter(lambda: openstack.networking.get_port_ids(tags=[cloud.label]))
    for ident in ports.ids:
        port = enter(lambda ident=ident: openstack.networking.get_port(port_id=ident))  # type: ignore[misc]
        if port.device_id:
            found.append(Found("server", str(port.device_id), f"openstack server delete {port.device_id}"))
        found.append(Found("port", ident, f"openstack port delete {ident}"))
    for host in hosts:
        ident = _volume_id(cloud, host)
        if ident:
            found.append(Found("volume", ident, f"openstack volume delete {ident}    # with the data of {host.name}"))
    return found


def _volume_id(cloud: CloudPlan, host: HostPlan) -> str:
    """Of the volume with that name; none is the usual answer to a first call, several are a trace of killed ones."""
    name = f"{cloud.label}-{host.name}"
    try:
        return str(openstack.blockstorage.get_volume_v3(name=name).id)
    except Exception as refusal:  # noqa: BLE001 - Pulumi raises it bare
        words = str(refusal)
    if "no results" in words:
        return ""
    raise KastellanError(
        f"Which volume is the one of {host.name} cannot be told.",
        details=words,
        resolution=f"Nothing was made. openstack volume list --name {name}; one at most may be left.",
    )


def _refuse_beyond_quota(
    hosts: tuple[HostPlan, ...], new: list[HostPlan], flavors: dict[str, Any], *, grouped: bool
) -> None:
    """What is in use Nova tells administrators alone, when asked for a project by name; others hear what is allowed,
    which is compared with the whole stack. Cinder tells everybody what is allowed.
    """
    project = enter(lambda: openstack.identity.get_auth_scope(name="kastellan")).project_id
    whole = {"servers": len(hosts), **_sizes([flavors[host.flavor] for host in hosts])}
    more = {"servers": len(new), **_sizes([flavors[host.flavor] for host in new])}
    members = NO_LIMIT
    if limits := told(lambda: openstack.compute.get_limits_v2(project_id=project)):
        enough("servers", needed=more["servers"], limit=limits.max_total_instances, used=limits.total_instances_used)
        enough("cores", needed=more["cores"], limit=limits.max_total_cores, used=limits.total_cores_used)
        enough(MEMORY, needed=more[MEMORY], limit=limits.max_total_ram_size, used=limits.total_ram_used)
        members = limits.max_server_group_members
    elif quota := told(lambda: openstack.compute.get_quota_set_v2(project_id=project)):
        for what, limit in (("servers", quota.instances), ("cores", quota.cores), (MEMORY, quota.ram)):
            allowed(what, needed=whole[what], limit=limit)
        members = quota.server_group_members
    if grouped:
        # Clouds that are older than a bound do not send it, which arrives as 0.
        members = members or NO_LIMIT
        allowed("members of a server group (cloud.spread: none does without)", needed=len(hosts), limit=members)
    if storage := told(lambda: openstack.blockstorage.get_quotaset_v3(project_id=project)):
        allowed("volumes", needed=len(hosts), limit=storage.volumes)
        allowed("GiB of volumes", needed=sum(host.disk_bytes for host in hosts) / GIB, limit=storage.gigabytes)
        largest = max(host.disk_bytes for host in hosts) / GIB
        allowed("GiB in one volume", needed=largest, limit=storage.per_volume_gigabytes or NO_LIMIT)


def _sizes(flavors: list[Any]) -> dict[str, int]:
    return {"cores": sum(flavor.vcpus for flavor in flavors), MEMORY: sum(flavor.ram for flavor in flavors)}
