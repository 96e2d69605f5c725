"""What a host's certificate is asked for: names and addresses by the inventory, not by the request."""

from __future__ import annotations

import ipaddress
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


def request_of(entry: Mapping[str, Any], asked: Mapping[str, Any], aliases: Iterable[str] = ()) -> dict[str, Any]:
    """`entry` is the node or member; of what its host `asked`, only the public key counts."""
    names = list(aliases)
    addresses: list[str] = []
    for address in dict.fromkeys([entry["address"], entry["login_address"]]):
        (addresses if is_address(address) else names).append(address)
    return {
        "name": entry["name"],
        "aliases": [name for name in names if name != entry["name"]],
        "addresses": addresses,
        "request": asked["request"],
        "certificate": asked["certificate"] or None,
    }


def is_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True
