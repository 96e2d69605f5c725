"""Cutting a host off by its own packet filter. Only Kafka's ports are ever named, so that ssh goes on."""

from __future__ import annotations

import ipaddress
import socket
from typing import TYPE_CHECKING

from validate.faults.errors import FaultError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from validate.cluster import Cluster, Host

CUTS = ("nodes", "all", "controller", "clients")
DIRECTIONS = ("both", "in", "out")
TABLE = "inet kastellan_fault"
CLIENT_LISTENERS = ("CLIENT", "MTLS")
SSH_PORT = 22

BEGIN = f"""\
mark isolate
nft -f - <<'RULES'
{{rules}}
RULES
counters() {{{{ nft list table {TABLE} | grep -o 'packets [0-9]*' | cut -d' ' -f2; }}}}
dropped() {{{{ n=0; for one in $(counters); do n=$((n + one)); done; echo "$n"; }}}}
some() {{{{ [ "$(dropped)" -gt 0 ]; }}}}
wait_for 20 some || fail "no packet came that the filter could drop"
echo "the packet filter drops: $(dropped) packets so far"
"""
HEAL = f"""\
if nft list table {TABLE} >/dev/null 2>&1; then nft delete table {TABLE}; fi
unmark isolate
running || systemctl start "$unit"
echo "table {TABLE} is gone"
"""


def rules(cluster: Cluster, host: Host, *, cut: str, direction: str) -> str:
    """The table, in one transaction. Traffic of the host with itself is left alone."""
    chains = [
        _chain("input", "iifname", "saddr", cluster, host, cut) if direction in {"both", "in"} else "",
        _chain("output", "oifname", "daddr", cluster, host, cut) if direction in {"both", "out"} else "",
    ]
    body = "\n".join(chain for chain in chains if chain)
    return f"table {TABLE}\ndelete table {TABLE}\ntable {TABLE} {{\n{body}\n}}"


def _chain(hook: str, interface: str, peer: str, cluster: Cluster, host: Host, cut: str) -> str:
    ssh = host.login.port if host.login else SSH_PORT
    lines = [
        f" chain {hook} {{",
        f"  type filter hook {hook} priority -10; policy accept;",
        f'  {interface} "lo" accept',
        f"  tcp dport {ssh} accept",
        f"  tcp sport {ssh} accept",
        *(f"  {match} counter drop" for match in _matches(peer, cluster, host, cut)),
        " }",
    ]
    return "\n".join(lines)


def _matches(peer: str, cluster: Cluster, host: Host, cut: str) -> Iterable[str]:
    """What is dropped: connections that others have with this host, and those it has with others."""
    ports = _ports(cluster, host, cut)
    who = {"nodes": "== ", "clients": "!= "}.get(cut)
    ends: tuple[str, ...] = ("sport", "dport")
    if cut == "clients":  # what this host itself asks of others is no client's business
        ends = ("dport",) if peer == "saddr" else ("sport",)
    if who is None:
        return [f"tcp {end} {ports}" for end in ends]
    others = [other.address for other in cluster.hosts if other.name != host.name]
    found = []
    for family, addresses in _by_family(others).items():
        if addresses:
            found += [f"{family} {peer} {who}{{ {', '.join(addresses)} }} tcp {end} {ports}" for end in ends]
    return found


def _ports(cluster: Cluster, host: Host, cut: str) -> str:
    keepers = {port for host in cluster.zookeepers for port in host.ports}
    if cut == "controller":
        # Who keeps the metadata: the controllers, or ZooKeeper.
        chosen = [port for name, port in cluster.listeners.items() if name == "CONTROLLER"] or list(keepers)
        if not chosen:
            raise FaultError(
                "There is neither a CONTROLLER listener nor a ZooKeeper to cut off.",
                details=f"Listeners: {', '.join(cluster.listeners)}.",
                resolution="List the ensemble's hosts with their ports in cluster.json.",
            )
    elif cut == "clients":
        named = [port for name, port in cluster.listeners.items() if name in CLIENT_LISTENERS]
        told, served = cluster.client_port(host), set(cluster.listeners.values())
        # What clients are told may be mapped to another port on its way: the host's packet filter sees the listener's.
        outer = [port for name, port in cluster.listeners.items() if name not in {"CONTROLLER", "BROKER"}]
        chosen = named or ([told] if told in served or not outer else outer)
    else:
        chosen = [*cluster.listeners.values(), *keepers]
    return f"{{ {', '.join(str(port) for port in sorted(chosen))} }}"


def _by_family(hosts: Iterable[str]) -> dict[str, list[str]]:
    """nftables has a word of its own for each family."""
    found: dict[str, list[str]] = {"ip": [], "ip6": []}
    for host in hosts:
        for text in sorted({str(entry[4][0]) for entry in socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)}):
            found["ip" if ipaddress.ip_address(text).version == 4 else "ip6"].append(text)  # noqa: PLR2004
    return found
