"""Hellos made by hand are what a real server takes or refuses."""

from __future__ import annotations

import contextlib
import socket
import ssl
import threading
from typing import TYPE_CHECKING

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding

from validate.security import old_server, tls
from validate.security.strangers import Stranger

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

EVERYTHING = (*tls.STRONG, *tls.OLD)


@pytest.fixture
def certificate(tmp_path: Path) -> tuple[Path, Path]:
    return Stranger(tmp_path).issue("loopback")


@pytest.mark.parametrize("version", [tls.TLS10, tls.TLS11, tls.TLS12])
def test_a_server_that_speaks_a_version_takes_its_hello(version: int, certificate: tuple[Path, Path]) -> None:
    heard = old_server.understood(version, certificate, EVERYTHING, "ALL:COMPLEMENTOFALL")
    assert (heard.said, heard.version, heard.compression) == ("accepted", version, 0)
    assert heard.chain == [x509.load_pem_x509_certificate(certificate[0].read_bytes()).public_bytes(Encoding.DER)]


@pytest.mark.parametrize("version", [tls.SSL3, tls.TLS10, tls.TLS11])
def test_a_server_of_today_refuses_old_hellos(version: int, certificate: tuple[Path, Path]) -> None:
    with (
        old_server.serving(tls.TLS12, certificate) as port,
        socket.create_connection(("127.0.0.1", port), 5) as door,
    ):
        heard = tls.greet(door, tls.hello(version, EVERYTHING))
    assert heard.refused
    assert heard.said.startswith(("alert", "closed"))


@pytest.mark.parametrize("family", ["NULL", "CBC with SHA-1"])
def test_a_weak_family_is_taken_by_who_has_it_and_refused_by_who_has_not(
    family: str, certificate: tuple[Path, Path]
) -> None:
    weak = old_server.understood(tls.TLS12, certificate, tls.WEAK[family], "ALL:COMPLEMENTOFALL")
    assert weak.accepted
    assert weak.suite in tls.WEAK[family]
    strong = old_server.understood(tls.TLS12, certificate, tls.WEAK[family], "ECDHE+AESGCM")
    assert strong.refused


@contextlib.contextmanager
def saying(data: bytes, patience_s: float) -> Iterator[socket.socket]:
    """A server that says one thing, whatever it hears."""
    ours, theirs = socket.socketpair()
    ours.settimeout(patience_s)
    with ours, theirs:
        thread = threading.Thread(target=theirs.sendall, args=(data,), daemon=True)
        thread.start()
        yield ours
        thread.join(5)


@pytest.mark.parametrize(
    ("data", "told", "refused"),
    [
        (b"", "silent", False),
        (b"\x15\x03\x03\x00\x02\x02\x28", "alert 40", True),
        (b"HTTP/1.0 400 Bad Request\r\n\r\n" * 900, "no TLS", True),
        (b"\x16\x03\x03\x00\x04\x02\x00", "silent", False),
    ],
)
def test_what_is_no_greeting_is_told(data: bytes, told: str, refused: bool) -> None:
    # Silence is short where it is expected: all others have time on a busy machine.
    with saying(data, 0.3 if told == "silent" else 5) as door:
        heard = tls.greet(door, tls.hello(tls.TLS12, tls.STRONG))
    assert (heard.said, heard.refused, heard.accepted) == (told, refused, False)


def test_silence_is_no_refusal() -> None:
    assert not tls.Greeting("silent").refused
    assert tls.Greeting("closed").refused


def test_a_stranger_is_trusted_by_nobody(tmp_path: Path, certificate: tuple[Path, Path]) -> None:
    (tmp_path / "other").mkdir()
    other = Stranger(tmp_path / "other")
    for ca, well in ((tmp_path / "stranger-ca.pem", True), (other.ca, False)):
        with old_server.serving(tls.TLS12, certificate) as port:
            plain = socket.create_connection(("127.0.0.1", port), 5)
            context = tls.context(ca)
            if well:
                context.wrap_socket(plain, server_hostname="127.0.0.1").close()
            else:
                with pytest.raises(ssl.SSLCertVerificationError):
                    context.wrap_socket(plain, server_hostname="127.0.0.1")


def test_keys_of_strangers_are_closed(tmp_path: Path) -> None:
    _, key = Stranger(tmp_path).issue("x", own=True)
    assert key.stat().st_mode & 0o077 == 0
