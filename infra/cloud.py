"""What the description of a stack on a cloud says besides its groups: `cloud`, `firewall`, `keep_data`, `network`.

Plain checks of plain values, so that a slip is named without asking the cloud anything.
"""

from __future__ import annotations

import ipaddress
import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from common.names import ROLES, nearest
from infra.listed import public_key
from infra.plan import CloudPlan, Opening

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from infra.plan import HostPlan

COMMON = ("image", "label", "keys", "tags", "login_timeout_s")
# What each cloud can be told, besides COMMON.
FIELDS = {
    "openstack": ("volume_type", "zones", "spread", "external_network", "name_servers"),
    "aws": ("volume_type", "zones", "spread", "image_owners"),
    "libvirt": ("pool", "domain_type", "name_servers"),
}
# What a group may say besides what every made host has; True: it must.
GROUP_FIELDS = {"openstack": {"flavor": True}, "aws": {"flavor": True}, "libvirt": {"cpus": False}}
FIREWALL_FIELDS = ("operator", "listeners", "nodes")
LISTENER_FIELDS = ("ports", "sources", "roles")
SPREADS = ("soft", "strict", "none")
DOMAIN_TYPES = ("kvm", "qemu")
NODE_PORTS = (9091, 9092, 9093, 9094)
ZOOKEEPER_PORTS = (2182, 2888, 3888)
LOGIN_TIMEOUT_S = 600
LARGEST_RANGE, SMALLEST_RANGE = 16, 24
LONGEST_NAME = 63
# Of a tag: name and value. AWS counts ours among the most that it takes.
LONGEST_TAG_NAME, LONGEST_TAG, MOST_TAGS = 127, 255, 40
OWN_TAGS = ("kastellan", "kastellan-host")
# On AWS names are a tag, and AWS's own tags begin with a word of its own.
AWS_NAME, AWS_TAGS = "Name", "aws:"
# A cloud's own devices (gateway, address servers) live below; AWS keeps .1 to .3 in any subnet.
LEAST_ADDRESS = 10
HIGHEST_PORT = 65535
GIB = 2**30

_LABEL = re.compile(r"[a-z][a-z0-9-]*")
# It becomes a word of /etc/fstab and of a shell command on the host.
_PLAIN_PATH = re.compile(r"(/[A-Za-z0-9._-]+)+")


def plan_cloud(provider: str, stack: str, description: Mapping[str, Any]) -> CloudPlan:
    """ValueError names the field."""
    told = _fields(description.get("cloud"), "cloud", (*COMMON, *FIELDS[provider]))
    plan = CloudPlan(
        image=_word(told.get("image"), "cloud.image", "debian-12"),
        label=_label(told.get("label", f"kastellan-{stack}")),
        keys=tuple(public_key(key, f"cloud.keys[{at}]") for at, key in enumerate(_list(told, "keys"))),
        tags=_tags(provider, _fields(told.get("tags"), "cloud.tags", None)),
        login_timeout_s=_seconds(told.get("login_timeout_s", LOGIN_TIMEOUT_S)),
        keep_data=_truth(description.get("keep_data", True), "keep_data"),
        volume_type=_optional(told, "volume_type", "ssd"),
        zones={str(k): str(v) for k, v in _fields(told.get("zones"), "cloud.zones", None).items()},
        spread=_one_of(told.get("spread", SPREADS[0]), "cloud.spread", SPREADS),
        external_network=_optional(told, "external_network", "public"),
        name_servers=tuple(_address(server) for server in _list(told, "name_servers")),
        image_owners=tuple(str(owner) for owner in _list(told, "image_owners")),
        pool=_optional(told, "pool", "default"),
        domain_type=_one_of(told.get("domain_type", DOMAIN_TYPES[0]), "cloud.domain_type", DOMAIN_TYPES),
    )
    network, subnets = _network(provider, description.get("network"), plan)
    plan = replace(plan, network=network, subnets=subnets)
    if provider == "libvirt":
        if description.get("firewall"):
            raise ValueError("provider libvirt takes no firewall: it has no security groups, role host closes the host")
        return plan
    return _with_firewall(plan, description.get("firewall"), NODE_PORTS + _zookeeper_ports(description))


def _zookeeper_ports(description: Mapping[str, Any]) -> tuple[int, ...]:
    """Groups are checked elsewhere: here whatever they hold is looked through."""
    groups = description.get("groups")
    found = [one for one in groups.values() if isinstance(one, dict)] if isinstance(groups, dict) else []
    return ZOOKEEPER_PORTS if any("zookeeper" in (one.get("roles") or ()) for one in found) else ()


def check_cloud_hosts(provider: str, cloud: CloudPlan, hosts: Sequence[HostPlan]) -> None:
    """Rules over the hosts that only clouds have."""
    for host in hosts:
        name = f"{cloud.label}-{host.name}"
        if len(name) > LONGEST_NAME:
            raise ValueError(
                f"the name {name} has {len(name)} letters, a cloud takes {LONGEST_NAME}: set a shorter cloud.label or"
                " prefix"
            )
        if host.address_index < LEAST_ADDRESS:
            raise ValueError(
                f"{host.name} has address .{host.address_index}: below .{LEAST_ADDRESS} are the cloud's own devices,"
                f" write address: {LEAST_ADDRESS + 1}"
            )
        if host.disk_bytes % GIB:
            raise ValueError(f"the disk of {host.name} is no whole number of GiB: clouds give no others, e.g. 100GiB")
        if not _PLAIN_PATH.fullmatch(host.data_path):
            raise ValueError(f"data_path {host.data_path!r} of {host.name}: use letters, digits, '.', '_' and '-' only")
        racks = cloud.zones or ({} if "" in cloud.subnets else cloud.subnets)
        if racks and host.rack not in racks:
            field = "cloud.zones" if cloud.zones else "network.subnets"
            raise ValueError(f"{field} has no rack {host.rack!r} of {host.name}: {nearest(str(host.rack), racks)}")
    if provider == "aws" and cloud.network:
        _refuse_narrow(cloud)


def _refuse_narrow(cloud: CloudPlan) -> None:
    """On AWS every zone has a subnet of its own."""
    needed = max(1, len(set(cloud.zones.values())))
    if 2 ** (SMALLEST_RANGE - ipaddress.IPv4Network(cloud.network).prefixlen) < needed:
        raise ValueError(f"network {cloud.network} has no room for {needed} zones: each takes a /24, e.g. 10.71.0.0/16")


def _network(provider: str, value: object, cloud: CloudPlan) -> tuple[str, dict[str, str]]:
    """A range to make, or the given subnets (by rack; under the empty name: for all hosts)."""
    if not isinstance(value, dict):
        return _range(value), {}
    if provider == "libvirt":
        given = _fields(value, "network", ("name", "range"))
        return _range(given.get("range")), {"": _word(given.get("name"), "network.name", "default")}
    given = _fields(value, "network", ("subnet", "subnets") if provider == "aws" else ("subnet",))
    if "subnet" in given:
        return "", {"": _word(given["subnet"], "network.subnet", "its name or id")}
    subnets = _fields(given.get("subnets"), "network.subnets", None)
    if not subnets:
        raise ValueError("network has no subnet: write a range like 10.71.0.0/24, or subnet: and a subnet's name or id")
    if cloud.zones:
        raise ValueError("network.subnets and cloud.zones contradict each other: given subnets lie in zones already")
    return "", {str(rack): str(subnet) for rack, subnet in subnets.items()}


def _range(value: object) -> str:
    try:
        network = ipaddress.IPv4Network(str(value))
    except ValueError:
        raise ValueError(f"network is {value!r}: write a range like 10.71.0.0/24, or name what is there") from None
    if not network.is_private or network.is_link_local or network.is_loopback:
        raise ValueError(f"network is {value}: it must be private, e.g. 10.71.0.0/24")
    if not LARGEST_RANGE <= network.prefixlen <= SMALLEST_RANGE:
        raise ValueError(f"network is {value}: it must be a /{LARGEST_RANGE} to /{SMALLEST_RANGE}, e.g. 10.71.0.0/24")
    return str(network)


def _with_firewall(plan: CloudPlan, value: object, ports: tuple[int, ...]) -> CloudPlan:
    told = _fields(value, "firewall", FIREWALL_FIELDS)
    operator = _sources(told.get("operator"), "firewall.operator")
    if not operator:
        raise ValueError(
            "firewall.operator is empty: nobody could log in. pulumi config set --path"
            " 'kastellan:firewall.operator[0]' 203.0.113.7/32"
        )
    for source in operator:
        if ipaddress.ip_network(source).prefixlen == 0:
            raise ValueError(f"firewall.operator has {source}: ssh is not opened to everybody, name your own network")
    listeners = told.get("listeners", [])
    if not isinstance(listeners, list):
        raise ValueError("firewall.listeners must be a list of ports and sources; docs/reference/stacks.md shows one")
    openings = tuple(_opening(fields, f"firewall.listeners[{at}]") for at, fields in enumerate(listeners))
    nodes = _ports(told.get("nodes", list(ports)), "firewall.nodes")
    return replace(plan, operator=operator, openings=openings, node_ports=nodes)


def _opening(value: object, where: str) -> Opening:
    fields = _fields(value, where, LISTENER_FIELDS)
    roles = fields.get("roles", ["kafka_broker"])
    if not isinstance(roles, list) or not roles:
        raise ValueError(f"{where}.roles must list at least one role, e.g. [kafka_broker]")
    for role in roles:
        if role not in ROLES:
            raise ValueError(f"{where}.roles has {role!r}: {nearest(str(role), ROLES)}")
    sources = _sources(fields.get("sources"), f"{where}.sources")
    if not sources:
        raise ValueError(f"{where}.sources is empty: name who may connect, e.g. [10.20.0.0/16]")
    return Opening(_ports(fields.get("ports"), f"{where}.ports"), sources, tuple(roles))


def _ports(value: object, where: str) -> tuple[int, ...]:
    if not isinstance(value, list) or not value:
        raise ValueError(f"{where} must be a list of ports, e.g. [9092]")
    for port in value:
        if isinstance(port, bool) or not isinstance(port, int) or not 1 <= port <= HIGHEST_PORT:
            raise ValueError(f"{where} has {port!r}: it must be a port, e.g. 9092")
    return tuple(sorted(set(value)))


def _sources(value: object, where: str) -> tuple[str, ...]:
    if value is None:
        return ()
    if not isinstance(value, list):
        raise ValueError(f"{where} must be a list of networks, e.g. [203.0.113.7/32]")
    return tuple(_source(source, where) for source in dict.fromkeys(value))


def _source(value: object, where: str) -> str:
    try:
        return str(ipaddress.ip_network(str(value)))
    except ValueError as problem:
        raise ValueError(f"{where} has {value!r}: {problem}; write a network like 203.0.113.7/32") from None


def _fields(value: object, where: str, known: Iterable[str] | None) -> dict[str, Any]:
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise ValueError(f"{where} is {value!r}: it must have fields")
    names = None if known is None else tuple(known)
    for name in value:
        if names is not None and name not in names:
            raise ValueError(f"{where}.{name} is unknown: {nearest(str(name), names)}")
    return value


def _tags(provider: str, told: Mapping[str, Any]) -> dict[str, str]:
    tags = {str(name): str(value) for name, value in told.items()}
    for name, value in tags.items():
        if name in OWN_TAGS or (provider == "aws" and (name == AWS_NAME or name.lower().startswith(AWS_TAGS))):
            raise ValueError(f"cloud.tags.{name} is a tag that is set already: call yours otherwise, e.g. team")
        if not 0 < len(name) <= LONGEST_TAG_NAME or len(value) > LONGEST_TAG:
            raise ValueError(
                f"cloud.tags.{name[:20]} is too long for a cloud: a name has 1 to {LONGEST_TAG_NAME} letters, a value"
                f" at most {LONGEST_TAG}"
            )
    if len(tags) > MOST_TAGS:
        raise ValueError(f"cloud.tags has {len(tags)} tags: clouds take no more than {MOST_TAGS}")
    return tags


def _list(told: Mapping[str, Any], name: str) -> list[Any]:
    value = told.get(name, [])
    if not isinstance(value, list):
        raise ValueError(f"cloud.{name} is {value!r}: it must be a list")
    return value


def _word(value: object, where: str, good: str) -> str:
    if not isinstance(value, str) or not value:
        raise ValueError(f"{where} is {value!r}: name it, e.g. {good}")
    return value


def _optional(told: Mapping[str, Any], name: str, good: str) -> str:
    return _word(told[name], f"cloud.{name}", good) if name in told else ""


def _one_of(value: object, where: str, known: tuple[str, ...]) -> str:
    if value not in known:
        raise ValueError(f"{where} is {value!r}: {nearest(str(value), known)}")
    return str(value)


def _truth(value: object, where: str) -> bool:
    if not isinstance(value, bool):
        raise ValueError(f"{where} is {value!r}: write true or false")
    return value


def _seconds(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise ValueError(f"cloud.login_timeout_s is {value!r}: it must be a whole number, e.g. {LOGIN_TIMEOUT_S}")
    return value


def _label(value: object) -> str:
    if not isinstance(value, str) or not _LABEL.fullmatch(value):
        raise ValueError(f"cloud.label is {value!r}: use small letters, digits and '-', e.g. kastellan-team-a")
    return value


def _address(value: object) -> str:
    try:
        return str(ipaddress.ip_address(str(value)))
    except ValueError:
        raise ValueError(f"cloud.name_servers has {value!r}: it must be an IP address, e.g. 192.0.2.53") from None
