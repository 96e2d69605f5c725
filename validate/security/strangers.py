"""Certificates that nobody should trust: self-signed, and of an authority that was made up a moment ago."""

from __future__ import annotations

import ipaddress
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

if TYPE_CHECKING:
    from pathlib import Path

SHORT = timedelta(hours=1)


def name(common: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common)])


class Stranger:
    """An authority of its own. `ca` is its certificate on the disk, readable by us alone."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = name("a stranger")
        built = self._builder(self._name, self._key.public_key(), issuer=self._name).add_extension(
            x509.BasicConstraints(ca=True, path_length=0), critical=True
        )
        self.ca = folder / "stranger-ca.pem"
        self.ca.write_bytes(built.sign(self._key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM))

    def _builder(
        self, subject: x509.Name, key: ec.EllipticCurvePublicKey, *, issuer: x509.Name, over: bool = False
    ) -> x509.CertificateBuilder:
        now = datetime.now(UTC)
        return (
            x509.CertificateBuilder(issuer_name=issuer, subject_name=subject, public_key=key)
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - 2 * SHORT)
            .not_valid_after(now - SHORT if over else now + SHORT)
        )

    def issue(self, common: str, *, over: bool = False, own: bool = False) -> tuple[Path, Path]:
        """A client's certificate and its key. `over`: expired. `own`: signed by its own key instead of ours."""
        key = ec.generate_private_key(ec.SECP256R1())
        issuer = name(common) if own else self._name
        builder = self._builder(name(common), key.public_key(), issuer=issuer, over=over)
        usage = x509.ExtendedKeyUsage([ExtendedKeyUsageOID.CLIENT_AUTH, ExtendedKeyUsageOID.SERVER_AUTH])
        local = x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))])
        made = builder.add_extension(usage, critical=False).add_extension(local, critical=False)
        signed = made.sign(key if own else self._key, hashes.SHA256())
        stem = f"{common}{'-over' if over else ''}{'-own' if own else ''}"
        certificate, secret = self.folder / f"{stem}.pem", self.folder / f"{stem}.key"
        certificate.write_bytes(signed.public_bytes(serialization.Encoding.PEM))
        secret.touch(0o600)
        secret.write_bytes(
            key.private_bytes(
                serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
            )
        )
        return certificate, secret
