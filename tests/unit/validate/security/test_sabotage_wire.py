"""What sabotage writes for brokers and for the ensemble: certificates that one check alone sees, edits that find their line."""

from __future__ import annotations

import contextlib
import ipaddress
import socket
import ssl
import subprocess
import threading
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from certs import Pki, Wanted, init, utc_now
from plugins.filter.zookeeper import zoo_cfg
from tests.system.cluster import sabotages
from tests.system.cluster.breaking import CONFIG, UNIT
from tests.system.cluster.breaks_rules import keystore
from tests.system.zookeeper import breaks
from tests.unit.validate.control import GOOD, cluster
from tests.unit.validate.security.test_sabotages import Pretended
from validate.security import run, transport_certificates
from validate.security.registry import CHECKS
from validate.security.scene import Scene
from validate.security.strangers import own_authority

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.system.cluster.breaking import Sabotage

HOST = "broker-1"
ROLES = Path(__file__).parents[2] / "roles"
TEMPLATE = Path(__file__).parents[4] / "roles/kafka/templates/kafka.service.j2"


@pytest.fixture
def state(tmp_path: Path) -> Path:
    init(Pki(tmp_path / "pki"), Wanted(), now=utc_now())
    return tmp_path


@pytest.fixture
def leaf(state: Path) -> x509.Certificate:
    """As the roles have it signed: for name and address, as server and client."""
    issuer, key = own_authority(state, state / "pki"), ec.generate_private_key(ec.SECP256R1())
    names = x509.SubjectAlternativeName([x509.DNSName(HOST), x509.IPAddress(ipaddress.ip_address("127.0.0.1"))])
    return (
        x509.CertificateBuilder(
            issuer._chain[0].subject, x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, HOST)]), key.public_key(),
            x509.random_serial_number(), utc_now(), utc_now() + timedelta(days=365),
        )
        .add_extension(names, critical=False)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH]), critical=False)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .sign(issuer._key, hashes.SHA256())
    )  # fmt: skip


@contextlib.contextmanager
def shown(pem: Path, latest: ssl.TLSVersion = ssl.TLSVersion.TLSv1_3) -> Iterator[int]:
    """A listener that shows it. Gives the port."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.maximum_version = latest
    context.load_cert_chain(pem)

    def accept() -> None:
        with contextlib.suppress(OSError):
            while True:
                threading.Thread(target=one, args=(server.accept()[0],), daemon=True).start()

    def one(plain: socket.socket) -> None:
        with contextlib.suppress(OSError), plain, context.wrap_socket(plain, server_side=True) as channel:
            channel.recv(1)

    with socket.create_server(("127.0.0.1", 0)) as server:
        threading.Thread(target=accept, daemon=True).start()
        yield server.getsockname()[1]
        server.shutdown(socket.SHUT_RDWR)


@pytest.mark.parametrize(
    ("spoilt", "seen_by"),
    [
        ({"days": 300}, set()),
        ({"days": 5}, {12}),
        ({"days": 300, "twice": True}, {7}),
        ({"days": 300, "without": HOST}, {8}),
    ],
    ids=["good", "soon over", "with a stranger", "without the name"],
)
def test_a_spoilt_certificate_is_seen_by_its_check_alone(
    spoilt: dict[str, Any], seen_by: set[int], leaf: x509.Certificate, state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ground: Any = SimpleNamespace(described=lambda: SimpleNamespace(state_dir=state))
    pem = state / "shown.pem"
    pem.write_text(keystore(leaf, ground, **spoilt), encoding="ascii")
    monkeypatch.setattr(Scene, "ca", state / "pki/ca.pem")
    monkeypatch.setattr(transport_certificates, "advertised_by", lambda *_: {})
    with shown(pem) as port:
        listener = {"name": "MTLS", "port": port, "protocol": "SSL", "mechanisms": [], "client_auth": "none"}
        host = {**GOOD["hosts"][0], "name": HOST, "address": "127.0.0.1"}
        with contextlib.closing(Scene(cluster(state, hosts=[host], listeners=[listener]))) as scene:
            # 9 asks brokers for their settings, too, so it is 10 whose twin shows that clients take the certificate.
            told = {number: run.run_check(CHECKS[number], scene, consent=True) for number in (7, 8, 10, 12)}
    assert {number: one["verdict"] for number, one in told.items()} == {
        number: "failed" if number in seen_by else "passed" for number in (7, 8, 10, 12)
    }, told


@pytest.mark.parametrize(
    ("latest", "said"),
    [(ssl.TLSVersion.TLSv1_3, "passed: TLSv1.2"), (ssl.TLSVersion.TLSv1_2, "failed: TLSv1_3 is refused (TLSV1_ALERT_PROTOCOL_VERSION)")],
)  # fmt: skip
def test_a_version_that_is_refused_is_a_failure_and_not_unknown(
    latest: ssl.TLSVersion, said: str, leaf: x509.Certificate, state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ground: Any = SimpleNamespace(described=lambda: SimpleNamespace(state_dir=state))
    (state / "shown.pem").write_text(keystore(leaf, ground, days=300), encoding="ascii")
    monkeypatch.setattr(Scene, "ca", state / "pki/ca.pem")
    with shown(state / "shown.pem", latest) as port:
        listener = {"name": "MTLS", "port": port, "protocol": "SSL", "mechanisms": [], "client_auth": "none"}
        host = {**GOOD["hosts"][0], "name": HOST, "address": "127.0.0.1"}
        with contextlib.closing(Scene(cluster(state, hosts=[host], listeners=[listener]))) as scene:
            told = run.run_check(CHECKS[5], scene, consent=True)
    assert f"{told['verdict']}: {told['seen'][0].partition(': ')[2]}" == said


def test_a_connection_that_just_ends_says_nothing_of_versions(state: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def hang_up(server: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while True:
                with server.accept()[0] as one:
                    one.recv(65536)

    monkeypatch.setattr(Scene, "ca", state / "pki/ca.pem")
    with socket.create_server(("127.0.0.1", 0)) as server:
        threading.Thread(target=hang_up, args=(server,), daemon=True).start()
        port = server.getsockname()[1]
        listener = {"name": "MTLS", "port": port, "protocol": "SSL", "mechanisms": [], "client_auth": "none"}
        host = {**GOOD["hosts"][0], "name": HOST, "address": "127.0.0.1"}
        with contextlib.closing(Scene(cluster(state, hosts=[host], listeners=[listener]))) as scene:
            told = run.run_check(CHECKS[5], scene, consent=True)
        server.shutdown(socket.SHUT_RDWR)
    assert told["verdict"] == "unknown", told


def test_kafka_takes_it_in_place_of_the_old_one(leaf: x509.Certificate, state: Path) -> None:
    """Without a restart it takes another certificate only of the same subject, and with all names of the old one."""
    ground: Any = SimpleNamespace(described=lambda: SimpleNamespace(state_dir=state))
    for twice in (False, True):
        made = x509.load_pem_x509_certificates(keystore(leaf, ground, days=5, twice=twice).encode())
        assert made[0].subject == leaf.subject
        names = [one.extensions.get_extension_for_class(x509.SubjectAlternativeName).value for one in (made[0], leaf)]
        assert names[0] == names[1]
        # Java's key stores look whether each is issued by the name of the next.
        assert [one.issuer for one in made[:-1]] == [one.subject for one in made[1:]]


def edits_of(one: Sabotage, ground: Pretended, file: str) -> list[str]:
    with one.act(ground):
        pass
    return [line for line in ground.told[0][1].splitlines() if line.startswith("sed -i") and line.endswith(file)]


# The first alone has no certificate made.
@pytest.mark.parametrize("one", [one for one in sabotages.RESTARTS if 8 not in one.checks], ids=lambda one: one.name)
def test_every_edit_of_settings_finds_its_line_and_no_other(one: Sabotage, tmp_path: Path) -> None:
    edits = edits_of(one, Pretended({}), CONFIG)
    assert edits
    settings = tmp_path / "server.properties"
    for edit in edits:
        settings.write_bytes((ROLES / "kraft.properties").read_bytes())
        before = settings.read_text().splitlines()
        subprocess.run(["bash", "-ec", edit.replace(CONFIG, str(settings))], check=True)
        after = settings.read_text().splitlines()
        assert len({*before} ^ {*after}) in {1, 2}, edit  # one that is gone or new, or one in place of another


def test_what_java_is_told_besides_stands_behind_what_the_unit_tells_it(tmp_path: Path) -> None:
    """Without its own options, the unit's would be gone with the drop-in."""
    (doors,) = [one for one in sabotages.RESTARTS if 60 in one.checks]
    ground, drop_in = Pretended({}), tmp_path / "drop-in"
    with doors.act(ground):
        pass
    (line,) = [line for line in ground.told[0][1].splitlines() if line.startswith("sed -n")]
    subprocess.run(
        ["bash", "-ec", line.replace(UNIT, str(TEMPLATE), 1).partition(" >> ")[0] + f" > {drop_in}"], check=True
    )
    told = drop_in.read_text()
    assert told.count("\n") == 1
    assert told.startswith('Environment="KAFKA_OPTS=-Djdk.tls.rejectClientInitiatedRenegotiation=true ')
    assert told.endswith('ssl=false -XX:+HeapDumpOnOutOfMemoryError"\n')


@pytest.mark.parametrize(
    "edit", ["s/^secureClientPort=/clientPort=/", "s/^4lw[.]commands[.]whitelist=.*/4lw.commands.whitelist=*/"]
)
def test_every_edit_of_the_ensembles_settings_finds_its_line(edit: str, tmp_path: Path) -> None:
    assert f'restarted("{edit}"' in Path(breaks.__file__).read_text(encoding="utf-8")
    members = [{"name": "z", "address": "127.0.0.1", "id": 1, "port": 2182, "inner_ports": []}]
    settings = tmp_path / "zoo.cfg"
    settings.write_text(zoo_cfg({
        "members": members, "client_port": 2182, "quorum_port": 2888, "election_port": 3888, "config_dir": "/e",
        "data_dir": "/d", "transaction_log_dir": "/t", "connections_max": 60, "snapshots_kept": 5,
        "purge_interval_h": 24, "config": {},
    }))  # fmt: skip
    before = settings.read_text().splitlines()
    subprocess.run(["sed", "-i", edit, str(settings)], check=True)
    assert len({*before} ^ {*settings.read_text().splitlines()}) == 2
