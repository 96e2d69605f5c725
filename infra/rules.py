"""Rules over all hosts of a stack, however they were described."""

from __future__ import annotations

import ipaddress
from typing import TYPE_CHECKING

from common.names import ROLE_KINDS, is_host_name

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Sequence

    from infra.plan import HostPlan

# Reserved for benchmarks of network devices (RFC 2544): no real network has these addresses.
LOCAL_RANGE = ipaddress.IPv4Network("198.18.0.0/15")
PREFIX_LENGTH = 24
AUTO = "auto"


def address_range(value: object) -> str:
    """`auto` or one /24 of the range that local hosts may use."""
    if value == AUTO:
        return AUTO
    try:
        network = ipaddress.IPv4Network(str(value))
    except ValueError:
        raise ValueError(f"network is {value!r}: write auto, or a network like 198.18.7.0/24") from None
    if network.prefixlen != PREFIX_LENGTH or not network.subnet_of(LOCAL_RANGE):
        raise ValueError(f"network is {value}: it must be a /{PREFIX_LENGTH} of {LOCAL_RANGE}, e.g. 198.18.7.0/24")
    return str(network)


def check_hosts(hosts: Sequence[HostPlan]) -> None:
    for host in hosts:
        if not is_host_name(host.name):
            raise ValueError(f"{host.name!r} is no host name: use small letters, digits and '-', e.g. broker-1")
    _refuse_twice("host name", ((host.name, host.name) for host in hosts))
    _refuse_twice("address", ((host.address or f".{host.address_index}", host.name) for host in hosts))
    _refuse_twice("node id", (((kind, host.node_id), host.name) for host in hosts for kind in _kinds(host)))


def _kinds(host: HostPlan) -> list[str]:
    """Broker and controller of one host are one kind and have one id."""
    return sorted({kind for kind in (ROLE_KINDS[role] for role in host.roles) if kind})


def _refuse_twice(what: str, named: Iterable[tuple[Hashable, str]]) -> None:
    seen: dict[Hashable, str] = {}
    for value, host in named:
        if value in seen:
            shown = f"{value[1]} of kind {value[0]}" if isinstance(value, tuple) else value
            raise ValueError(
                f"{what} {shown} is there twice ({seen[value]}, {host}): set another prefix, first, first_node_id"
                " or address"
            )
        seen[value] = host
