"""Hosts that exist already, listed one by one."""

from __future__ import annotations

import base64
import ipaddress
from typing import Any

from common.names import ROLE_KINDS, nearest
from infra.groups import roles_of
from infra.plan import SSH_PORT, SSH_USER, HostPlan

FIELDS = ("name", "address", "roles", "node_id", "host_key", "rack", "ssh_user", "ssh_port", "ssh_key_file")
REQUIRED = ("name", "address", "roles", "host_key")
HIGHEST_PORT = 65535
PLAIN_KEY_PARTS = 2
LENGTH_BYTES = 4


def plan_listed(hosts: object) -> tuple[HostPlan, ...]:
    if not isinstance(hosts, list) or not hosts:
        raise ValueError("hosts is empty: list the hosts you have, infra/stacks/static.yaml shows one")
    return tuple(_plan_host(number, fields) for number, fields in enumerate(hosts))


def _plan_host(number: int, fields: Any) -> HostPlan:
    where = f"hosts[{number}]"
    if not isinstance(fields, dict):
        raise ValueError(f"{where} has no fields: it needs {', '.join(REQUIRED)}")
    for key in fields:
        if key not in FIELDS:
            raise ValueError(f"{where}.{key} is unknown: {nearest(str(key), FIELDS)}")
    for key in REQUIRED:
        if not fields.get(key):
            raise ValueError(f"{where}.{key} is missing")
    roles = roles_of(fields["roles"], where)
    return HostPlan(
        name=str(fields["name"]),
        roles=roles,
        node_id=_node_id(fields.get("node_id"), roles, where),
        rack=_text(fields.get("rack"), f"{where}.rack", "rack-a"),
        ssh_user=str(fields.get("ssh_user", SSH_USER)),
        ssh_port=_port(fields.get("ssh_port", SSH_PORT), where),
        address=_address(fields["address"], where),
        host_key=_host_key(fields["host_key"], where),
        ssh_key_file=_text(fields.get("ssh_key_file"), f"{where}.ssh_key_file", "~/.ssh/id_ed25519"),
    )


def _node_id(value: object, roles: tuple[str, ...], where: str) -> int | None:
    if not any(ROLE_KINDS[role] for role in roles):
        return None
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise ValueError(f"{where}.node_id is {value!r}: {roles[0]} needs a whole number from 1, e.g. node_id: 1")
    return value


def _port(value: object, where: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= HIGHEST_PORT:
        raise ValueError(f"{where}.ssh_port is {value!r}: it must be a port, e.g. 22")
    return value


def _text(value: object, where: str, good: str) -> str | None:
    if value is not None and (not isinstance(value, str) or not value):
        raise ValueError(f"{where} is {value!r}: it must be text, e.g. {good}")
    return value


def _address(value: object, where: str) -> str:
    try:
        return str(ipaddress.ip_address(str(value)))
    except ValueError:
        raise ValueError(f"{where}.address is {value!r}: it must be an IP address, e.g. 192.0.2.11") from None


def _host_key(value: object, where: str) -> str:
    """`type base64`, as in /etc/ssh/ssh_host_ed25519_key.pub; a comment behind it is dropped."""
    if not _is_public_key(value):
        raise ValueError(
            f"{where}.host_key is no public host key: copy the line of /etc/ssh/ssh_host_ed25519_key.pub on that host"
        )
    return " ".join(str(value).split()[:2])


def public_key(value: object, where: str) -> str:
    """The key of somebody who may log in; never shown if it is something else, as that may be the private half."""
    if not _is_public_key(value):
        raise ValueError(f"{where} is no public key: copy the line of a file like ~/.ssh/id_ed25519.pub")
    return " ".join(str(value).split())


def _is_public_key(value: object) -> bool:
    parts = str(value).split()
    if len(parts) < PLAIN_KEY_PARTS or len(str(value).strip().splitlines()) > 1:
        return False
    try:
        fields = _key_fields(base64.b64decode(parts[1], validate=True))
    except ValueError:
        return False
    return len(fields) > 1 and fields[0] == parts[0].encode()


def _key_fields(key: bytes) -> list[bytes]:
    """Each has its length before it; ValueError for a key that was cut off while it was copied."""
    fields = []
    while key:
        end = LENGTH_BYTES + int.from_bytes(key[:LENGTH_BYTES], "big")
        if len(key) < end:
            raise ValueError("cut off")
        fields.append(key[LENGTH_BYTES:end])
        key = key[end:]
    return fields
