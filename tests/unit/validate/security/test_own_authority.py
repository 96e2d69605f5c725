"""Check 13 with certificates of the cluster's own authority, against servers that look and servers that do not."""

from __future__ import annotations

import contextlib
import socket
import ssl
import threading
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.serialization import BestAvailableEncryption, Encoding, PrivateFormat

from certs import Pki, Wanted, init, keys, utc_now
from common.errors import UnreadableError
from tests.unit.validate.control import cluster
from validate.security import transport_certificates
from validate.security.registry import Evidence
from validate.security.strangers import FOR_NEITHER, MOMENT, Issuer, Stranger, own_authority

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

Door = tuple[str, int]


@pytest.fixture
def pki(tmp_path: Path) -> Path:
    init(Pki(tmp_path / "pki"), Wanted(), now=utc_now())
    return tmp_path / "pki"


@contextlib.contextmanager
def serving(folder: Path, pki: Path, *, looks: bool) -> Iterator[Door]:
    """Asks for a client's certificate; `looks`: and judges it, as a broker should."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*own_authority(folder, pki).issue("loopback"))
    if looks:
        context.verify_mode = ssl.CERT_REQUIRED
        context.load_verify_locations(pki / "ca.pem")
    with socket.create_server(("127.0.0.1", 0)) as server:

        def answer() -> None:
            while True:
                try:
                    plain, _ = server.accept()
                except OSError:
                    return
                with contextlib.suppress(OSError), context.wrap_socket(plain, server_side=True) as channel:
                    channel.sendall(b"k" * len(channel.recv(1)))

        threading.Thread(target=answer, daemon=True).start()
        yield server.getsockname()
        server.shutdown(socket.SHUT_RDWR)


def let_in(door: Door, pki: Path, certificate: tuple[Path, Path] | None) -> str:
    """What `greeted` says, of one byte instead of a Kafka request."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.load_verify_locations(pki / "ca.pem")
    if certificate:
        context.load_cert_chain(*certificate)
    try:
        with (
            socket.create_connection(door, 5) as plain,
            context.wrap_socket(plain, server_hostname="127.0.0.1") as channel,
        ):
            channel.sendall(b"k")
            return "" if channel.recv(1) == b"k" else "closed"
    except OSError as error:
        return str(error) or repr(error)


def judged(tmp_path: Path, door: Door, pki: Path, monkeypatch: pytest.MonkeyPatch) -> Evidence:
    see = Evidence()
    monkeypatch.setattr(transport_certificates, "greeted", lambda _scene, _target, one: let_in(door, pki, one))
    scene: Any = SimpleNamespace(folder=tmp_path, cluster=cluster(tmp_path))
    target: Any = SimpleNamespace()
    transport_certificates._wrong_of_its_own(scene, see, [target])
    return see


def test_a_server_that_looks_refuses_both_and_takes_their_twin(
    tmp_path: Path, pki: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serving(tmp_path, pki, looks=True) as door:
        see = judged(tmp_path, door, pki, monkeypatch)
    assert (see.verdict, len(see.good)) == ("passed", 3), see.lines


def test_a_server_that_asks_nobody_is_found_out(tmp_path: Path, pki: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(tmp_path, pki, looks=False) as door:
        see = judged(tmp_path, door, pki, monkeypatch)
    assert see.verdict == "failed"
    assert [line.rpartition(": ")[2] for line in see.bad] == ["let in", "let in"]


def test_a_server_that_trusts_somebody_else_has_refused_nothing(
    tmp_path: Path, pki: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without the twin, "refused" would only mean that this authority is not trusted there."""
    init(Pki(tmp_path / "other"), Wanted(), now=utc_now())
    issuer = own_authority(tmp_path, pki)
    other = own_authority(tmp_path, tmp_path / "other")
    monkeypatch.setattr(transport_certificates, "own_authority", lambda *_: other)
    with serving(tmp_path, pki, looks=True) as door:
        see = judged(tmp_path, door, pki, monkeypatch)
    assert isinstance(issuer, Issuer)
    assert see.verdict == "unknown"
    assert "the positive twin failed" in see.lines[0]


def gone(pki: Path) -> None:
    (pki / "authority.key").unlink()


def locked(pki: Path) -> None:
    key = keys.from_pem((pki / "authority.key").read_bytes(), where="it")
    secret = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(b"x"))
    (pki / "authority.key").write_bytes(secret)


def garbled(pki: Path) -> None:
    (pki / "authority.pem").write_bytes(b"nothing")


@pytest.mark.parametrize("spoil", [gone, locked, garbled])
def test_without_the_key_the_check_is_unknown_and_says_so(
    spoil: Callable[[Path], None], tmp_path: Path, pki: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spoil(pki)
    with pytest.raises(UnreadableError):
        own_authority(tmp_path, pki)
    see = judged(tmp_path, ("127.0.0.1", 1), pki, monkeypatch)
    assert see.verdict == "unknown"
    assert "were not tried: The key of the cluster's own authority is not at hand (pki)" in see.lines[0]


def test_what_is_signed_is_closed_short_and_for_nobody(tmp_path: Path, pki: Path) -> None:
    certificate, key = own_authority(tmp_path, pki).issue("kastellan-sec-nobody", purposes=FOR_NEITHER, lasts=MOMENT)
    assert key.stat().st_mode & 0o077 == 0
    leaf = x509.load_pem_x509_certificate(certificate.read_bytes())
    left = leaf.not_valid_after_utc - utc_now()
    assert 0 < left.total_seconds() <= MOMENT.total_seconds()
    assert list(leaf.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value) == list(FOR_NEITHER)


def test_two_of_one_issuer_do_not_lie_on_top_of_each_other(tmp_path: Path) -> None:
    stranger = Stranger(tmp_path)
    assert stranger.issue("x") != stranger.issue("x", over=True)
