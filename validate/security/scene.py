"""What all checks share: ways to every listener, from here and from nodes; logins; looks at hosts; a stage."""

from __future__ import annotations

import json
import shutil
import socket as sockets
import tempfile
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from kafka.protocol.admin import DescribeConfigsRequest

from common.errors import KastellanError
from validate.security import look, tls
from validate.security.registry import NotApplicable, apart
from validate.security.stage import Stage
from validate.security.tunnel import Tunnel
from validate.security.wire import NoAnswer, Session

if TYPE_CHECKING:
    import ssl
    from collections.abc import Iterator, Sequence

    from validate.cluster import Cluster, Host
    from validate.security.registry import Evidence

ANSWER_S = 15.0
# To get in from another host: where its packets are dropped, every try lasts until this is over.
FROM_THERE_S = 3.0
BROKER_CONFIG = 4
# Listeners that are for nodes alone; everything else is for clients.
CONTROLLER, BROKER = "CONTROLLER", "BROKER"
SSL, SASL = "SSL", "SASL_"
Settings = dict[str, str | None]


class NoWay(KastellanError):
    """Nobody can be asked, so nothing is known."""

    exit_code = 2


@dataclass(frozen=True)
class Listener:
    name: str
    port: int
    protocol: str
    mechanisms: tuple[str, ...]
    client_auth: str

    @property
    def tls(self) -> bool:
        return self.protocol.endswith(SSL)

    @property
    def sasl(self) -> bool:
        return self.protocol.startswith(SASL)

    @property
    def inner(self) -> bool:
        return self.name in {CONTROLLER, BROKER}


@dataclass(frozen=True)
class Target:
    """One listener of one host; `via` is the node from which it is reached, None: from here."""

    host: Host
    listener: Listener
    via: Host | None

    @property
    def place(self) -> tuple[str, int]:
        return self.host.address, self.listener.port

    def __str__(self) -> str:
        seen = f" from {self.via.name}" if self.via else ""
        return f"{self.host.name} {self.listener.name} {self.listener.port}{seen}"


class Scene:
    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.listeners = {
            entry["name"]: Listener(
                entry["name"], entry["port"], entry["protocol"], tuple(entry["mechanisms"]), entry["client_auth"]
            )
            for entry in cluster.content["listeners"]
        }
        self.folder = Path(tempfile.mkdtemp(prefix="kastellan-"))
        self._tunnels: dict[str, Tunnel] = {}
        self._admins: dict[int | None, Session] = {}
        self._stage = Stage(self)
        self._staged = False
        self.touched = False
        """Whether anybody asked for the stage: then there may be something to clear away."""
        self._left_behind: list[threading.Thread] = []
        self._dropped: list[Session] = []
        self.unseen: dict[str, str] = {}
        """Why a host could not be looked at, by its name."""
        self.cut_off: dict[tuple[str, str], str] = {}
        """Why nobody came from one host to a broker on another, by their names: they are not tried again."""

    def close(self) -> str:
        """Why something of the proof's own is still in the cluster; empty if nothing is."""
        left = ""
        if self.touched:
            try:
                self._stage.clear()
            except Exception as error:  # noqa: BLE001  whatever it is, it is told, and the rest is closed
                left = " ".join(str(error).split()) or type(error).__name__
        for session in (*self._admins.values(), *self._dropped):
            session.close()
        for tunnel in self._tunnels.values():
            tunnel.close()
        shutil.rmtree(self.folder, ignore_errors=True)
        return left

    def leave_behind(self, thread: threading.Thread) -> None:
        """Nobody shares a connection with a check that has no end: it would take answers that are for others."""
        self._left_behind.append(thread)
        self._dropped += self._admins.values()  # closed at the end: a number that is free is taken by the next socket
        self._admins = {}

    @property
    def nodes(self) -> list[Host]:
        """Hosts on which Kafka itself runs."""
        return [host for host in self.cluster.hosts if host.is_broker or host.is_controller]

    def targets(self, *, inner: bool | None = None, tls_only: bool = True) -> list[Target]:
        """Every listener of every host; those for nodes are reached from the next node."""
        found = []
        for number, host in enumerate(self.nodes):
            for listener in self.listeners.values():
                serves = host.is_controller if listener.name == CONTROLLER else host.is_broker
                if not serves or (tls_only and not listener.tls) or inner not in {None, listener.inner}:
                    continue
                via = self.nodes[(number + 1) % len(self.nodes)] if listener.inner else None
                found.append(Target(host, listener, via))
        return found

    def target(self, host: Host, listener: Listener) -> Target:
        return next(t for t in self.targets(tls_only=False) if (t.host, t.listener) == (host, listener))

    def connect(self, target: Target, timeout_s: float = ANSWER_S) -> sockets.socket:
        if target.via is None or not target.listener.inner:
            return self.reach(target.via, target.place, timeout_s)
        return self._tunnel(target.via).connect(target.place, timeout_s)

    def _tunnel(self, via: Host) -> Tunnel:
        if via.name not in self._tunnels:
            places = [target.place for target in self.targets(inner=True, tls_only=False) if target.via == via]
            self._tunnels[via.name] = Tunnel(via, places, self.folder)
        return self._tunnels[via.name]

    def reach(self, via: Host | None, place: tuple[str, int], timeout_s: float = ANSWER_S) -> sockets.socket:
        """A place that is no listener for nodes, each by a tunnel of its own; from here without `via`."""
        if via is None:
            return sockets.create_connection(place, timeout=timeout_s)
        name = f"{via.name} {place[0]} {place[1]}"
        if name not in self._tunnels:
            folder = self.folder / f"reach-{len(self._tunnels)}"
            folder.mkdir(mode=0o700)
            self._tunnels[name] = Tunnel(via, [place], folder)
        return self._tunnels[name].connect(place, timeout_s)

    def session(
        self, target: Target, context: ssl.SSLContext | None = None, *, timeout_s: float = ANSWER_S, name: str = ""
    ) -> Session:
        """TLS done where the listener has it; unless given, as a client that trusts the cluster's authority."""
        plain = self.connect(target, timeout_s)
        if not target.listener.tls:
            return Session(plain)
        chosen = context or tls.context(self.ca)
        try:
            return Session(chosen.wrap_socket(plain, server_hostname=name or target.host.address))
        except BaseException:
            plain.close()
            raise

    @cached_property
    def ca(self) -> Path:
        path = self.cluster.client(self.cluster.admin_user).get("ssl.ca.location")
        if not path:
            raise NoWay("The administrator's bundle names no ssl.ca.location.")
        return Path(path)

    @property
    def login_listener(self) -> Listener:
        found = next((one for one in self.listeners.values() if one.sasl and not one.inner), None)
        if found is None:
            raise NoWay("There is no way to log in: cluster.json has no listener with SASL for clients.")
        return found

    def certificate(self, user: str) -> tuple[Path, Path]:
        """Certificate and key of a declared user."""
        path = self.cluster.clients_dir / user / "librdkafka-mtls.json"
        try:
            found = json.loads(path.read_text(encoding="utf-8"))
            return Path(found["ssl.certificate.location"]), Path(found["ssl.key.location"])
        except (OSError, ValueError, KeyError) as error:
            raise NoWay(f"There is no certificate of {user!r} at hand: {path.name} {error}") from error

    def password(self, user: str) -> str:
        return str(self.cluster.client(user).get("sasl.password", ""))

    def ordinary_user(self) -> str:
        """A declared user without special powers."""
        powerful = {self.cluster.admin_user, *self.cluster.content["super_users"]}
        found = [user for user in self.cluster.content["users"] if user not in powerful]
        if not found:
            raise NotApplicable("cluster.json declares no user besides super users")
        return str(found[0])

    def logged_in(
        self, user: str, password: str, host: Host | None = None, *, door: Listener | None = None,
        via: Host | None = None,
    ) -> Session:  # fmt: skip
        """NoWay if the broker does not let this user in. `via`: from that host."""
        target = self.target(host or self.cluster.brokers[0], door or self.login_listener)
        timeout_s = FROM_THERE_S if via else ANSWER_S
        session = self.session(replace(target, via=via) if via else target, timeout_s=timeout_s)
        try:
            said = session.login(self.mechanism, user, password)
        except NoAnswer:
            session.close()
            raise
        if not said.well:
            session.close()
            raise NoWay(f"{user} cannot log in: {said}")
        session.channel.settimeout(ANSWER_S)
        return session

    @property
    def mechanism(self) -> str:
        """The first SCRAM of the listener for clients: own users are made for it."""
        found = [one for one in self.login_listener.mechanisms if one.startswith("SCRAM-")]
        if not found:
            raise NoWay("There is no way to log in: the listener for clients has no SCRAM.")
        return found[0]

    def admin(self, host: Host | None = None, *, fresh: bool = False) -> Session:
        if threading.current_thread() in self._left_behind:
            raise NoWay("The time of this check is over.")
        key = host.node_id if host else None
        if key not in self._admins or fresh or not self._admins[key].alive():
            user = self.cluster.admin_user
            self._admins[key] = self.logged_in(user, self.password(user), host)
        return self._admins[key]

    def controlling(self, host: Host) -> Session:
        """The administrator on the listener that is for nodes alone: a controller that is no broker has no other."""
        found = [one for one in self.targets(tls_only=False) if (one.host, one.listener.name) == (host, CONTROLLER)]
        if not found:
            raise NoWay(f"There is no way to ask {host.name}: cluster.json has no listener {CONTROLLER}.")
        return self.session(found[0], tls.context(self.ca, self.certificate(self.cluster.admin_user)))

    def configs(self, host: Host) -> Settings:
        """A node's settings in force, as it says itself."""
        asked = DescribeConfigsRequest(
            resources=[(BROKER_CONFIG, str(host.node_id), None)], include_synonyms=False, include_documentation=False
        )
        if host.is_broker:
            (result,) = self.admin(host).ask(asked, 4).results
        else:
            with self.controlling(host) as session:
                (result,) = session.ask(asked, 4).results
        if result.error_code:
            raise NoAnswer(f"{host.name} does not tell its settings: error {result.error_code}")
        return {entry.name: entry.value for entry in result.configs}

    def in_force(self, see: Evidence, hosts: Sequence[Host] | None = None) -> Iterator[tuple[Host, Settings]]:
        """Of every node, controllers that are no brokers among them, unless said otherwise."""
        for host in self.nodes if hosts is None else hosts:
            found = None
            with apart(see, f"{host.name}: its settings are not known"):
                found = self.configs(host)
            if found is not None:
                yield host, found

    @property
    def stage(self) -> Stage:
        """Built for the first who asks; if that fails, the next one tries again."""
        self.touched = True
        if not self._staged:
            self._stage.build()
            self._staged = True
        return self._stage

    @property
    def services(self) -> list[Host]:
        """Hosts whose service's cage and files are looked at: Kafka's, and ZooKeeper's by its own unit.

        On a host of both the second is a look of its own, under a name of its own.
        """
        beside = [
            replace(host, name=f"{host.name} ({host.service})", roles=("zookeeper",)) if host in self.nodes else host
            for host in self.cluster.zookeepers
            if host.service and (host not in self.nodes or host.service != self.cluster.service)
        ]
        return self.nodes + beside

    @cached_property
    def looks(self) -> dict[str, look.Look]:
        """Every host looked at once, all at the same time. A host that cannot be looked at is left out."""
        open_ = [host for host in self.services if host.login is not None]
        if not open_:
            raise NoWay("There is no ssh access to any host (ssh is null in cluster.json).")
        with ThreadPoolExecutor(len(open_)) as pool:
            found = dict(zip([host.name for host in open_], pool.map(self._look, open_), strict=True))
        return {name: seen for name, seen in found.items() if seen}

    def _look(self, host: Host) -> look.Look | None:
        own, dirs = (self.cluster.service, self.cluster.data_dirs) if host in self.nodes else (host.service or "", ())
        try:
            return look.take(host, own, dirs)
        except KastellanError as why:  # what one host does not tell says nothing of the others
            self.unseen[host.name] = " ".join(str(why).split())
            return None
