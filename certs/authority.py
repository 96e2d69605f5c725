"""The authority: its chain and its key, self-made or the user's own, judged before it signs anything."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING

from cryptography import x509
from cryptography.exceptions import InvalidSignature

from certs import build, keys
from certs.errors import AuthorityError, RequestError
from certs.lifetimes import timestamp

if TYPE_CHECKING:
    from datetime import datetime, timedelta

    from certs.keys import PrivateKey, PublicKey
    from certs.names import Identity

WEAK_HASHES = frozenset({"md5", "sha1"})


@dataclass(frozen=True)
class Authority:
    """`chain` goes from the certificate that signs leaves up to the self-signed root."""

    chain: tuple[x509.Certificate, ...]
    key: PrivateKey = field(repr=False)

    @property
    def issuer(self) -> x509.Certificate:
        return self.chain[0]

    @property
    def root(self) -> x509.Certificate:
        return self.chain[-1]

    @property
    def intermediates(self) -> tuple[x509.Certificate, ...]:
        """What a leaf has to bring along: everything but the root, which the other side trusts already."""
        return self.chain[:-1]

    def leaf(
        self, identity: Identity, public_key: PublicKey, *, now: datetime, lifetime: timedelta | None = None
    ) -> tuple[x509.Certificate, ...]:
        """A new leaf and what it brings along, in the order in which TLS sends them."""
        leaf = build.leaf_certificate(
            identity,
            public_key,
            chain=self.chain,
            key=self.key,
            now=now,
            lifetime=lifetime,
        )
        return (leaf, *self.intermediates)


def create(key: PrivateKey, name: str, *, now: datetime) -> Authority:
    return Authority((build.authority_certificate(key, name, now=now),), key)


def checked(chain: tuple[x509.Certificate, ...], key: PrivateKey, *, now: datetime) -> Authority:
    """Refuse an authority whose leaves nobody would accept, before the first of them is on a host."""
    if not keys.belongs(key, chain[0]):
        at = next((n for n, certificate in enumerate(chain, start=1) if keys.belongs(key, certificate)), None)
        raise AuthorityError(
            f"The key does not belong to the authority's certificate {subject(chain[0])!r}.",
            details=f"It belongs to certificate {at} of the chain." if at else "",
            resolution="Put the certificate of the key first and the root last."
            if at
            else "Give the certificate that was made for this key (--ca-cert) or its key (--ca-key).",
        )
    for position, certificate in enumerate(chain):
        _check_member(certificate, below=position, now=now)
    for lower, upper in pairwise(chain):
        if not is_issued_by(lower, upper):
            raise AuthorityError(
                f"The authority's chain is broken: {subject(lower)!r} was not signed by {subject(upper)!r}.",
                resolution="Order the file so that each certificate was signed by the next, the root last.",
            )
    if not is_issued_by(chain[-1], chain[-1]):
        raise AuthorityError(
            f"The authority's chain ends in {subject(chain[-1])!r}, which is not self-signed.",
            details="OpenSSL, and so librdkafka, accepts only a chain up to a self-signed root.",
            resolution="Add the root's certificate at the end: --ca-cert issuer.pem --ca-cert root.pem",
        )
    return Authority(chain, key)


def _check_member(certificate: x509.Certificate, *, below: int, now: datetime) -> None:
    """One certificate of the chain, with `below` authorities between it and a leaf."""
    name = subject(certificate)
    if now >= certificate.not_valid_after_utc:
        raise AuthorityError(
            f"The authority's certificate {name!r} has expired.",
            details=f"It ended at {timestamp(certificate.not_valid_after_utc)}.",
            resolution="Give one that is valid, or let init make a new authority in an empty directory.",
        )
    if now < certificate.not_valid_before_utc:
        raise AuthorityError(
            f"The authority's certificate {name!r} is not valid yet.",
            details=f"It begins at {timestamp(certificate.not_valid_before_utc)}.",
            resolution="Check this machine's clock (timedatectl), or give a certificate that is valid now.",
        )
    problem = _no_authority(certificate, below=below)
    if problem:
        raise AuthorityError(
            f"{name!r} is no certificate of an authority: {problem}.",
            resolution="Give one with basicConstraints CA:TRUE and keyUsage keyCertSign.",
        )
    if not keys.is_strong(certificate.public_key()):
        raise AuthorityError(
            f"The authority's key {name!r} is too weak: {keys.label(certificate.public_key())}.",
            resolution=f"Use {keys.GOOD_KEYS}.",
        )


def _no_authority(certificate: x509.Certificate, *, below: int) -> str:
    try:
        constraints = certificate.extensions.get_extension_for_class(x509.BasicConstraints).value
    except x509.ExtensionNotFound:
        return "it has no basic constraints"
    if not constraints.ca:
        return "its basic constraints say CA:FALSE"
    if constraints.path_length is not None and constraints.path_length < below:
        return f"its path length {constraints.path_length} does not allow the {below} authorities under it"
    try:
        usage = certificate.extensions.get_extension_for_class(x509.KeyUsage).value
    except x509.ExtensionNotFound:
        return ""  # RFC 5280: without the extension every usage is allowed
    return "" if usage.key_cert_sign else "its key usage lacks keyCertSign"


def is_issued_by(lower: x509.Certificate, upper: x509.Certificate) -> bool:
    try:
        lower.verify_directly_issued_by(upper)
    except (ValueError, TypeError, InvalidSignature):
        return False
    return True


def is_authority(certificate: x509.Certificate) -> bool:
    return not _no_authority(certificate, below=0)


def subject(certificate: x509.Certificate) -> str:
    return certificate.subject.rfc4514_string()


def public_key_of(request: x509.CertificateSigningRequest, *, name: str) -> PublicKey:
    """Proof of possession and strength. Names in the request mean nothing: the caller's identity has them."""
    if not request.is_signature_valid:
        raise RequestError(
            f"The request of {name!r} was not signed by the key in it.",
            details="So nothing shows that the sender has the private key.",
            resolution="Make it anew on the host: openssl req -new -key key.pem -subj /CN=ignored",
        )
    algorithm = request.signature_hash_algorithm
    if algorithm is None or algorithm.name in WEAK_HASHES:
        raise RequestError(
            f"The request of {name!r} is signed with {algorithm.name if algorithm else 'no hash'}.",
            resolution="Sign it with SHA-256: openssl req -new -sha256 -key key.pem -subj /CN=ignored",
        )
    public_key = request.public_key()
    if not keys.is_strong(public_key):
        raise RequestError(
            f"The key of {name!r} is too weak: {keys.label(public_key)}.",
            details=f"Good ones: {keys.GOOD_KEYS}.",
            resolution="On the host: openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out key.pem",
        )
    return public_key
