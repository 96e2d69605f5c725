"""Authorities, leaves and handshakes, all made at run time: no key or certificate is kept in the repository."""

from __future__ import annotations

import contextlib
import ssl
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.serialization import Encoding

from certs import KeyType, Pki, Wanted, init, keys, pem, utc_now
from certs.authority import checked
from certs.build import AUTHORITY_USAGE, LEAF_USAGE, authority_key_identifier
from certs.cli import main

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime
    from pathlib import Path

    from certs import Authority, Identity


@dataclass(frozen=True)
class Leaf:
    """Key and chain of one side, with the files that the ssl module wants."""

    key: keys.PrivateKey
    chain: tuple[x509.Certificate, ...]
    directory: Path

    @property
    def certificate_file(self) -> Path:
        path = self.directory / "cert.pem"
        path.write_bytes(pem.join(self.chain))
        return path

    @property
    def key_file(self) -> Path:
        path = self.directory / "key.pem"
        path.write_bytes(keys.to_pem(self.key))
        return path


@pytest.fixture
def now() -> datetime:
    return utc_now()


@pytest.fixture
def pki(tmp_path: Path) -> Pki:
    return Pki(tmp_path / "pki")


@pytest.fixture
def signer(pki: Pki, now: datetime) -> Authority:
    authority, _ = init(pki, Wanted(), now=now)
    assert authority is not None
    return authority


@pytest.fixture
def stranger(tmp_path: Path, now: datetime) -> Authority:
    """Another authority of the very same name."""
    authority, _ = init(Pki(tmp_path / "stranger"), Wanted(), now=now)
    assert authority is not None
    return authority


@pytest.fixture
def leaf(tmp_path: Path, now: datetime) -> Callable[..., Leaf]:
    """Make a leaf; `age` moves its beginning into the past (or, negative, into the future)."""

    def make(authority: Authority, identity: Identity, *, age: timedelta = timedelta(0), **more: Any) -> Leaf:
        key = keys.generate(more.pop("key_type", KeyType.P256))
        made = authority.leaf(identity, key.public_key(), now=now - age, **more)
        directory = tmp_path / f"leaf-{x509.random_serial_number():x}"
        directory.mkdir()
        return Leaf(key, made, directory)

    return make


@pytest.fixture
def request_of() -> Callable[..., bytes]:
    """A signing request as a host makes it, with whatever subject and names the host claims."""

    def make(key: Any, subject: str = "whatever", claimed: str | None = None) -> bytes:
        name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, subject)])
        builder = x509.CertificateSigningRequestBuilder().subject_name(name)
        if claimed:
            builder = builder.add_extension(x509.SubjectAlternativeName([x509.DNSName(claimed)]), critical=False)
        return builder.sign(key, hashes.SHA256()).public_bytes(Encoding.PEM)

    return make


@pytest.fixture
def handshake() -> Callable[..., None]:
    """Mutual TLS in memory, with a byte sent afterwards: in TLS 1.3 a refused client learns it only then."""

    def shake(*, server: Leaf, client: Leaf | None, trusts: Authority, host: str, server_trusts: Authority) -> None:
        serving = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        serving.load_cert_chain(server.certificate_file, server.key_file)
        serving.verify_mode = ssl.CERT_REQUIRED
        serving.load_verify_locations(cadata=pem.join([server_trusts.root]).decode())
        asking = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        asking.load_verify_locations(cadata=pem.join([trusts.root]).decode())
        for context in (serving, asking):
            context.verify_flags |= ssl.VERIFY_X509_STRICT
        if client:
            asking.load_cert_chain(client.certificate_file, client.key_file)
        up, down = ssl.MemoryBIO(), ssl.MemoryBIO()
        far = serving.wrap_bio(up, down, server_side=True)
        near = asking.wrap_bio(down, up, server_hostname=host)
        for _ in range(4):
            for end in (near, far):
                with contextlib.suppress(ssl.SSLWantReadError):
                    end.do_handshake()
        far.write(b"k")
        assert near.read(1) == b"k"

    return shake


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str, str]]:
    """The command line, in this process: exit code, standard output, standard error."""

    def call(*words: object) -> tuple[int, str, str]:
        code = main([str(word) for word in words])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return call


def signed(  # one certificate of a company's authority, made by hand: init makes no intermediates
    name: str, key: Any, issuer: x509.Certificate | None, issuer_key: Any, now: datetime, **wish: Any
) -> x509.Certificate:
    subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer.subject if issuer else subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now + wish.get("begin", -timedelta(days=30)))
        .not_valid_after(now + wish.get("end", timedelta(days=1000)))
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .add_extension(AUTHORITY_USAGE if wish.get("signs", True) else LEAF_USAGE, critical=True)
    )
    if "ca" not in wish or wish["ca"] is not None:
        length = wish.get("path_length")
        constraints = x509.BasicConstraints(ca=wish.get("ca", True), path_length=length)
        builder = builder.add_extension(constraints, critical=True)
    if issuer:
        builder = builder.add_extension(authority_key_identifier(issuer), critical=False)
    return builder.sign(issuer_key, hashes.SHA256())


@pytest.fixture
def make_authority(now: datetime) -> Callable[..., tuple[Any, x509.Certificate]]:
    """Key and certificate of one authority, self-signed or under `issuer`, with anything wrong that is wished for."""

    def make(name: str, issuer: tuple[Any, x509.Certificate] | None = None, **wish: Any) -> Any:
        key = wish.pop("key", None) or keys.generate()
        return key, signed(name, key, issuer[1] if issuer else None, issuer[0] if issuer else key, now, **wish)

    return make


@pytest.fixture
def corporate(make_authority: Any, now: datetime) -> Authority:
    """A company's root with an intermediate that signs."""
    root = make_authority("Root", key=keys.generate(KeyType.P384))
    key, issuer = make_authority("Issuer", root, path_length=0)
    return checked((issuer, root[1]), key, now=now)
