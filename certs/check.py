"""Judging a certificate file as the other side of a handshake would, with a reason for every objection."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from cryptography import x509

from certs import keys
from certs.authority import WEAK_HASHES, is_authority, is_issued_by, subject
from certs.describe import extension
from certs.lifetimes import days_left, timestamp
from certs.names import Kind, common_name
from certs.renewal import alternative_names

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import datetime

    from certs.keys import AnyKey
    from certs.names import Address

_NEEDED = {Kind.SERVER: ("serverAuth", "clientAuth"), Kind.CLIENT: ("clientAuth",)}


@dataclass(frozen=True)
class Finding:
    code: str
    """One word for machines: order, chain, trust, key, usage, host, address, user, end, start, days, weak."""
    text: str


@dataclass(frozen=True)
class Expected:
    """What the certificate is wanted for. What is left out is not looked at."""

    kind: Kind | None = None
    hosts: tuple[str, ...] = ()
    addresses: tuple[Address, ...] = ()
    user: str | None = None
    days: int = 0
    key: AnyKey | None = None
    roots: tuple[x509.Certificate, ...] = ()


def findings(chain: Sequence[x509.Certificate], expected: Expected, *, now: datetime) -> list[Finding]:
    """`chain` as it lies in the file, so leaf first if all is well. Empty: nothing to object."""
    leaf = chain[0]
    return [
        *_order(chain),
        *_trust(chain, expected.roots),
        *_key(leaf, expected.key),
        *_usage(leaf, expected.kind),
        *_names(leaf, expected),
        *_dates(chain, expected, now),
        *_strength(chain),
    ]


def _order(chain: Sequence[x509.Certificate]) -> Iterator[Finding]:
    if is_authority(chain[0]):
        leaf = next((at for at, member in enumerate(chain, start=1) if not is_authority(member)), None)
        if leaf:
            yield Finding("order", f"The chain is not in order: the leaf is certificate {leaf}, it must be the first.")
            return
        yield Finding("usage", f"{subject(chain[0])!r} is an authority's certificate, no leaf.")
    for lower, upper in pairwise(chain):
        if not is_issued_by(lower, upper):
            yield Finding("chain", f"{subject(lower)!r} was not signed by {subject(upper)!r}, which follows it.")
        elif not is_authority(upper):
            yield Finding("chain", f"{subject(upper)!r} signed {subject(lower)!r} but is no authority.")
    for depth, member in enumerate(chain[1:]):
        if (allowed := _path_length(member)) is not None and allowed < depth:
            yield Finding("chain", f"{subject(member)!r} allows {allowed} authorities under it, there are {depth}.")


def _path_length(certificate: x509.Certificate) -> int | None:
    try:
        return certificate.extensions.get_extension_for_class(x509.BasicConstraints).value.path_length
    except x509.ExtensionNotFound:
        return None


def _trust(chain: Sequence[x509.Certificate], roots: Sequence[x509.Certificate]) -> Iterator[Finding]:
    """Like a handshake: from the leaf up through what the file brings along, to something that is trusted."""
    if not roots:
        return
    top = chain[0]
    brought = list(chain[1:])
    while top not in roots and (upper := next((one for one in brought if is_issued_by(top, one)), None)):
        brought.remove(upper)
        top = upper
    if top not in roots and not any(is_issued_by(top, root) and is_authority(root) for root in roots):
        trusted = ", ".join(repr(subject(root)) for root in roots)
        yield Finding("trust", f"{subject(top)!r} was not signed by the trusted authority {trusted}.")


def _key(leaf: x509.Certificate, key: AnyKey | None) -> Iterator[Finding]:
    if key is not None and not keys.belongs(key, leaf):
        yield Finding("key", f"The private key does not belong to the certificate {subject(leaf)!r}.")


def _usage(leaf: x509.Certificate, kind: Kind | None) -> Iterator[Finding]:
    if kind is None:
        return
    held: list[str] = []
    for member in leaf.extensions:
        if isinstance(member.value, x509.ExtendedKeyUsage):
            held = list(_words(extension(member)["value"]))
        if isinstance(member.value, x509.KeyUsage) and not member.value.digital_signature:
            yield Finding("usage", "Its key usage lacks digitalSignature.")
    missing = [purpose for purpose in _NEEDED[kind] if purpose not in held]
    if missing:
        yield Finding("usage", f"A {kind} needs {' and '.join(missing)}; it has {', '.join(held) or 'no purpose'}.")
    if kind is Kind.CLIENT and "serverAuth" in held:
        yield Finding("usage", "A client's certificate must not have serverAuth: it could pose as a broker.")


def _words(value: object) -> list[str]:
    return [str(word) for word in value] if isinstance(value, list) else []


def _names(leaf: x509.Certificate, expected: Expected) -> Iterator[Finding]:
    held = alternative_names(leaf)
    shown = ", ".join(sorted(held)) or "none"
    for host in expected.hosts:
        if host.lower() not in held:
            yield Finding("host", f"It is not for host {host!r}; its names are: {shown}.")
    for address in expected.addresses:
        if str(address) not in held:
            yield Finding("address", f"It is not for address {str(address)!r}; its names are: {shown}.")
    if expected.user is not None and common_name(leaf.subject) != expected.user:
        yield Finding("user", f"It is for {common_name(leaf.subject)!r}, not for {expected.user!r}.")


def _dates(chain: Sequence[x509.Certificate], expected: Expected, now: datetime) -> Iterator[Finding]:
    for member in chain:
        begin, end = member.not_valid_before_utc, member.not_valid_after_utc
        if now >= end:
            yield Finding("end", f"{subject(member)!r} has expired: it ended at {timestamp(end)}.")
        elif now < begin:
            yield Finding("start", f"{subject(member)!r} is not valid yet: it begins at {timestamp(begin)}.")
        elif days_left(end, now) < expected.days:
            yield Finding(
                "days", f"{subject(member)!r} has {days_left(end, now)} days left, fewer than {expected.days}."
            )


def _strength(chain: Sequence[x509.Certificate]) -> Iterator[Finding]:
    for member in chain:
        if not keys.is_strong(member.public_key()):
            label = keys.label(member.public_key())
            yield Finding("weak", f"The key of {subject(member)!r} is too weak: {label}. Good ones: {keys.GOOD_KEYS}.")
        algorithm = member.signature_hash_algorithm
        if algorithm is None or algorithm.name in WEAK_HASHES:
            name = algorithm.name if algorithm else "no hash"
            yield Finding("weak", f"{subject(member)!r} is signed with {name}, not with SHA-256 or better.")
