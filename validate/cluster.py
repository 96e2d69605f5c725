"""The cluster at hand, as cluster.json describes it: hosts, how to reach them, users, timeouts, consent to faults."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from common.errors import UsageError
from common.names import nearest
from common.ssh import Login
from common.texts import TextError, from_json
from validate.form import best, mistakes

if TYPE_CHECKING:
    import jsonschema

SCHEMA_FILE = Path(__file__).with_name("cluster.schema.json")
HOME = Path(__file__).resolve().parents[1] / ".kastellan"
CLUSTER_FILE = "cluster.json"
REFERENCE = "docs/how-to/any-cluster.md shows a whole example."


@dataclass(frozen=True)
class Host:
    name: str
    address: str
    node_id: int | None
    roles: tuple[str, ...]
    rack: str | None
    login: Login | None
    """How faults reach it; None: they cannot."""
    service: str | None = None
    """Its own unit, where it runs another than the brokers'."""
    ports: tuple[int, ...] = ()
    """Where it is reached besides the brokers' listeners."""

    @property
    def is_broker(self) -> bool:
        return "kafka_broker" in self.roles

    @property
    def is_controller(self) -> bool:
        return "kafka_controller" in self.roles

    @property
    def is_zookeeper(self) -> bool:
        return "zookeeper" in self.roles


@dataclass(frozen=True)
class Timeouts:
    """Milliseconds; None where the mode has none."""

    broker_session_ms: int | None
    quorum_fetch_ms: int | None
    quorum_election_ms: int | None
    zookeeper_session_ms: int | None

    @property
    def session_s(self) -> float:
        """How long a dead broker counts as alive."""
        return (self.broker_session_ms or self.zookeeper_session_ms or 18000) / 1000

    @property
    def election_s(self) -> float:
        """What a new leader of the quorum costs on top."""
        return ((self.quorum_fetch_ms or 0) + (self.quorum_election_ms or 0)) / 1000


@dataclass(frozen=True)
class Operation:
    """A command that a scenario may call, such as the rolling restart."""

    argv: tuple[str, ...]
    cwd: Path


@dataclass(frozen=True)
class Cluster:
    stack: str
    mode: str
    kafka_version: str
    cluster_id: str
    bootstrap_servers: str
    listeners: dict[str, int]
    """Name -> port."""
    hosts: tuple[Host, ...]
    admin_user: str
    validator_user: str
    clients_dir: Path
    service: str
    data_dirs: tuple[str, ...]
    timeouts: Timeouts
    operations: dict[str, Operation]
    faults_allowed: bool
    topics: dict[str, dict[str, Any]]
    state_dir: Path
    """Where runs and the record of open faults lie: the folder of cluster.json."""
    content: dict[str, Any]
    """The whole description as it was read: what only the security proof asks for stays in its own words."""

    @property
    def brokers(self) -> tuple[Host, ...]:
        return tuple(host for host in self.hosts if host.is_broker)

    @property
    def voters(self) -> tuple[Host, ...]:
        return tuple(host for host in self.hosts if host.is_controller)

    def client_port(self, host: Host) -> int:
        """Where users connect to this host: the listener CLIENT; in clusters made elsewhere what clients are told.

        That may be of a load balancer, or differ from broker to broker.
        """
        if "CLIENT" in self.listeners:
            return self.listeners["CLIENT"]
        told = [
            (name.strip("[]").lower(), int(port))
            for name, _, port in (server.rpartition(":") for server in self.bootstrap_servers.split(","))
        ]
        its = [port for name, port in told if name == host.address.lower()]
        served = list(self.listeners.values())
        outer = [port for name, port in self.listeners.items() if name != "CONTROLLER"]
        return [*its, *(port for _, port in told if port in served), *outer, *served][0]

    @property
    def zookeepers(self) -> tuple[Host, ...]:
        return tuple(host for host in self.hosts if host.is_zookeeper)

    def host_of(self, node_id: int) -> Host:
        for host in self.hosts:
            if host.node_id == node_id:
                return host
        raise UsageError(
            f"The cluster has a broker {node_id} that {CLUSTER_FILE} does not list.",
            details=f"Listed: {', '.join(f'{host.name} ({host.node_id})' for host in self.hosts)}.",
            resolution="Run the play again, or add the host by hand.",
        )

    def client(self, user: str) -> dict[str, Any]:
        """A user's settings for librdkafka, secrets and all."""
        return self._bundle(user, "librdkafka.json")

    def cheap_client(self, user: str) -> dict[str, Any]:
        """The same user by certificate where there is such a bundle: a login by SCRAM costs several times the CPU."""
        name = "librdkafka-mtls.json"
        return self._bundle(user, name) if (self.clients_dir / user / name).is_file() else self.client(user)

    def _bundle(self, user: str, name: str) -> dict[str, Any]:
        path = self.clients_dir / user / name
        try:
            found = from_json(path.read_text(encoding="utf-8"))
            if not isinstance(found, dict):
                raise TextError("it is something else")
        except FileNotFoundError:
            raise UsageError(
                f"There is no client bundle of user {user!r}.",
                details=f"Looked for {path}.",
                resolution=f"./kastellan client {user} writes it; by hand: librdkafka's settings as one JSON object.",
            ) from None
        except (OSError, ValueError) as error:
            raise UsageError(
                f"The client bundle of {user!r} cannot be read.",
                details=f"{path}: {error}",
                resolution="It must be one JSON object of librdkafka's settings.",
            ) from error
        return found


def of_stack(stack: str) -> Path:
    """Where the play left the description of a stack's cluster."""
    path = HOME / stack / CLUSTER_FILE
    if not path.is_file():
        known = sorted(place.parent.name for place in HOME.glob(f"*/{CLUSTER_FILE}"))
        raise UsageError(
            f"There is no cluster of stack {stack!r}.",
            details=f"There is no file {path}.",
            resolution=f"{nearest(stack, known).capitalize()}" if known else f"./kastellan up {stack}",
        )
    return path


def load(path: Path) -> Cluster:
    """Read and check a description; every mistake is told with the field it is in."""
    try:
        content = from_json(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(
            f"The description {path} cannot be read.", details=str(error), resolution="Name a cluster.json."
        ) from error
    except ValueError as error:
        raise UsageError(f"{path} is no JSON.", details=str(error), resolution=REFERENCE) from error
    _check(content, path)
    try:
        return _cluster(content, path.resolve().parent)
    except (ValueError, RuntimeError, OSError) as error:  # a path with a zero byte, a home of nobody, a loop of links
        raise UsageError(
            f"{path} names a place that cannot be.", details=str(error), resolution="Mend its paths."
        ) from error


def _check(content: Any, path: Path) -> None:
    errors = mistakes(content, SCHEMA_FILE)
    if not errors:
        _refuse_twice(content, path)
        return
    lacking = [error for error in errors if error.validator == "required"]
    error = lacking[0] if lacking else best(errors)
    where = "/".join(map(str, error.absolute_path))
    if error.validator == "required" and isinstance(error.instance, dict):
        told, help_ = _missing(error, where)
    else:
        told, help_ = f"{where or 'The whole'} is wrong: {error.message}", REFERENCE
    raise UsageError(f"{path} does not describe a cluster.", details=told, resolution=help_)


def _refuse_twice(content: dict[str, Any], path: Path) -> None:
    """One of two would silently win."""
    hosts = content["hosts"]
    for what, words in (
        ("listener", [listener["name"] for listener in content["listeners"]]),
        ("host", [host["name"] for host in hosts]),
        ("topic", [topic["name"] for topic in content["topics"]]),
        ("node_id", [host["node_id"] for host in hosts if set(host["roles"]) & {"kafka_broker", "kafka_controller"}]),
    ):
        twice = sorted({str(word) for word in words if word is not None and words.count(word) > 1})
        if twice:
            raise UsageError(
                f"{path} does not describe a cluster.",
                details=f"The {what} {twice[0]!r} is there twice.",
                resolution="Keep one, or give the other its own.",
            )


def _missing(error: jsonschema.ValidationError, where: str) -> tuple[str, str]:
    """What is not there, and which field was probably meant to be it."""
    missing = next(name for name in _names(error.validator_value) if name not in _names(error.instance))
    known = set(_names(error.schema.get("properties")) if isinstance(error.schema, dict) else ())
    place = f" in {where}" if where else ""
    close = difflib.get_close_matches(missing, sorted(set(_names(error.instance)) - known), n=1, cutoff=0.6)
    if close:
        return f"There is a field {close[0]!r}{place} that nobody knows, and none {missing!r}.", (
            f"Write {missing!r} for {close[0]!r}."
        )
    return f"The field {missing!r}{place} is missing.", f"Add it. {REFERENCE}"


def _names(thing: Any) -> list[str]:
    """The keys of an object, the words of a list."""
    return list(thing or ())


def _cluster(content: dict[str, Any], folder: Path) -> Cluster:
    return Cluster(
        stack=content["stack"],
        mode=content["mode"],
        kafka_version=content["kafka_version"],
        cluster_id=content["cluster_id"],
        bootstrap_servers=content["bootstrap_servers"],
        listeners={listener["name"]: listener["port"] for listener in content["listeners"]},
        hosts=tuple(_host(entry, folder) for entry in content["hosts"]),
        admin_user=content["admin_user"],
        validator_user=content["validator_user"],
        clients_dir=_resolved(content["clients_dir"], folder),
        service=content["service"],
        data_dirs=tuple(content["data_dirs"]),
        timeouts=Timeouts(**{name: content["timeouts"][name] for name in Timeouts.__dataclass_fields__}),
        operations={
            name: Operation(tuple(entry["argv"]), _resolved(entry["cwd"], folder))
            for name, entry in content["operations"].items()
        },
        faults_allowed=content["faults_allowed"],
        topics={entry["name"]: entry for entry in content["topics"]},
        state_dir=folder,
        content=content,
    )


def _host(entry: dict[str, Any], folder: Path) -> Host:
    ssh = entry["ssh"]
    login = None
    if ssh is not None:
        login = Login(
            address=entry["address"],
            port=ssh["port"],
            user=ssh["user"],
            key_file=_resolved(ssh["key_file"], folder),
            known_hosts_file=_resolved(ssh["known_hosts_file"], folder),
        )
    return Host(
        entry["name"],
        entry["address"],
        entry["node_id"],
        tuple(entry["roles"]),
        entry["rack"],
        login,
        entry.get("service"),
        tuple(entry.get("ports", ())),
    )


def _resolved(path: str, folder: Path) -> Path:
    """Relative paths are meant from where the description lies."""
    return (folder / Path(path).expanduser()).resolve()
