"""What OpenStack must have before anything is made in it: what the description names, room in the quota, no strays."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pulumi_openstack as openstack

from common.errors import KastellanError
from infra.known import Found, Known, refuse_smaller, refuse_strays
from infra.lookup import ask, enough, enter, large_enough, one_of

if TYPE_CHECKING:
    from infra.plan import CloudPlan, HostPlan, StackPlan

SERVER = "openstack:compute/instance:Instance"
VOLUME = "openstack:blockstorage/volume:Volume"
MIB = 2**20


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
    zones = enter(lambda: openstack.compute.get_availability_zones(state="available"))
    for rack, zone in cloud.zones.items():
        one_of(f"cloud.zones.{rack}", zone, zones.names)
    image = ask("cloud.image", cloud.image, lambda: openstack.images.get_image(name=cloud.image, most_recent=True))
    flavors = {name: _flavor(name) for name in dict.fromkeys(host.flavor for host in plan.hosts)}
    for host in plan.hosts:
        flavor = flavors[host.flavor]
        large_enough(host.name, host.flavor, has=int(flavor.ram) * MIB, needed=host.memory_bytes)
        refuse_smaller(host.name, host.disk_bytes // 2**30, known.of(VOLUME, host.name))
    refuse_strays(cloud.label, _marked(cloud, plan.hosts), known)
    _refuse_beyond_quota([flavors[host.flavor] for host in plan.hosts if not known.of(SERVER, host.name)])
    return FoundCloud(
        image_id=str(image.id),
        flavor_ids={name: str(flavor.id) for name, flavor in flavors.items()},
        **_network(cloud),
    )


def _cloud(plan: StackPlan) -> CloudPlan:
    if plan.cloud is None:
        raise TypeError(plan.provider)  # the description cannot do that
    return plan.cloud


def _flavor(name: str) -> Any:
    """Found by its name also if it is not public, and used by its id: by name a server finds public ones only."""
    return ask("groups.<group>.flavor", name, lambda: openstack.compute.get_flavor(name=name))


def _network(cloud: CloudPlan) -> dict[str, str]:
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


def _refuse_beyond_quota(flavors: list[Any]) -> None:
    if not flavors:
        return
    scope = enter(lambda: openstack.identity.get_auth_scope(name="kastellan"))
    limits = enter(lambda: openstack.compute.get_limits_v2(project_id=scope.project_id))
    enough("servers", needed=len(flavors), limit=limits.max_total_instances, used=limits.total_instances_used)
    cores = sum(flavor.vcpus for flavor in flavors)
    enough("cores", needed=cores, limit=limits.max_total_cores, used=limits.total_cores_used)
    memory = sum(flavor.ram for flavor in flavors)
    enough("MiB of memory", needed=memory, limit=limits.max_total_ram_size, used=limits.total_ram_used)
