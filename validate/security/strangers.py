"""Certificates that nobody should trust: self-signed, of an authority made up a moment ago, or of the cluster's own
authority and still wrong.
"""

from __future__ import annotations

import ipaddress
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from common.errors import UnreadableError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

SHORT = timedelta(hours=1)
# How long a certificate of the cluster's own authority may be good for: longer than the check takes.
MOMENT = timedelta(minutes=10)
FOR_BOTH = (ExtendedKeyUsageOID.CLIENT_AUTH, ExtendedKeyUsageOID.SERVER_AUTH)
# For letters alone: neither a client nor a server of anything here.
FOR_NEITHER = (ExtendedKeyUsageOID.EMAIL_PROTECTION,)

SigningKey = ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey


def name(common: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common)])


class Issuer:
    """Signs what it is asked for. Keys and certificates lie in `folder`, readable by us alone."""

    def __init__(self, folder: Path, key: SigningKey, chain: Sequence[x509.Certificate], label: str) -> None:
        """`chain`: what signs first, the root last."""
        self.folder = folder
        self._key, self._chain, self._label = key, tuple(chain), label
        self._count = 0

    def issue(
        self,
        common: str,
        *,
        over: bool = False,
        own: bool = False,
        purposes: Sequence[x509.ObjectIdentifier] = FOR_BOTH,
        lasts: timedelta = SHORT,
    ) -> tuple[Path, Path]:
        """A certificate and its key. `over`: expired. `own`: signed by its own key instead of ours."""
        key = ec.generate_private_key(ec.SECP256R1())
        issuer = name(common) if own else self._chain[0].subject
        local = x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))])
        made = (
            _builder(name(common), key.public_key(), issuer, over=over, lasts=lasts)
            .add_extension(x509.ExtendedKeyUsage(purposes), critical=False)
            .add_extension(local, critical=False)
        )
        signed = made.sign(key if own else self._key, hashes.SHA256())
        self._count += 1
        stem = f"{self._label}-{common}-{self._count}"
        certificate, secret = self.folder / f"{stem}.pem", self.folder / f"{stem}.key"
        between = () if own else [one for one in self._chain if one.subject != one.issuer]
        certificate.write_bytes(b"".join(one.public_bytes(Encoding.PEM) for one in (signed, *between)))
        secret.touch(0o600)
        secret.write_bytes(
            key.private_bytes(Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
        )
        return certificate, secret


class Stranger(Issuer):
    """An authority of its own. `ca` is its certificate on the disk."""

    def __init__(self, folder: Path) -> None:
        key, called = ec.generate_private_key(ec.SECP256R1()), name("a stranger")
        built = _builder(called, key.public_key(), called).add_extension(
            x509.BasicConstraints(ca=True, path_length=0), critical=True
        )
        root = built.sign(key, hashes.SHA256())
        super().__init__(folder, key, [root], "stranger")
        self.ca = folder / "stranger-ca.pem"
        self.ca.write_bytes(root.public_bytes(Encoding.PEM))


def own_authority(folder: Path, pki: Path) -> Issuer:
    """The cluster's, by its key where the play keeps it. What it signs here is for nobody, or good for moments."""
    try:
        key = serialization.load_pem_private_key((pki / "authority.key").read_bytes(), None)
        chain = x509.load_pem_x509_certificates((pki / "authority.pem").read_bytes())
    except (OSError, ValueError, TypeError, UnsupportedAlgorithm) as error:  # TypeError: it wants a passphrase
        why = getattr(error, "strerror", None) or str(error)
        raise UnreadableError(f"The key of the cluster's own authority is not at hand ({pki.name}): {why}") from error
    if not isinstance(key, ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey):
        raise UnreadableError(f"The key of the cluster's own authority is of a kind that is not used ({pki.name}).")
    return Issuer(folder, key, chain, pki.name)


def _builder(
    subject: x509.Name, key: ec.EllipticCurvePublicKey, issuer: x509.Name, *, over: bool = False,
    lasts: timedelta = SHORT,
) -> x509.CertificateBuilder:  # fmt: skip
    now = datetime.now(UTC)
    return (
        x509.CertificateBuilder(issuer_name=issuer, subject_name=subject, public_key=key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - 2 * SHORT)
        .not_valid_after(now - SHORT if over else now + lasts)
    )
