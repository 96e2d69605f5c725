"""Certificates as this authority makes them: every extension is decided here and nowhere else."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from certs.lifetimes import AUTHORITY_LIFETIME, BACKDATING, lifetime_of
from certs.names import Kind

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime, timedelta

    from cryptography.hazmat.primitives.asymmetric.types import CertificatePublicKeyTypes

    from certs.keys import PrivateKey
    from certs.names import Identity

# A self-made authority signs leaves only: a stolen leaf key that somehow became an authority signs nothing that holds.
PATH_LENGTH = 0
_USAGES = (
    "digital_signature",
    "content_commitment",
    "key_encipherment",
    "data_encipherment",
    "key_agreement",
    "key_cert_sign",
    "crl_sign",
    "encipher_only",
    "decipher_only",
)


def _key_usage(*allowed: str) -> x509.KeyUsage:
    return x509.KeyUsage(**{usage: usage in allowed for usage in _USAGES})


AUTHORITY_USAGE = _key_usage("key_cert_sign", "crl_sign")
# Signing only: with forward secrecy, which is all the listeners speak, no key is ever encrypted with the leaf's.
LEAF_USAGE = _key_usage("digital_signature")
LEAF_PURPOSES = {
    # Brokers and controllers connect to each other by mutual TLS with the certificate they serve.
    Kind.SERVER: x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH]),
    # Without serverAuth nobody can pose as a broker with a user's bundle.
    Kind.CLIENT: x509.ExtendedKeyUsage([ExtendedKeyUsageOID.CLIENT_AUTH]),
}


def authority_certificate(
    key: PrivateKey, name: str, *, now: datetime, lifetime: timedelta = AUTHORITY_LIFETIME
) -> x509.Certificate:
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    identifier = x509.SubjectKeyIdentifier.from_public_key(key.public_key())
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - BACKDATING)
        .not_valid_after(now + lifetime)
        .add_extension(x509.BasicConstraints(ca=True, path_length=PATH_LENGTH), critical=True)
        .add_extension(AUTHORITY_USAGE, critical=True)
        .add_extension(identifier, critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(identifier), critical=False)
        .sign(key, hashes.SHA256())
    )


def authority_key_identifier(issuer: x509.Certificate) -> x509.AuthorityKeyIdentifier:
    """What the issuer calls its key, which need not be the usual hash of it: a user's own authority decides."""
    try:
        own = issuer.extensions.get_extension_for_class(x509.SubjectKeyIdentifier).value
    except x509.ExtensionNotFound:
        own = x509.SubjectKeyIdentifier.from_public_key(issuer.public_key())
    return x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(own)


def leaf_extensions(
    identity: Identity, issuer: x509.Certificate, public_key: CertificatePublicKeyTypes
) -> list[tuple[x509.ExtensionType, bool]]:
    """Every extension of a leaf with its criticality; renewal compares what is on a host with this very list."""
    extensions: list[tuple[x509.ExtensionType, bool]] = [
        (x509.BasicConstraints(ca=False, path_length=None), True),
        (LEAF_USAGE, True),
        (LEAF_PURPOSES[identity.kind], False),
        (x509.SubjectKeyIdentifier.from_public_key(public_key), False),
        (authority_key_identifier(issuer), False),
    ]
    names = identity.alternative_names
    return [*extensions, (names, False)] if names else extensions


def leaf_certificate(
    identity: Identity,
    public_key: CertificatePublicKeyTypes,
    *,
    chain: Sequence[x509.Certificate],
    key: PrivateKey,
    now: datetime,
    lifetime: timedelta | None = None,
) -> x509.Certificate:
    """`chain` is the authority's, issuer first: a leaf cannot outlive any certificate above it."""
    issuer = chain[0]
    builder = (
        x509.CertificateBuilder()
        .subject_name(identity.subject)
        .issuer_name(issuer.subject)
        .public_key(public_key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(max(now - BACKDATING, issuer.not_valid_before_utc))
        .not_valid_after(
            min(now + (lifetime or lifetime_of(identity.kind)), *(above.not_valid_after_utc for above in chain))
        )
    )
    for extension, critical in leaf_extensions(identity, issuer, public_key):
        builder = builder.add_extension(extension, critical=critical)
    return builder.sign(key, hashes.SHA256())
