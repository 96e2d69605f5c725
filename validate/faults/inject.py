"""Faults as context managers: hosts are broken inside, and healed on whatever way out."""

from __future__ import annotations

import contextlib
import signal
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from common.wait import wait_until
from validate.aloud import aloud
from validate.faults.errors import FaultError, NoAccess, NotHealed
from validate.faults.kinds import KINDS, STOP_BOUND_S, Scripts, scripts_of, with_defaults
from validate.faults.ledger import FaultLedger, iso, now
from validate.faults.record import OpenFault, Record
from validate.faults.shell import Shell, over_ssh
from validate.full import NotWritten

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from datetime import datetime

    from validate.cluster import Cluster, Host

BEGIN_BOUND_S = STOP_BOUND_S + 40.0
HEAL_BOUND_S = 240.0
PORT_BOUND_S = 180.0
CONNECT_TIMEOUT_S = 2.0
FELT_BOUND_S = 5.0


def answers(host: Host, port: int) -> bool:
    """Whether somebody takes connections there, seen from this machine."""
    try:
        socket.create_connection((host.address, port), timeout=CONNECT_TIMEOUT_S).close()
    except OSError:
        return False
    return True


@dataclass
class Field:
    """Where faults are made: hosts, the shell to reach them, the ledger and the record that outlive this process."""

    cluster: Cluster
    ledger: FaultLedger
    record: Record
    shell: Shell = over_ssh
    port_answers: Callable[[Host, int], bool] = answers
    say: Callable[[str], None] = lambda _: None
    port_bound_s: float = PORT_BOUND_S
    felt: Callable[[float], bool] | None = None
    """Whether the load is caught by what was broken, by what it told since that monotonic time: a cut that is proven by
    its first packet has hardly hit it yet."""


@dataclass
class Bite:
    """One fault on several hosts while it lasts."""

    fault: str
    hosts: Sequence[Host]
    first_at: datetime
    last_at: datetime


@dataclass
class _Blow:
    """What is needed on one host."""

    host: Host
    scripts: Scripts
    entry: OpenFault
    begun: bool = field(default=False)


@contextlib.contextmanager
def broken(
    place: Field, kind: str, hosts: Sequence[Host], options: Mapping[str, str] | None = None, *, in_turn: bool = False
) -> Iterator[Bite]:
    """Break the hosts, all at once or one after the other; healed when the block is left, however that happens."""
    whole = with_defaults(kind, options or {})
    ledger_folder = str(place.ledger.path.parent)
    blows = []
    for host in hosts:
        if host.login is None:
            raise NoAccess(
                f"There is no ssh access to {host.name}, which fault {kind} needs.",
                details="Its ssh is null in cluster.json.",
                resolution="Add user, port, key_file and known_hosts_file there.",
            )
        entry = OpenFault(kind, host.name, whole, ledger_folder, iso(now()))
        blows.append(_Blow(host, scripts_of(place.cluster, kind, host, whole), entry))
    place.record.open(*(blow.entry for blow in blows))
    try:
        for blow in blows:
            if blow.scripts.prepare:
                place.shell(blow.host, blow.scripts.prepare, timeout_s=BEGIN_BOUND_S)
        yield _bite(place, kind, blows, in_turn=in_turn)
    finally:
        with uninterrupted():
            _heal(place, kind, blows)


def _bite(place: Field, kind: str, blows: Sequence[_Blow], *, in_turn: bool) -> Bite:
    with ThreadPoolExecutor(max_workers=1 if in_turn else len(blows)) as pool:
        bitten = [pool.submit(_strike, place, kind, blow) for blow in blows]
    at = [future.result() for future in bitten]
    return Bite(kind, [blow.host for blow in blows], min(at), max(at))


def _strike(place: Field, kind: str, blow: _Blow) -> datetime:
    name = blow.host.name
    place.ledger.write(kind, name, "begin")
    blow.begun = True
    seen = place.shell(blow.host, blow.scripts.begin, timeout_s=BEGIN_BOUND_S)
    if KINDS[kind].port_dies(blow.entry.options):
        port = _outer_port(place.cluster, blow.host)
        if port is not None:
            if place.port_answers(blow.host, port):
                raise FaultError(f"{kind} on {name} did not bite: port {port} still answers.", details=seen)
            seen = f"{seen}; port {port} is dead"
    place.say(f"{kind} {name}: {seen}")
    if (felt := place.felt) is not None:
        proven_s = time.monotonic()
        # Without an effect in time it bit all the same; the judge counts what was in flight then.
        wait_until(lambda: felt(proven_s), timeout_s=FELT_BOUND_S)
    return place.ledger.write(kind, name, "bit", seen)


def _outer_port(cluster: Cluster, host: Host) -> int | None:
    """The port that clients use; a host without a broker has none."""
    return cluster.client_port(host) if host.is_broker else None


def _heal(place: Field, kind: str, blows: Sequence[_Blow]) -> None:
    """All at once: a node may need others to come up. Then each is looked at from outside."""
    with ThreadPoolExecutor(max_workers=max(1, len(blows))) as pool:
        healing = [pool.submit(heal_one, place, blow.entry, begun=blow.begun) for blow in blows]
    errors = [error for error in (future.exception() for future in healing) if error]
    if errors and all(isinstance(error, NotWritten) for error in errors):
        raise errors[0]  # every host serves again, only the ledger does not say so
    if errors:
        raise NotHealed(
            f"{kind} did not heal on every host.",
            details="\n".join(str(error) for error in errors),
            resolution="Mend what is named, then python -m validate heal.",
        ) from errors[0]


def heal_one(place: Field, entry: OpenFault, *, begun: bool = True) -> str:
    """Undo one fault, see that the host serves again, write it down, and only then forget it."""
    host = next(host for host in place.cluster.hosts if host.name == entry.host)
    scripts = scripts_of(place.cluster, entry.fault, host, with_defaults(entry.fault, entry.options))
    place.say(f"healing {entry.fault} {host.name}")
    seen = place.shell(host, scripts.heal, timeout_s=HEAL_BOUND_S)
    port = _outer_port(place.cluster, host)
    if port is not None:
        if not wait_until(lambda: place.port_answers(host, port), timeout_s=place.port_bound_s, every_s=0.1):
            raise NotHealed(
                f"{entry.fault} on {host.name} did not heal: port {port} is dead after {place.port_bound_s:.0f} s.",
                details=seen,
                resolution=f"Look at its unit: systemctl status {place.cluster.service}.",
            )
        seen = f"{seen}; port {port} answers"
    place.say(f"{entry.fault} {host.name} healed: {seen}")
    if begun:
        place.ledger.write(entry.fault, host.name, "healed", seen)
    place.record.close(entry)
    return seen


@contextlib.contextmanager
def uninterrupted() -> Iterator[None]:
    """Ctrl-C and SIGTERM wait until the block is done: a healing must not be cut off half-way."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    kept: list[int] = []
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

    def later(number: int, _frame: Any) -> None:
        kept.append(number)
        aloud("Healing first.")  # raising nothing: it would come out where the main thread waits for the healing

    before = {number: signal.signal(number, later) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    if kept:
        raise KeyboardInterrupt
