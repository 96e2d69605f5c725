"""PKCS#12 stores that Java reads, AES-256 and SHA-256 throughout."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.serialization import PrivateFormat, pkcs12

from certs.errors import StoreError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from cryptography import x509
    from cryptography.hazmat.primitives.serialization import KeySerializationEncryption

    from certs.keys import PrivateKey

ALIAS = b"kastellan"
# keytool refuses to change a store whose password is shorter.
PASSWORD_MIN = 6


def encryption(password: bytes) -> KeySerializationEncryption:
    """PBES2 with AES-256-CBC, HMAC-SHA-256 for the integrity: what Java 17 writes itself (older: 8u301, 11.0.12)."""
    return (
        PrivateFormat.PKCS12.encryption_builder()
        .key_cert_algorithm(pkcs12.PBES.PBESv2SHA256AndAES256CBC)
        .hmac_hash(hashes.SHA256())
        .build(checked_password(password))
    )


def checked_password(password: bytes) -> bytes:
    """Never shown: the message says what is wrong with it, not what it is."""
    problem = ""
    if len(password) < PASSWORD_MIN:
        problem = f"it has fewer than {PASSWORD_MIN} characters"
    elif not all(0x20 <= byte <= 0x7E for byte in password):  # noqa: PLR2004  # the printable range of ASCII
        problem = "it holds characters other than printable ASCII, with which Java opens no store"
    if problem:
        raise StoreError(
            f"The password for the stores cannot be used: {problem}.",
            resolution="Make one: openssl rand -hex 24 > FILE",
        )
    return password


def keystore(key: PrivateKey, chain: Sequence[x509.Certificate], password: bytes) -> bytes:
    return pkcs12.serialize_key_and_certificates(ALIAS, key, chain[0], chain[1:] or None, encryption(password))


def truststore(roots: Sequence[x509.Certificate], password: bytes) -> bytes:
    """With the attribute by which Java knows a trusted certificate; without it, it sees an empty store."""
    named = [pkcs12.PKCS12Certificate(root, b"ca-%d" % number) for number, root in enumerate(roots, start=1)]
    return pkcs12.serialize_java_truststore(named, encryption(password))


def load(data: bytes, password: bytes, *, where: Path) -> pkcs12.PKCS12KeyAndCertificates:
    try:
        return pkcs12.load_pkcs12(data, password)
    except ValueError as exc:
        raise StoreError(
            f"{where} cannot be opened: it is no PKCS#12 store, or has another password.",
            resolution="Check --password-file.",
        ) from exc


def holds(store: pkcs12.PKCS12KeyAndCertificates) -> tuple[x509.Certificate, ...]:
    """All certificates in it, the key's own first."""
    own = [store.cert] if store.cert else []
    return tuple(member.certificate for member in (*own, *store.additional_certs))
