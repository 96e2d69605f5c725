"""Transport: only declared ports, only TLS of today, and certificates that clients may believe."""

from __future__ import annotations

import contextlib
import re
import shlex
import socket
import ssl
import subprocess
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from common.errors import KastellanError
from validate.faults.shell import over_ssh
from validate.security import old_server, tls, wire
from validate.security.look import take_sockets
from validate.security.registry import Evidence, NotApplicable, check
from validate.security.strangers import Stranger
from validate.security.wire import NoAnswer, Session

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from validate.cluster import Host
    from validate.security.look import Look
    from validate.security.scene import Scene, Target

HERE, NODES = "this machine", "another node of the cluster, through ssh"
BOTH = f"{HERE}; for listeners of nodes {NODES}"
LOGIN_PORT = 22
SCAN_S = 1.0
SCANNERS = 64
RENEGOTIATION_S, INSIDE_S = 8.0, 30.0
CLIENT_AUTH = "ssl.client.auth"
# What a handshake ends with where the other side does not have the version, or a suite of it.
REFUSED = re.compile("PROTOCOL_VERSION|UNSUPPORTED_PROTOCOL|HANDSHAKE_FAILURE|INSUFFICIENT_SECURITY")
# Listens for names of its neighbours wherever it is turned on, and Debian's images have it.
OF_THE_SYSTEM = ("systemd-resolve",)
# Doors that are often forgotten open: ZooKeeper and its admin server, debuggers, JMX and its agents, Connect.
KNOWN_PORTS = (
    2181, 2182, 2888, 3888, 5005, 7071, 7203, 8000, 8080, 8081, 8082, 8083, 8088, 8778, 9000, 9090, 9092, 9093, 9095,
    9096, 9099, 9100, 9101, 9308, 9404, 9581, 9990, 9999, 10101, 11001, 19092, 29092,
)  # fmt: skip


def answers(address: str, port: int) -> bool:
    try:
        socket.create_connection((address, port), timeout=SCAN_S).close()
    except OSError:
        return False
    return True


def answering(places: Iterable[tuple[str, int]]) -> set[tuple[str, int]]:
    """Which of these answer from here; a dropped connection costs its time-out, so all are tried at once."""
    asked = sorted(set(places))
    with ThreadPoolExecutor(SCANNERS) as pool:
        return {place for place, well in zip(asked, pool.map(lambda one: answers(*one), asked), strict=True) if well}


def declared_ports(scene: Scene, host: Host) -> set[int]:
    login = {host.login.port} if host.login else {LOGIN_PORT}
    listeners = {target.listener.port for target in scene.targets(tls_only=False) if target.host == host}
    return login | listeners | set(host.ports)


def sockets(scene: Scene, see: Evidence) -> dict[str, Look]:
    """By host; one that cannot be looked at is told."""
    found = dict(scene.looks)
    for host in scene.cluster.hosts:
        if host.login is None:
            see.unknown(f"{host.name}: no ssh, so its sockets are not known")
        elif host.name in scene.unseen:
            see.unknown(f"{host.name}: its sockets are not known: {scene.unseen[host.name]}")
        elif host.name not in found:
            try:
                found[host.name] = take_sockets(host)
            except KastellanError as why:
                see.unknown(f"{host.name}: its sockets are not known: {' '.join(str(why).split())}")
    return found


@check(
    1, "Every listening port is declared", tried="list the listening sockets of each host, of Kafka or not; connect to "
    "them, and to ports that are often forgotten; from another host to those that are undeclared",
    where=f"each host's kernel (ss); {HERE}; another host of the cluster",
    expected="the service holds its declared listeners and nothing else; nobody else listens but on declared ports, on "
    "the loopback, or as the host's own resolver; no undeclared port answers from outside, nor from another host",
    fix="Close the port, or declare it: in kafka_listeners, for other hosts in their ports of cluster.json; the host "
    "firewall (host_firewall) drops all others.",
)  # fmt: skip
def declared(scene: Scene, see: Evidence) -> None:
    looks, hosts = sockets(scene, see), scene.cluster.hosts
    outer = {name: look.outer() for name, look in looks.items()}
    wanted = {
        host.name: outer.get(host.name, set()) | set(KNOWN_PORTS) | declared_ports(scene, host) for host in hosts
    }  # fmt: skip
    heard = answering((host.address, port) for host in hosts for port in wanted[host.name])
    for host in hosts:
        allowed = declared_ports(scene, host)
        if look := looks.get(host.name):
            kept = {port for _, port, own in look.listening if own}
            told = f"{host.name}: the service listens on {sorted(kept)}, declared {sorted(allowed)}"
            see.expect(kept <= allowed, told)
            strange = sorted(look.outer(*OF_THE_SYSTEM) - allowed - kept)
            see.expect(not strange, f"{host.name}: undeclared and listening, by others: {strange or 'none'}")
        open_ = {port for address, port in heard if address == host.address}
        told = f"{host.name}: of {len(wanted[host.name])} ports {sorted(open_)} answer from outside"
        see.expect(open_ <= allowed, told)
        see.twin(bool(open_), f"{host.name}: declared ports answer from outside")
        _from_inside(scene, see, host, sorted(outer.get(host.name, set()) - allowed - open_))


def _from_inside(scene: Scene, see: Evidence, host: Host, ports: list[int]) -> None:
    """What is closed to this machine may be open to the cluster's own hosts."""
    others = [one for one in scene.cluster.hosts if one.login and one != host]
    if not ports or not others:
        return
    script = "".join(_knocks(host.address, port) for port in ports) + "wait\nexit 0\n"
    try:
        told = over_ssh(others[0], script, timeout_s=INSIDE_S)
    except KastellanError as why:
        see.unknown(f"{host.name}: {ports} were not tried from {others[0].name}: {' '.join(str(why).split())}")
        return
    open_ = [int(port) for port in told.split()]
    see.expect(not open_, f"{host.name}: of {ports}, undeclared, {open_ or 'none'} answer {others[0].name}")


def _knocks(address: str, port: int) -> str:
    """For a host's shell: the port, if somebody answers there; what is dropped takes its time, so all go at once."""
    knock = f"exec 3<>/dev/tcp/{address}/{port}"
    return f"{{ timeout 2 bash -c {shlex.quote(knock)} && echo {port}; }} < /dev/null 2> /dev/null &\n"


@check(
    2, "Plain words get no answer from a TLS port", tried="ApiVersions without TLS; the same inside TLS",
    where=BOTH, expected="no Kafka answer without TLS; an answer, or the demand for a login, inside TLS",
    fix="Set the listener's protocol to SSL or SASL_SSL in kafka_listeners.",
)  # fmt: skip
def plain_words(scene: Scene, see: Evidence) -> None:
    for target in scene.targets(tls_only=False):
        try:
            with Session(scene.connect(target, 3.0)) as session:
                answer = session.raw(wire.HELLO)
            see.expect(not answer.startswith(wire.HELLO_ID), f"{target}: it answers Kafka's ApiVersions without TLS")
        except NoAnswer as why:
            see.fine(f"{target}: {why}")
            served(scene, see, target)


def served(scene: Scene, see: Evidence, target: Target) -> None:
    """The twin: TLS is spoken there."""
    if not target.listener.tls:
        return
    with contextlib.closing(scene.connect(target)) as channel:
        heard = tls.greet(channel, tls.hello(tls.TLS12, tls.STRONG))
    see.twin(heard.accepted, f"{target}: TLS 1.2 {heard.said}")


@check(
    3, "No listener without TLS is in force", tried="DescribeConfigs of every broker and controller as the "
    "administrator", where=BOTH, expected="every listener in force maps to SSL or SASL_SSL",
    fix="Remove the PLAINTEXT or SASL_PLAINTEXT listener from kafka_listeners or kafka_config.",
)  # fmt: skip
def no_plaintext(scene: Scene, see: Evidence) -> None:
    for host, found in scene.in_force(see):
        protocols = dict(pair.split(":") for pair in (found["listener.security.protocol.map"] or "").split(","))
        names = {place.partition("://")[0] for place in (found["listeners"] or "").split(",")}
        # By these a broker that is no controller speaks to those that are.
        names |= {name for name in (found.get("controller.listener.names") or "").split(",") if name}
        plain = sorted(name for name in names if protocols.get(name, "PLAINTEXT").endswith("PLAINTEXT"))
        see.expect(not plain, f"{host.name}: in force {', '.join(f'{n}:{protocols.get(n)}' for n in sorted(names))}")


def turned_down(see: Evidence, told: str, heard: tls.Greeting) -> None:
    """Who stays silent has neither accepted nor refused a hello."""
    if heard.said == tls.SILENT:
        see.unknown(f"{told} {heard.said}")
    else:
        see.expect(heard.refused, f"{told} {heard.said}")


@check(
    4, "Old versions of TLS are refused", tried="hellos made by hand for SSL 3.0, TLS 1.0 and TLS 1.1",
    where=BOTH, expected="an alert or a closed connection; the same hello for TLS 1.2 is accepted",
    fix="Set ssl.enabled.protocols to TLSv1.3,TLSv1.2.",
)  # fmt: skip
def old_versions(scene: Scene, see: Evidence) -> None:
    stranger = Stranger(scene.folder).issue("loopback")
    for version in (tls.TLS10, tls.TLS11):
        heard = old_server.understood(version, stranger, (*tls.STRONG, *tls.OLD), "ALL:COMPLEMENTOFALL")
        well = heard.accepted and heard.version == version
        see.twin(well, f"a server here that speaks {tls.NAMES[version]} understands the hello ({heard.said})")
    for target in scene.targets():
        served(scene, see, target)
        for version in (tls.SSL3, tls.TLS10, tls.TLS11):
            with contextlib.closing(scene.connect(target)) as channel:
                heard = tls.greet(channel, tls.hello(version, (*tls.STRONG, *tls.OLD)))
            turned_down(see, f"{target}: {tls.NAMES[version]}", heard)


@check(
    5, "TLS 1.2 and 1.3 are accepted", tried="a handshake that allows one version only", where=BOTH,
    expected="both versions come about", fix="Set ssl.enabled.protocols to TLSv1.3,TLSv1.2.",
)  # fmt: skip
def new_versions(scene: Scene, see: Evidence) -> None:
    for target in scene.targets():
        for version in (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3):
            context = tls.context(scene.ca, certificate_for(scene, target))
            context.minimum_version = context.maximum_version = version
            try:
                with scene.session(target, context) as session:
                    told = str(session.channel.version())  # type: ignore[attr-defined]
            except ssl.SSLError as error:
                if not REFUSED.search(error.reason or ""):
                    raise  # a connection that ends, or a certificate, says nothing of the version
                see.wrong(f"{target}: {version.name} is refused ({error.reason})")
            else:
                see.expect(told.replace(".", "_") == version.name, f"{target}: {told}")


def certificate_for(scene: Scene, target: Target) -> tuple[Path, Path] | None:
    """Where a client has to show one, the administrator's."""
    return scene.certificate(scene.cluster.admin_user) if target.listener.client_auth == "required" else None


@check(
    6, "Weak ciphers are refused", tried="hellos made by hand that offer one weak family each",
    where=BOTH, expected="every family is refused; suites with forward secrecy are accepted",
    fix="Set ssl.cipher.suites to ECDHE with AES-GCM or ChaCha20, and those of TLS 1.3.",
)  # fmt: skip
def weak_ciphers(scene: Scene, see: Evidence) -> None:
    stranger = Stranger(scene.folder).issue("loopback")
    heard = old_server.understood(tls.TLS12, stranger, tls.WEAK["CBC with SHA-1"], "ECDHE-ECDSA-AES128-SHA")
    see.twin(heard.accepted, f"a server here that has weak ciphers understands the hello ({heard.said})")
    for target in scene.targets():
        served(scene, see, target)
        for family, suites in tls.WEAK.items():
            with contextlib.closing(scene.connect(target)) as channel:
                heard = tls.greet(channel, tls.hello(tls.TLS12, suites))
            turned_down(see, f"{target}: {family}", heard)


@check(
    14, "ssl.client.auth=required is really in force", tried="look for the demand for a certificate in the "
    "handshake for TLS 1.2; DescribeConfigs of every broker and controller", where=BOTH,
    expected="every listener that declares it asks for a certificate, and does not only wish for one",
    fix="client_auth: required in kafka_listeners; for SASL_SSL the listener's own prefix is needed.",
)  # fmt: skip
def client_auth(scene: Scene, see: Evidence) -> None:
    asked = 0
    for target in scene.targets():
        required = target.listener.client_auth == "required"
        asked += required
        with contextlib.closing(scene.connect(target)) as channel:
            heard = tls.greet(channel, tls.hello(tls.TLS12, tls.STRONG))
        if see.twin(heard.accepted, f"{target}: TLS 1.2 {heard.said}") and required:
            see.expect(heard.asks, f"{target}: {'asks' if heard.asks else 'does not ask'} for a certificate")
    if not asked:
        raise NotApplicable("cluster.json declares no listener that asks for certificates")
    # Who only wishes for a certificate ("requested") asks in the handshake, too.
    for host, found in scene.in_force(see):
        wanted = [t.listener for t in scene.targets() if t.host == host and t.listener.client_auth == "required"]
        for one in wanted:
            # Without a listener's prefix it holds for listeners that speak SSL alone.
            common = None if one.sasl else found.get(CLIENT_AUTH)
            value = found.get(f"listener.name.{one.name.lower()}.{CLIENT_AUTH}") or common
            see.expect(value == "required", f"{host.name} {one.name}: {CLIENT_AUTH}={value}")


@check(
    15, "No compression, no renegotiation", tried="a hello that offers compression; OpenSSL's client that asks for a "
    "new handshake inside TLS 1.2", where=HERE, expected="compression is not taken; the second handshake is refused",
    fix="Java never compresses; -Djdk.tls.rejectClientInitiatedRenegotiation=true refuses renegotiation.",
)  # fmt: skip
def renegotiation(scene: Scene, see: Evidence) -> None:
    for target in scene.targets(inner=False):
        with contextlib.closing(scene.connect(target)) as channel:
            heard = tls.greet(channel, tls.hello(tls.TLS12, tls.STRONG, compressions=b"\x01\0"))
        if see.twin(heard.accepted, f"{target}: TLS 1.2 {heard.said}"):
            see.expect(heard.compression == 0, f"{target}: compression method {heard.compression}")
        began, ended = renegotiated(scene, target)
        if see.twin(began, f"{target}: OpenSSL's client comes through with TLS 1.2"):
            see.expect(ended, f"{target}: a second handshake {'ends the connection' if ended else 'is not refused'}")


def renegotiated(scene: Scene, target: Target) -> tuple[bool, bool]:
    """Whether OpenSSL's client came through, and whether asking for a new handshake ('R') ended its connection."""
    address, port = target.place
    argv = ["openssl", "s_client", "-connect", f"{address}:{port}", "-tls1_2", "-CAfile", str(scene.ca)]
    certificate = certificate_for(scene, target)
    if certificate:
        argv += ["-cert", str(certificate[0]), "-key", str(certificate[1])]
    process = subprocess.Popen(
        argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )  # fmt: skip
    watchdog = threading.Timer(RENEGOTIATION_S, process.kill)
    watchdog.start()
    try:
        assert process.stdin is not None  # noqa: S101  asked for above
        assert process.stdout is not None  # noqa: S101
        began = any("Verify return code: 0" in line for line in process.stdout)
        if began:
            process.stdin.write("R\n")  # standard input stays open: its end would end the client, too
            process.stdin.flush()
        asked_s = time.monotonic()
        process.stdout.read()
        return began, began and time.monotonic() - asked_s < RENEGOTIATION_S / 2
    except BrokenPipeError:
        return True, True
    finally:
        watchdog.cancel()
        process.kill()
        process.communicate()


@check(
    16, "Junk does not bring a broker down", tried="random bytes, a first packet of 2 GiB, 200 handshakes left half "
    "open", where=HERE, expected="the same process goes on serving; its memory grows by less than 256 MiB",
    fix="Upgrade Kafka (CVE-2022-34917); bound connections with max.connections.per.ip.",
    intrusive=True, bound_s=120.0,
)  # fmt: skip
def junk(scene: Scene, see: Evidence) -> None:
    from validate.security import look  # noqa: PLC0415

    target = scene.targets(inner=False)[0]
    cluster = scene.cluster
    before = look.take(target.host, cluster.service, cluster.data_dirs)
    for said in (b"\xff" * 4096, b"\x7f\xff\xff\xff" + b"\0" * 64, b"GET / HTTP/1.0\r\n\r\n"):
        with Session(scene.connect(target, 3.0)) as session, contextlib.suppress(NoAnswer):
            session.raw(said)
    with Session(scene.session(target, timeout_s=3.0).channel) as session, contextlib.suppress(NoAnswer):
        session.raw(b"\x7f\xff\xff\xff" + b"\0" * 64)
    half = []
    try:
        for _ in range(200):
            half.append(scene.connect(target, 3.0))
            half[-1].sendall(tls.hello(tls.TLS12, tls.STRONG)[:40])
        time.sleep(1)  # so that they are all there at once; what is then measured is their cost
        began_s = time.monotonic()
        alive = scene.admin(target.host, fresh=True).alive()
        see.expect(alive, f"{target}: a login with 200 half-open handshakes took {time.monotonic() - began_s:.2f} s")
    finally:
        for one in half:
            one.close()
    after = look.take(target.host, cluster.service, cluster.data_dirs)
    see.expect(before["pid"] == after["pid"], f"{target.host.name}: process {before['pid']}, then {after['pid']}")
    grown = (int(after.status("VmRSS").split()[0]) - int(before.status("VmRSS").split()[0])) // 1024
    see.expect(grown < 256, f"{target.host.name}: its memory grew by {grown} MiB")  # noqa: PLR2004  named above
