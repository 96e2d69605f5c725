"""Groups of hosts that are made: name, how many, roles, racks, memory, disk."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from common.names import ROLE_KINDS, ROLES, nearest
from infra.plan import HIGHEST_ADDRESS, HostPlan
from infra.quantities import format_size, parse_size

if TYPE_CHECKING:
    from collections.abc import Mapping

FIELDS = ("prefix", "first", "count", "address", "first_node_id", "roles", "racks", "memory", "disk", "data_path")
REQUIRED = ("count", "address", "roles", "memory", "disk")
# Below these a host does not boot or a file system has no room for anything.
LEAST_MEMORY = 256 * 2**20
LEAST_DISK = 64 * 2**20
DEFAULT_CPUS = 2
# Where the first role that keeps data looks for it.
DATA_PATHS = {
    "kafka_broker": "/var/lib/kafka",
    "kafka_controller": "/var/lib/kafka",
    "zookeeper": "/var/lib/zookeeper",
    "spark_master": "/var/lib/spark",
    "spark_worker": "/var/lib/spark",
}


def plan_groups(groups: object, more: Mapping[str, bool] | None = None) -> tuple[HostPlan, ...]:
    """`more`: fields besides that the provider knows, and whether each must be there."""
    if not isinstance(groups, dict) or not groups:
        raise ValueError("groups is empty: describe at least one group of hosts")
    hosts = tuple(host for name, fields in groups.items() for host in _plan_group(str(name), fields, more or {}))
    if not hosts:
        raise ValueError("all groups have count 0: give one a count, e.g. groups.broker.count: 4")
    return hosts


def _plan_group(name: str, group: object, more: Mapping[str, bool]) -> list[HostPlan]:
    fields = _checked_fields(name, group, more)
    where = f"groups.{name}"
    roles = roles_of(fields["roles"], where)
    first = _whole(fields.get("first", 1), f"{where}.first", least=1)
    first_id = _whole(fields.get("first_node_id", first), f"{where}.first_node_id", least=1)
    counts_ids = any(ROLE_KINDS[role] for role in roles)
    address = _whole(fields["address"], f"{where}.address", least=2)
    racks = _racks(fields.get("racks"), where)
    count = _whole(fields["count"], f"{where}.count", least=0)
    if address + count - 1 > HIGHEST_ADDRESS:  # here already, so that a slip of many digits is not built first
        raise ValueError(
            f"{where}: {count} hosts from address .{address} on do not fit into the network, whose highest address is"
            f" .{HIGHEST_ADDRESS}; lower count or address"
        )
    return [
        HostPlan(
            name=f"{fields.get('prefix', name)}-{first + number}",
            roles=roles,
            node_id=first_id + number if counts_ids else None,
            rack=racks[number % len(racks)] if racks else None,
            group=name,
            address_index=address + number,
            memory_bytes=_size(fields["memory"], f"{where}.memory", least=LEAST_MEMORY),
            disk_bytes=_size(fields["disk"], f"{where}.disk", least=LEAST_DISK),
            data_path=_data_path(fields.get("data_path", DATA_PATHS[roles[0]]), where),
            flavor=_name(fields.get("flavor", ""), f"{where}.flavor") if "flavor" in more else "",
            shared=_yes(fields.get("shared", False), f"{where}.shared") if "shared" in more else False,
            cpus=_whole(fields.get("cpus", DEFAULT_CPUS), f"{where}.cpus", least=1) if "cpus" in more else 0,
        )
        for number in range(count)
    ]


def _checked_fields(name: str, fields: object, more: Mapping[str, bool]) -> dict[str, Any]:
    required = (*REQUIRED, *(field for field, needed in more.items() if needed))
    if not isinstance(fields, dict):
        raise ValueError(f"groups.{name} has no fields: it needs {', '.join(required)}")
    known = (*FIELDS, *more)
    for key in fields:
        if key not in known:
            raise ValueError(f"groups.{name}.{key} is unknown: {nearest(str(key), known)}")
    for key in required:
        if key not in fields:
            raise ValueError(f"groups.{name}.{key} is missing")
    return fields


def roles_of(value: object, where: str) -> tuple[str, ...]:
    if not isinstance(value, list) or not value:
        raise ValueError(f"{where}.roles must list at least one role, e.g. [kafka_broker]")
    for role in value:
        if role not in ROLES:
            raise ValueError(f"{where}.roles has {role!r}: {nearest(str(role), ROLES)}")
    return tuple(dict.fromkeys(value))


def _whole(value: object, where: str, *, least: int) -> int:
    """`pulumi config set` without --path stores numbers as text, so text of digits counts."""
    text = str(value)
    sign = -1 if text.startswith("-") else 1
    digits = text.removeprefix("-")
    if isinstance(value, bool) or not digits.isascii() or not digits.isdigit():
        raise ValueError(f"{where} is {value!r}: it must be a whole number, e.g. {max(least, 1)}")
    if (number := sign * int(digits)) < least:
        raise ValueError(f"{where} is {number}: it must be at least {least}")
    return number


def _size(value: object, where: str, *, least: int) -> int:
    try:
        size = parse_size(value)
    except ValueError as problem:
        raise ValueError(f"{where}: {value!r} {problem}") from None
    if size < least:
        raise ValueError(f"{where} is {value}: it must be at least {format_size(least)}")
    return size


def _name(value: object, where: str) -> str:
    if not isinstance(value, str) or not value:
        raise ValueError(f"{where} is {value!r}: name a kind of machine that the cloud has")
    return value


def _yes(value: object, where: str) -> bool:
    """`pulumi config set` without --path stores it as text."""
    known = {"true": True, "false": False}
    if str(value).lower() not in known:
        raise ValueError(f"{where} is {value!r}: it must be true or false")
    return known[str(value).lower()]


def _racks(value: object, where: str) -> list[str]:
    if value is None:
        return []
    if not isinstance(value, list) or not all(isinstance(rack, str) and rack for rack in value):
        raise ValueError(f"{where}.racks must be a list of names, e.g. [rack-a, rack-b]")
    return value


def _data_path(value: Any, where: str) -> str:
    if not isinstance(value, str) or not value.startswith("/") or value == "/" or ".." in value or ":" in value:
        raise ValueError(f"{where}.data_path is {value!r}: it must be a folder's full path, e.g. /var/lib/kafka")
    return value
