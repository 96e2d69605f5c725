"""Checks of TLS against ports that are silent, closed or open: only who saw a certificate has refused it."""

from __future__ import annotations

import contextlib
import socket
import subprocess
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.x509.oid import ExtendedKeyUsageOID

from tests.unit.validate.control import GOOD, cluster
from validate.faults.errors import FaultError
from validate.security import authorization_rules, look, old_server, run, tls, transport, transport_certificates
from validate.security.registry import CHECKS, Evidence
from validate.security.scene import Scene
from validate.security.strangers import Stranger
from validate.security.wire import NoAnswer

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from validate.cluster import Host

WELL = {"ssl.endpoint.identification.algorithm": "https"}
DISTRUSTED = (
    "[SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed: self-signed certificate in chain (_ssl.c:1000)"
)
PATIENCE_S = 0.3


@contextlib.contextmanager
def scene_at(port: int, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Scene]:
    """One broker on the loopback with one listener of TLS."""
    listener = {"name": "MTLS", "port": port, "protocol": "SSL", "mechanisms": [], "client_auth": "none"}
    host = {**GOOD["hosts"][0], "address": "127.0.0.1"}
    monkeypatch.setattr(Scene, "ca", Stranger(folder).ca)
    monkeypatch.setattr(Scene, "configs", lambda *_: WELL)
    monkeypatch.setattr(Scene, "connect", lambda _, target, *__: socket.create_connection(target.place, PATIENCE_S))
    with contextlib.closing(Scene(cluster(folder, hosts=[host], listeners=[listener]))) as made:
        yield made


def checked(scene: Scene, number: int) -> tuple[str, list[str]]:
    result = run.run_check(CHECKS[number], scene, consent=True)
    return result["verdict"], result["seen"]


@pytest.mark.parametrize("number", [4, 6, 9, 10])
def test_a_port_that_stays_silent_is_unknown(number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        scene_at(server.getsockname()[1], tmp_path, monkeypatch) as scene,
    ):
        verdict, seen = checked(scene, number)
    assert verdict == "unknown"
    assert any("timed out" in line or line.endswith("silent") for line in seen), seen


@pytest.mark.parametrize("number", [9, 10])
def test_a_port_where_nobody_listens_is_unknown(number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    with scene_at(port, tmp_path, monkeypatch) as scene:
        verdict, seen = checked(scene, number)
    assert verdict == "unknown"
    assert "Connection refused" in seen[0]


@pytest.mark.parametrize("number", [9, 10])
def test_who_trusts_nobody_there_has_seen_the_certificate_but_not_the_twin(
    number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A certificate of neither authority: refused by whoever looks, so it is the twin that fails."""
    (tmp_path / "server").mkdir()
    certificate = Stranger(tmp_path / "server").issue("broker-1")
    with old_server.serving(0x0303, certificate) as port, scene_at(port, tmp_path, monkeypatch) as scene:
        verdict, seen = checked(scene, number)
    assert verdict == "unknown"
    assert seen[0].startswith("the positive twin failed"), seen


@pytest.mark.parametrize(
    ("wrong", "right", "verdict"),
    [
        (DISTRUSTED, "", "passed"),
        ("", "", "failed"),
        (DISTRUSTED, DISTRUSTED, "unknown"),
        ("The handshake operation timed out", "", "unknown"),
        ("[Errno 111] Connection refused", "", "unknown"),
        ("[Errno 104] Connection reset by peer", "", "unknown"),
        ("[SSL: WRONG_VERSION_NUMBER] wrong version number (_ssl.c:1000)", "", "unknown"),
    ],
)
@pytest.mark.parametrize("number", [9, 10])
def test_only_a_client_that_broke_off_at_the_certificate_has_refused_it(
    number: int, wrong: str, right: str, verdict: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def handshake(scene: Any, _target: Any, context: str, name: str = "") -> str:
        return wrong if name.endswith(".invalid") or (number == 10 and context != str(scene.ca)) else right

    monkeypatch.setattr(tls, "context", lambda ca, *_: str(ca))
    monkeypatch.setattr(transport_certificates, "handshake", handshake)
    with scene_at(1, tmp_path, monkeypatch) as scene:
        assert checked(scene, number)[0] == verdict


@pytest.mark.parametrize(
    ("heard", "verdict"),
    [
        (tls.Greeting("silent"), "unknown"),
        (tls.Greeting("closed"), "passed"),
        (tls.Greeting("alert 70"), "passed"),
        (tls.Greeting("accepted", messages=[2]), "failed"),
    ],
)
def test_a_hello_is_refused_by_an_answer_alone(heard: tls.Greeting, verdict: str) -> None:
    see = Evidence()
    transport.turned_down(see, "broker-1", heard)
    assert see.verdict == verdict


KEEPER = {
    "name": "zookeeper-1", "address": "198.18.0.21", "ssh": GOOD["hosts"][0]["ssh"], "node_id": None,
    "roles": ["zookeeper"], "rack": None, "service": "zookeeper", "ports": [2182, 2888],
}  # fmt: skip
# Of a unit that cluster.json does not name, its sockets are nobody's.
WORKER = {key: value for key, value in KEEPER.items() if key != "service"} | {"roles": ["spark_worker"]}
STRANGERS, ITS = 7, 42
RESOLVER = '\nLISTEN 0 50 0.0.0.0:5355 *:* users:(("systemd-resolve",pid=7,fd=1))'


def listening(*held: tuple[int, int], unit: bool = True) -> str:
    """What a host prints of (port, process)."""
    lines = [f'LISTEN 0 50 *:{port} *:* users:(("x",pid={pid},fd=1))' for port, pid in held]
    return "\n".join((f"{look.MARK}pid", str(ITS) if unit else "", f"{look.MARK}listening", *lines))


@pytest.mark.parametrize(
    ("host", "told", "open_", "verdict", "said"),
    [
        (KEEPER, listening((2182, ITS), (2888, ITS), (22, STRANGERS)), {22}, "passed", ""),
        (KEEPER, listening((2182, ITS), (7199, ITS)), {22}, "failed", "the service listens on [2182, 7199]"),
        (KEEPER, listening((2182, ITS), (4444, STRANGERS)), {22, 4444}, "failed", "by others: [4444]"),
        (KEEPER, listening((2182, ITS)), {22, 2181}, "failed", "[22, 2181] answer from outside"),
        (KEEPER, listening((2182, ITS)), set(), "unknown", "zookeeper-1: declared ports answer from outside"),
        (KEEPER, None, {22}, "unknown", "zookeeper-1: its sockets are not known: refused"),
        (KEEPER | {"ssh": None}, None, {22}, "unknown", "zookeeper-1: no ssh, so its sockets are not known"),
        (KEEPER | {"ssh": None}, None, {22, 5005}, "failed", "[22, 5005] answer from outside"),
        (WORKER, listening((2182, STRANGERS), unit=False), {22, 2182}, "passed", ""),
        # Behind a packet filter somebody listens all the same.
        (
            WORKER,
            listening((8081, STRANGERS), unit=False),
            {22},
            "failed",
            "undeclared and listening, by others: [8081]",
        ),
        (WORKER, listening((8081, STRANGERS), unit=False), {22, 8081}, "failed", "by others: [8081]"),
    ],
)
def test_ports_of_hosts_without_kafka_are_looked_at(
    host: dict[str, Any], told: str | None, open_: set[int], verdict: str, said: str, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    asked: list[tuple[str, str]] = []

    def over_ssh(host: Host, script: str, *, timeout_s: float) -> str:
        assert timeout_s > 0
        assert subprocess.run(["bash", "-n"], input=script, text=True, check=False).returncode == 0
        asked.append((host.name, script))
        if told is None:
            raise FaultError("refused")
        return told

    def answering(places: Iterable[tuple[str, int]]) -> set[tuple[str, int]]:
        there = {(host["address"], port) for port in open_} | {(GOOD["hosts"][0]["address"], 22)}
        return there & set(places)

    monkeypatch.setattr(look, "over_ssh", over_ssh)
    monkeypatch.setattr(transport, "over_ssh", lambda *_, **__: "")
    monkeypatch.setattr(transport, "answering", answering)
    with contextlib.closing(Scene(cluster(tmp_path, hosts=[GOOD["hosts"][0], host]))) as scene:
        scene.looks = {"broker-1": look.Look("broker-1", look.parse(listening((9092, ITS))))}
        got, seen = checked(scene, 1)
    assert got == verdict, seen
    assert said in seen[0]
    assert [name for name, _ in asked] == (["zookeeper-1"] if host["ssh"] else [])
    assert all(("unit=zookeeper\n" in script) is ("service" in host) for _, script in asked)


def silent() -> Any:
    raise NoAnswer("silent until the time was over")


@pytest.mark.parametrize(
    ("settings", "asks", "verdict"),
    [
        ({"listener.name.mtls.ssl.client.auth": "required"}, True, "passed"),
        ({"ssl.client.auth": "required"}, True, "passed"),
        ({"listener.name.mtls.ssl.client.auth": "requested", "ssl.client.auth": "required"}, True, "failed"),
        ({}, True, "failed"),
        ({"ssl.client.auth": "required"}, False, "failed"),
        (None, True, "unknown"),
    ],
)
def test_a_certificate_that_is_only_wished_for_is_not_required(
    settings: dict[str, str] | None, asks: bool, verdict: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    heard = tls.Greeting("accepted", messages=[tls.SERVER_HELLO, *([tls.CERTIFICATE_REQUEST] if asks else [])])
    monkeypatch.setattr(tls, "greet", lambda *_: heard)
    listener = {**GOOD["listeners"][1], "name": "MTLS"}
    with contextlib.closing(Scene(cluster(tmp_path, listeners=[listener]))) as scene:
        monkeypatch.setattr(Scene, "connect", lambda *_: socket.socket())
        monkeypatch.setattr(Scene, "configs", lambda *_: settings if settings is not None else silent())
        got, seen = checked(scene, 14)
    assert got == verdict, seen


@pytest.mark.parametrize("family", sorted(tls.WEAK))
def test_every_weak_family_is_offered_alone_and_none_is_strong(family: str) -> None:
    assert not set(tls.WEAK[family]) & set(tls.STRONG)
    assert [other for other in tls.WEAK if other != family and set(tls.WEAK[other]) & set(tls.WEAK[family])] == []


@pytest.mark.parametrize(
    ("listeners", "controllers", "protocols", "verdict"),
    [
        ("CLIENT://:9092,BROKER://:9091", "CONTROLLER", "CLIENT:SASL_SSL,BROKER:SSL,CONTROLLER:SSL", "passed"),
        ("CLIENT://:9092,BROKER://:9091", None, "CLIENT:SASL_SSL,BROKER:SSL", "passed"),
        ("CLIENT://:9092,BROKER://:9091", "CONTROLLER", "CLIENT:SASL_PLAINTEXT,BROKER:SSL,CONTROLLER:SSL", "failed"),
        # Of a broker that is no controller: it has no such listener, and speaks to one.
        ("CLIENT://:9092,BROKER://:9091", "CONTROLLER", "CLIENT:SASL_SSL,BROKER:SSL,CONTROLLER:PLAINTEXT", "failed"),
        ("CLIENT://:9092,BROKER://:9091", "CONTROLLER", "CLIENT:SASL_SSL,BROKER:SSL", "failed"),
    ],
)
def test_what_is_in_force_is_all_tls(
    listeners: str, controllers: str | None, protocols: str, verdict: str, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    found = {
        "listener.security.protocol.map": protocols,
        "listeners": listeners,
        "controller.listener.names": controllers,
    }
    monkeypatch.setattr(Scene, "configs", lambda *_: found)
    with contextlib.closing(Scene(cluster(tmp_path))) as scene:
        assert checked(scene, 3)[0] == verdict


APART = {**GOOD["hosts"][3], "roles": ["kafka_controller"]}
IN_FORCE = {
    "listener.security.protocol.map": "CLIENT:SASL_SSL,MTLS:SSL,BROKER:SSL,CONTROLLER:SSL", "listeners": "CLIENT://:9092",
    "controller.listener.names": "CONTROLLER", "ssl.endpoint.identification.algorithm": "https",
    "ssl.client.auth": "required", "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "allow.everyone.if.no.acl.found": "false", "zookeeper.ssl.endpoint.identification.algorithm": "HTTPS",
}  # fmt: skip


@pytest.mark.parametrize(
    ("number", "changes"),
    [
        (3, {"listener.security.protocol.map": "CONTROLLER:PLAINTEXT", "listeners": "CONTROLLER://:9093"}),
        (9, {"ssl.endpoint.identification.algorithm": ""}),
        (14, {"listener.name.controller.ssl.client.auth": "requested"}),
        (43, {"allow.everyone.if.no.acl.found": "true"}),
        (44, {"authorizer.class.name": ""}),
    ],
)
@pytest.mark.parametrize("broken", ["", "broker-2", "broker-4"])
def test_controllers_that_are_no_brokers_are_asked_too(
    number: int, changes: dict[str, str], broken: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    heard = tls.Greeting("accepted", messages=[tls.SERVER_HELLO, tls.CERTIFICATE_REQUEST])
    asked: list[tuple[str, str]] = []

    def answers(host: Any, way: str) -> Any:
        asked.append((host.name, way))
        found = IN_FORCE | (changes if host.name == broken else {})
        told = [SimpleNamespace(name=name, value=value) for name, value in found.items()]
        results = [SimpleNamespace(error_code=0, configs=told)]
        return contextlib.nullcontext(SimpleNamespace(ask=lambda *_: SimpleNamespace(results=results)))

    def admin(_scene: Scene, host: Any, **_: Any) -> Any:
        return answers(host, "as a broker").enter_result

    monkeypatch.setattr(tls, "greet", lambda *_: heard)
    monkeypatch.setattr(tls, "context", lambda *_: None)
    monkeypatch.setattr(Scene, "ca", None)
    monkeypatch.setattr(Scene, "certificate", lambda *_: None)
    monkeypatch.setattr(Scene, "connect", lambda *_: socket.socket())
    monkeypatch.setattr(Scene, "session", lambda _, target, *__, **___: answers(target.host, target.listener.name))
    monkeypatch.setattr(Scene, "admin", admin)
    monkeypatch.setattr(
        Scene, "stage", SimpleNamespace(session=lambda *_: contextlib.nullcontext(), clear=lambda: None)
    )
    monkeypatch.setattr(transport_certificates, "handshake", lambda *said: DISTRUSTED if "wrong" in said[-1] else "")
    monkeypatch.setattr(authorization_rules, "asked", lambda session, _: [29] if session is None else [3])
    with contextlib.closing(Scene(cluster(tmp_path, hosts=[*GOOD["hosts"][:3], APART]))) as scene:
        got, seen = checked(scene, number)
    assert got == ("failed" if broken else "passed"), seen
    assert not broken or broken in seen[0]
    assert ("broker-4", "CONTROLLER") in asked
    assert ("broker-4", "as a broker") not in asked


SERVER, CLIENT = ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH
SIGNS = dict.fromkeys((
    "digital_signature", "content_commitment", "key_encipherment", "data_encipherment", "key_agreement",
    "key_cert_sign", "crl_sign", "encipher_only", "decipher_only",
), False) | {"digital_signature": True}  # fmt: skip


@pytest.mark.parametrize(
    ("inside", "verdict", "said"),
    [
        ("", "passed", ""),
        ("5355\n", "failed", "broker-1: of [5355], undeclared, [5355] answer broker-2"),
        (None, "unknown", "broker-1: [5355] were not tried from broker-2: refused"),
    ],
)
def test_what_is_closed_to_this_machine_may_be_open_to_other_hosts(
    inside: str | None, verdict: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def over_ssh(host: Host, _script: str, *, timeout_s: float) -> str:
        assert (host.name, timeout_s > 0) == ("broker-2", True)
        if inside is None:
            raise FaultError("refused")
        return inside

    monkeypatch.setattr(transport, "over_ssh", over_ssh)
    monkeypatch.setattr(transport, "answering", lambda places: {place for place in places if place[1] == 22})
    with contextlib.closing(Scene(cluster(tmp_path, 2))) as scene:
        told = {
            "broker-1": listening((9092, ITS)) + RESOLVER, "broker-2": listening((9092, ITS)),
        }  # fmt: skip
        scene.looks = {name: look.Look(name, look.parse(one)) for name, one in told.items()}
        got, seen = checked(scene, 1)
    assert got == verdict, seen
    assert said in seen[0]


def test_a_knock_names_the_port_where_somebody_answers() -> None:
    with socket.create_server(("127.0.0.1", 0)) as open_, socket.create_server(("127.0.0.1", 0)) as closed:
        ports = [one.getsockname()[1] for one in (open_, closed)]
        closed.close()
        script = "".join(transport._knocks("127.0.0.1", port) for port in ports) + "wait\nexit 0\n"
        done = subprocess.run(["bash", "-s"], input=script, capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == (f"{ports[0]}\n", "")


def leaf(key: Any, *, digest: Any, days: int, left: int, uses: tuple[Any, ...], usage: dict[str, bool] | None) -> Any:
    now = datetime.now(UTC)
    name = x509.Name([])
    made = x509.CertificateBuilder(
        name, name, key.public_key(), x509.random_serial_number(), now + timedelta(days=left - days, hours=1),
        now + timedelta(days=left, hours=1),
    )  # fmt: skip
    if uses:
        made = made.add_extension(x509.ExtendedKeyUsage(uses), critical=False)
    if usage:
        made = made.add_extension(x509.KeyUsage(**usage), critical=True)
    return made.sign(key, digest)


EC, RSA = ec.generate_private_key(ec.SECP256R1()), rsa.generate_private_key(65537, 2048)
WELL_MADE: dict[str, Any] = {
    "key": EC, "digest": hashes.SHA256(), "days": 397, "left": 300, "uses": (SERVER, CLIENT), "usage": SIGNS,
}  # fmt: skip


@pytest.mark.parametrize(
    ("changes", "inner", "weak"),
    [
        ({}, True, []),
        ({"usage": None}, True, []),
        ({"key": RSA}, True, []),
        ({"key": ed25519.Ed25519PrivateKey.generate(), "digest": None}, True, []),
        ({"key": ec.generate_private_key(ec.SECP224R1())}, False, ["a short key"]),
        ({"key": rsa.generate_private_key(65537, 1024)}, False, ["a short key"]),  # noqa: S505  that is the point
        ({"key": RSA, "digest": hashes.SHA224()}, False, ["a weak digest"]),
        ({"uses": (SERVER,)}, False, []),
        ({"uses": (SERVER,)}, True, ["not for servers and clients"]),
        ({"uses": (CLIENT,)}, False, ["not for servers"]),
        ({"uses": ()}, False, ["not for servers"]),
        ({"usage": {**SIGNS, "digital_signature": False, "key_encipherment": True}}, False, ["not for signatures"]),
        ({"left": 29}, False, ["less than 30 days left"]),
        ({"days": 399}, False, ["longer than 398 days"]),
    ],
)
def test_what_is_weak_about_a_certificate_is_named(changes: dict[str, Any], inner: bool, weak: list[str]) -> None:
    assert transport_certificates.weaknesses(leaf(**WELL_MADE | changes), inner=inner) == weak
