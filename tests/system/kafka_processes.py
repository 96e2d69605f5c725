"""Kafka as plain processes on loopback, for tests that need brokers and no hosts."""

from __future__ import annotations

import base64
import contextlib
import ipaddress
import json
import os
import shutil
import socket
import subprocess
import sys
import tarfile
import uuid
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from common.wait import wait_until
from plugins.module_utils import facts, gate, users_backend
from plugins.module_utils.cluster import Cluster
from plugins.module_utils.errors import KafkaModuleError
from plugins.module_utils.scram import ITERATIONS_MIN, new_salt, salted_password
from plugins.module_utils.settings import read_settings
from plugins.module_utils.users import User
from plugins.module_utils.users import plan as users_plan

if TYPE_CHECKING:
    import signal
    from collections.abc import Iterator, Sequence

ROOT = Path(__file__).resolve().parents[2]
ADMIN, ADMIN_PASSWORD = "admin", "admin's own: \"§\\{{ =,"
START_TIMEOUT_S = 120
FETCH_TIMEOUT_S = 900
# One core a broker at most, and no second compiler: they live for seconds.
JAVA = ["-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"]
RACKS = {1: "a", 2: "a", 3: "b"}
LISTENERS = ("CLIENT", "TLS", "MTLS", "BROKER", "CONTROLLER")
SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule required;"


class Node:
    """One Java process."""

    def __init__(self, folder: Path, libs: Path, main: Sequence[str]) -> None:
        self.folder, self._libs, self._main = folder, libs, main
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        with (self.folder / "log").open("ab") as log:
            # It ends with the tests, even if those are killed.
            self._process = subprocess.Popen(
                ["setpriv", "--pdeathsig", "KILL", "java", *JAVA, "-cp", f"{self._libs}/*", *self._main],
                stdout=log, stderr=log, stdin=subprocess.DEVNULL, cwd=self.folder,
            )  # fmt: skip

    def signal(self, number: signal.Signals) -> None:
        assert self._process
        self._process.send_signal(number)

    def end(self) -> None:
        if self._process:
            self._process.kill()
            self._process.wait()
            self._process = None

    def log(self) -> str:
        return (self.folder / "log").read_text(encoding="utf-8", errors="replace")[-3000:]


class Processes:
    """A cluster: its nodes, and how to reach it."""

    def __init__(self, folder: Path, ports: dict[int, dict[str, int]]) -> None:
        self.folder, self.ports = folder, ports
        self.nodes: dict[int, Node] = {}

    def servers(self, listener: str = "CLIENT") -> list[str]:
        return [f"127.0.0.1:{ports[listener]}" for ports in self.ports.values()]

    def client(self, protocol: str = "SASL_PLAINTEXT", **more: Any) -> dict[str, Any]:
        """In librdkafka's names, as the admin."""
        settings: dict[str, Any] = {"security.protocol": protocol}
        if protocol.startswith("SASL"):
            settings |= {"sasl.mechanism": "SCRAM-SHA-512", "sasl.username": ADMIN, "sasl.password": ADMIN_PASSWORD}
        if protocol.endswith("SSL"):
            settings["ssl.ca.location"] = str(self.folder / "ca.pem")
        return settings | more

    def cluster(self) -> Cluster:
        return Cluster(read_settings(self.servers(), self.client()), timeout_s=10)

    def wait_whole(self) -> None:
        def is_whole() -> bool:
            with contextlib.suppress(KafkaModuleError), self.cluster() as cluster:
                return not gate.not_whole(facts.read(cluster), expected=list(self.ports))
            return False

        whole = wait_until(is_whole, timeout_s=START_TIMEOUT_S)
        assert whole, "\n\n".join(node.log() for node in self.nodes.values())

    def end(self) -> None:
        for node in self.nodes.values():
            node.end()


def fetch(version: str) -> Path:
    """The folder of Kafka's jars, taken out of the product's own cache."""
    done = subprocess.run(
        [sys.executable, "-m", "tools.kafka.fetch", version],
        cwd=ROOT, check=True, stdout=subprocess.PIPE, timeout=FETCH_TIMEOUT_S,
    )  # fmt: skip
    archive = Path(json.loads(done.stdout)["archive"])
    folder = archive.parent / "test" / archive.stem
    if not folder.is_dir():
        half = folder.with_name(f"{folder.name}.{os.getpid()}")
        with tarfile.open(archive) as tar:
            tar.extractall(half, filter="data")
        with contextlib.suppress(OSError):  # another run was first
            half.rename(folder)
        shutil.rmtree(half, ignore_errors=True)
    return folder / f"kafka_2.13-{version}" / "libs"


def free_ports(count: int) -> list[int]:
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for item in sockets:
            item.bind(("127.0.0.1", 0))
        return [item.getsockname()[1] for item in sockets]


@contextlib.contextmanager
def kraft(folder: Path, *, version: str = "4.3.1", count: int = 3) -> Iterator[Processes]:
    """Combined nodes with an authorizer; SCRAM with and without TLS, and certificates, on listeners of their own."""
    libs = fetch(version)
    numbers = iter(free_ports(count * len(LISTENERS)))
    made = Processes(folder, {node: {name: next(numbers) for name in LISTENERS} for node in range(1, count + 1)})
    make_certificates(folder)
    # Its first letter is an A: an id that begins with a dash looks like an option.
    cluster_id = base64.urlsafe_b64encode(b"\0" + uuid.uuid4().bytes[1:]).decode().rstrip("=")
    for node in made.ports:
        home = folder / str(node)
        home.mkdir()
        write_properties(home / "server.properties", kraft_properties(made, node))
        made.nodes[node] = Node(home, libs, ["kafka.Kafka", "server.properties"])
    try:
        _format(made, libs, cluster_id)
        for running in made.nodes.values():
            running.start()
        made.wait_whole()
        yield made
    finally:
        made.end()


def _format(made: Processes, libs: Path, cluster_id: str) -> None:
    """All nodes at once; of the admin's password Kafka gets the salted form, which takes any character."""
    salt = new_salt()
    salted = salted_password("SCRAM-SHA-512", ADMIN_PASSWORD, salt, ITERATIONS_MIN)
    parts = {"salt": base64.b64encode(salt).decode(), "saltedpassword": base64.b64encode(salted).decode()}
    words = [f"name={ADMIN}", f"iterations={ITERATIONS_MIN}", *(f'{key}="{value}"' for key, value in parts.items())]
    scram = f"SCRAM-SHA-512=[{','.join(words)}]"
    argv = ["java", *JAVA, "-cp", f"{libs}/*", "kafka.tools.StorageTool", "format", "-t", cluster_id]
    processes = [
        subprocess.Popen(
            [*argv, "-c", "server.properties", "--add-scram", scram],
            cwd=made.folder / str(node), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        )
        for node in made.ports
    ]  # fmt: skip
    for process in processes:
        output, _ = process.communicate(timeout=START_TIMEOUT_S)
        assert process.returncode == 0, output


@contextlib.contextmanager
def zookeeper(folder: Path, *, version: str = "3.9.2", count: int = 2) -> Iterator[Processes]:
    """Brokers of the last line with ZooKeeper; the admin is made through it, as there is no format there."""
    libs = fetch(version)
    numbers = iter(free_ports(count * len(LISTENERS) + 1))
    zookeeper_port = next(numbers)
    names = LISTENERS[:-1]
    made = Processes(folder, {node: {name: next(numbers) for name in names} for node in range(1, count + 1)})
    make_certificates(folder)
    home = folder / "zookeeper"
    home.mkdir()
    write_properties(home / "zookeeper.properties", {
        "dataDir": "data", "clientPort": zookeeper_port, "clientPortAddress": "127.0.0.1",
        "admin.enableServer": "false",
    })  # fmt: skip
    keeper = Node(home, libs, ["org.apache.zookeeper.server.quorum.QuorumPeerMain", "zookeeper.properties"])
    for node, ports in made.ports.items():
        home = folder / str(node)
        home.mkdir()
        addresses = ",".join(f"{name}://127.0.0.1:{port}" for name, port in ports.items())
        write_properties(home / "server.properties", common_properties(ports) | {
            "broker.id": node,
            "broker.rack": RACKS.get(node, "c"),
            "listeners": addresses,
            "zookeeper.connect": f"127.0.0.1:{zookeeper_port}",
            "authorizer.class.name": "kafka.security.authorizer.AclAuthorizer",
            "offsets.topic.replication.factor": 1,
        })  # fmt: skip
        made.nodes[node] = Node(home, libs, ["kafka.Kafka", "server.properties"])
    try:
        keeper.start()
        for running in made.nodes.values():
            running.start()
        assert wait_until(lambda: _make_admin(made), timeout_s=START_TIMEOUT_S), made.nodes[1].log()
        made.wait_whole()
        yield made
    finally:
        made.end()
        keeper.end()


def _make_admin(made: Processes) -> bool:
    """Through the listener in plain text, where everybody is a super user in these tests."""
    user = User(ADMIN, True, ("SCRAM-SHA-512",), ITERATIONS_MIN, ADMIN_PASSWORD)  # noqa: FBT003 - present
    changes = users_plan({ADMIN: user}, {}, {})
    with (
        contextlib.suppress(KafkaModuleError),
        Cluster(read_settings(made.servers("BROKER"), {}), timeout_s=10) as cluster,
    ):
        users_backend.apply(cluster, changes)
        return True
    return False


def kraft_properties(made: Processes, node: int) -> dict[str, Any]:
    ports, count = made.ports[node], len(made.ports)
    addresses = ",".join(f"{name}://127.0.0.1:{port}" for name, port in ports.items())
    voters = ",".join(f"{other}@127.0.0.1:{made.ports[other]['CONTROLLER']}" for other in made.ports)
    return common_properties(ports) | {
        "process.roles": "broker,controller",
        "node.id": node,
        "broker.rack": RACKS.get(node, "c"),
        "controller.quorum.voters": voters,
        "controller.listener.names": "CONTROLLER",
        "listeners": addresses,
        "advertised.listeners": addresses.rpartition(",")[0],
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "offsets.topic.replication.factor": count,
        "broker.session.timeout.ms": 3000,
        "broker.heartbeat.interval.ms": 500,
        "controlled.shutdown.enable": "true",
        "replica.lag.time.max.ms": 5000,
    }


def common_properties(ports: dict[str, int]) -> dict[str, Any]:
    protocols = {"CLIENT": "SASL_PLAINTEXT", "TLS": "SASL_SSL", "MTLS": "SSL"}
    return {
        "listener.security.protocol.map": ",".join(f"{name}:{protocols.get(name, 'PLAINTEXT')}" for name in ports),
        "inter.broker.listener.name": "BROKER",
        **{
            f"listener.name.{listener}.{key}": value
            for listener in ("client", "tls")
            for key, value in {
                "sasl.enabled.mechanisms": "SCRAM-SHA-256,SCRAM-SHA-512",
                "scram-sha-256.sasl.jaas.config": SCRAM,
                "scram-sha-512.sasl.jaas.config": SCRAM,
            }.items()
        },
        "listener.name.mtls.ssl.client.auth": "required",
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": "../server.pem",
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": "../ca.pem",
        "ssl.principal.mapping.rules": "RULE:^CN=([^,]*).*$/$1/,DEFAULT",
        # Nodes talk in plain text here, on loopback.
        "super.users": f"User:ANONYMOUS;User:{ADMIN}",
        "auto.create.topics.enable": "false",
        "log.dirs": "data",
        "num.network.threads": 2,
        "num.io.threads": 2,
        "offsets.topic.num.partitions": 2,
        "transaction.state.log.num.partitions": 2,
        "log.cleaner.dedupe.buffer.size": 2_000_000,
    }


def write_properties(path: Path, properties: dict[str, Any]) -> None:
    path.write_text("".join(f"{key}={value}\n" for key, value in properties.items()), encoding="utf-8")


def make_certificates(folder: Path) -> None:
    """ca.pem, and server.pem and admin.pem with key and chain; `admin` is the super user's certificate."""
    authority_key = ec.generate_private_key(ec.SECP256R1())
    authority = _certificate("test authority", authority_key, None, authority_key)
    (folder / "ca.pem").write_bytes(authority.public_bytes(serialization.Encoding.PEM))
    for name in ("server", ADMIN):
        key = ec.generate_private_key(ec.SECP256R1())
        leaf = _certificate(name, key, authority.subject, authority_key)
        pem = key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        chain = b"".join(item.public_bytes(serialization.Encoding.PEM) for item in (leaf, authority))
        (folder / f"{name}.pem").write_bytes(pem + chain)


def _certificate(
    name: str, key: ec.EllipticCurvePrivateKey, issuer: x509.Name | None, signer: ec.EllipticCurvePrivateKey
) -> x509.Certificate:
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    now = datetime.now(UTC)
    addresses = [x509.DNSName("localhost"), x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer or subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.BasicConstraints(ca=issuer is None, path_length=None), critical=True)
        .add_extension(x509.SubjectAlternativeName(addresses), critical=False)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(signer.public_key()), critical=False)
        .sign(signer, hashes.SHA256())
    )
