"""Ranges of addresses that a stack's network must not be made of, as somebody else has them."""

from __future__ import annotations

import ipaddress
import json
import shutil

from common.errors import KastellanError
from common.run import run

IP_TIMEOUT_S = 20


def refuse_overlap(wanted: str, taken: str, whose: str) -> None:
    """KastellanError if a network of range `wanted` and that of somebody, `taken`, have addresses in common."""
    if ipaddress.IPv4Network(taken, strict=False).overlaps(ipaddress.IPv4Network(wanted)):
        raise KastellanError(
            f"The network {wanted} is in use {whose}: {taken}.",
            details="Two networks of one range cannot both be reached.",
            resolution="Nothing was made. pulumi config set kastellan:network 10.72.0.0/24",
        )


def refuse_taken_here(wanted: str, *, own_only: bool = False) -> None:
    """By the routes of this machine. `own_only`: those to networks it is part of, as another may be a VPN's, to just
    the network that will be made.
    """
    if not shutil.which("ip"):
        return  # no Linux: then libvirt is elsewhere too
    for route in json.loads(run(["ip", "-json", "-4", "route", "show"], timeout_s=IP_TIMEOUT_S) or "[]"):
        destination = str(route.get("dst", "default"))
        if destination != "default" and (route.get("protocol") == "kernel" or not own_only):
            refuse_overlap(wanted, destination, f"on this machine, by {route.get('dev', 'a route')}")
