"""The network of a stack: one bridge with a /24 of its own."""

from __future__ import annotations

import ipaddress
import json
from typing import TYPE_CHECKING

from common.errors import KastellanError
from common.run import run
from infra.providers.base import Difference, Part, Problem, Props
from infra.providers.nspawn import registry
from infra.providers.nspawn.devices import IP_TIMEOUT_S, device_exists
from infra.providers.nspawn.leftovers import remove_stack
from infra.providers.nspawn.registry import StackRecord
from infra.rules import AUTO, LOCAL_RANGE, PREFIX_LENGTH

if TYPE_CHECKING:
    from collections.abc import Iterable

UP, MISSING = "up", "missing"


class Network(Part):
    """Inputs: stack, state_dir, network. Outputs besides: stack_id, subnet, bridge, status."""

    def check(self, *, old: Props, new: Props) -> list[Problem]:
        """A named range must be free, unless it is the stack's own already."""
        asked = new.get("network")
        if asked == AUTO or not isinstance(asked, str) or old.get("network") == asked:
            return []
        own = registry.record_of(registry.stack_id_for(new["state_dir"]))
        if own and own.subnet == asked:
            return []
        holder = _holder(ipaddress.IPv4Network(asked), _taken())
        if holder is None:
            return []
        return [Problem("network", f"{asked} is in use on this machine by {holder}: name another one, or write auto")]

    def diff(self, *, old: Props, new: Props) -> Difference:
        if new["network"] not in {AUTO, old["subnet"]}:
            reason = f"{old['subnet']} becomes {new['network']}, every host gets another address"
            return Difference(replaces={"network": reason})
        return Difference(changes=old.get("status") != UP or new["network"] != old["network"])

    def create(self, props: Props) -> tuple[str, Props]:
        stack_id = registry.stack_id_for(props["state_dir"])
        with registry.machine_lock():
            record = registry.record_of(stack_id)
            if record is None or props["network"] not in {AUTO, record.subnet}:
                subnet = _free_subnet() if props["network"] == AUTO else _if_free(props["network"])
                record = StackRecord(stack_id, props["stack"], props["state_dir"], f"kst-{stack_id}", subnet)
                registry.write(record)
            _raise_bridge(record)
        return stack_id, _outs(props, record, UP)

    def read(self, ident: str, props: Props) -> Props | None:
        """A bridge that is gone (a power cut) is not a stack without a network: the range stays its own."""
        record = StackRecord(ident, props["stack"], props["state_dir"], props["bridge"], props["subnet"])
        return _outs(props, record, UP if _serves(record) else MISSING)

    def update(self, ident: str, *, old: Props, new: Props) -> Props:
        with registry.machine_lock():
            record = registry.record_of(ident)
            if record is None:
                record = StackRecord(ident, new["stack"], new["state_dir"], old["bridge"], old["subnet"])
                registry.write(record)
            _raise_bridge(record)
        return _outs(new, record, UP)

    def delete(self, ident: str, props: Props) -> None:
        """With hosts that Pulumi never learnt of: made by a call that was killed, they are in the record alone."""
        record = registry.record_of(ident)
        if record is not None:
            remove_stack(record)


def _outs(props: Props, record: StackRecord, status: str) -> Props:
    asked = {key: props[key] for key in ("stack", "state_dir", "network")}
    return {**asked, "stack_id": record.stack_id, "subnet": record.subnet, "bridge": record.bridge, "status": status}


def _raise_bridge(record: StackRecord) -> None:
    """The machine itself has the first address, so that it reaches the hosts."""
    if not device_exists(record.bridge):
        run(["ip", "link", "add", record.bridge, "type", "bridge"], timeout_s=IP_TIMEOUT_S)
    address = f"{ipaddress.IPv4Network(record.subnet)[1]}/{PREFIX_LENGTH}"
    run(["ip", "address", "replace", address, "dev", record.bridge], timeout_s=IP_TIMEOUT_S)
    run(["ip", "link", "set", record.bridge, "up"], timeout_s=IP_TIMEOUT_S)


def _serves(record: StackRecord) -> bool:
    """A call that was killed in between leaves a bridge without its address, or one that has it and is not up."""
    wanted = str(ipaddress.IPv4Network(record.subnet)[1])
    return any(
        info.get("local") == wanted
        for link in _ip("address", "show")
        if link.get("ifname") == record.bridge and "UP" in link.get("flags", [])
        for info in link["addr_info"]
    )


def _free_subnet() -> str:
    taken = _taken()
    for subnet in LOCAL_RANGE.subnets(new_prefix=PREFIX_LENGTH):
        if _holder(subnet, taken) is None:
            return str(subnet)
    raise KastellanError(
        f"Every /{PREFIX_LENGTH} of {LOCAL_RANGE} is in use on this machine.",
        details="Stacks of checkouts that are gone keep theirs.",
        resolution="./kastellan doctor --clean",
    )


def _if_free(network: str) -> str:
    """Looked at again under the lock: another stack may have taken it since the check."""
    if holder := _holder(ipaddress.IPv4Network(network), _taken()):
        raise KastellanError(
            f"{network} is in use on this machine by {holder}.", resolution="Name another one, or write auto."
        )
    return network


def _holder(subnet: ipaddress.IPv4Network, taken: Iterable[tuple[ipaddress.IPv4Network, str]]) -> str | None:
    return next((holder for network, holder in taken if network.overlaps(subnet)), None)


def _taken() -> list[tuple[ipaddress.IPv4Network, str]]:
    """Networks that stacks have (also stopped ones), that this machine has an address in or a route to."""
    taken = [
        (ipaddress.IPv4Network(record.subnet), f"stack {record.stack} of {record.state_dir}")
        for record in registry.records()
    ]
    for link in _ip("address", "show"):
        for info in link.get("addr_info", []):
            if info.get("family") == "inet":
                network = ipaddress.IPv4Network(f"{info['local']}/{info['prefixlen']}", strict=False)
                taken.append((network, f"network device {link['ifname']}"))
    for route in _ip("route", "show", "table", "all"):
        destination = route.get("dst", "default")
        if destination != "default" and ":" not in destination:
            taken.append(
                (ipaddress.IPv4Network(destination, strict=False), f"a route by {route.get('dev', 'no device')}")
            )
    return taken


def _ip(*words: str) -> list[Props]:
    """`ip` leaves an empty object for what a filter dropped."""
    argv = ["ip", "-json", "-4", *words] if words[0] == "route" else ["ip", "-json", *words]
    return [item for item in json.loads(run(argv, timeout_s=IP_TIMEOUT_S) or "[]") if item]
