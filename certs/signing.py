"""Signing requests made on hosts: a look at what is in place first, a new leaf only for a reason."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from cryptography.hazmat.primitives import hashes

from certs import keys, pem
from certs.authority import public_key_of
from certs.errors import InvalidNameError, RequestError, UnreadableError
from certs.lifetimes import days_left, timestamp
from certs.renewal import FORCED, Reason, needs_renewal

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime, timedelta

    from cryptography import x509

    from certs.authority import Authority
    from certs.names import Identity
    from certs.pki import Pki

NO_REQUEST = Reason("request", "the host has made no key yet")
NO_AUTHORITY = Reason("authority", "there is no authority yet")


@dataclass(frozen=True)
class Order:
    """One leaf that is wanted: for whom, for which key, and what is in place now."""

    identity: Identity
    request: bytes | None = None
    certificate: bytes | None = None


@dataclass(frozen=True)
class Outcome:
    identity: Identity
    reasons: tuple[Reason, ...]
    chain: tuple[x509.Certificate, ...]
    """What is in place now; in check mode what was there before."""

    @property
    def changed(self) -> bool:
        return bool(self.reasons)


def sign(
    pki: Pki,
    signer: Authority | None,
    orders: Sequence[Order],
    *,
    now: datetime,
    lifetime: timedelta | None = None,
    force: bool = False,
    apply: bool = True,
) -> list[Outcome]:
    """All or nothing: every order is judged before the first is signed. Without `signer` only checks can be done."""
    refuse_twice([order.identity.name for order in orders])
    for order in orders:
        pki.claim(order.identity)
    public = {order.identity.name: _public_key(order, apply=apply) for order in orders}
    _refuse_shared_keys(public)
    outcomes = []
    for order in orders:
        held, public_key = _held(order), public[order.identity.name]
        reasons = _reasons(order, held, public_key, signer, now=now)
        if force and not reasons:
            reasons = [FORCED]
        if reasons and apply and signer and public_key:
            held = signer.leaf(order.identity, public_key, now=now, lifetime=lifetime)
        if apply and held:
            pki.note(order.identity, held[0])
        outcomes.append(Outcome(order.identity, tuple(reasons), held))
    return outcomes


def refuse_twice(listed: Sequence[str]) -> None:
    twice = sorted({name for name in listed if listed.count(name) > 1})
    if twice:
        raise InvalidNameError(f"{twice[0]!r} is listed twice.", resolution="Give each name once.")


def _public_key(order: Order, *, apply: bool) -> keys.PublicKey | None:
    name = order.identity.name
    if order.request:
        return public_key_of(pem.request(order.request, where=f"The request of {name!r}"), name=name)
    if apply:
        raise RequestError(
            f"There is no request of {name!r}.",
            details="The key is made on the host it serves; the authority sees the request only.",
            resolution="On the host: openssl req -new -key key.pem -subj /CN=ignored",
        )
    return None  # check mode on a virgin host, where the step that makes the key was only announced


def _refuse_shared_keys(public: dict[str, keys.PublicKey | None]) -> None:
    """Hosts cloned from one image with its key: each could pose as the other."""
    owners: dict[bytes, str] = {}
    for name, key in public.items():
        if key is None:
            continue
        owner = owners.setdefault(keys.public_bytes(key), name)
        if owner != name:
            raise RequestError(
                f"{owner!r} and {name!r} have the same private key.",
                details="Each could pose as the other. It happens when hosts are copied from one image.",
                resolution=f"Remove the key on {name!r} and let it make a new one.",
            )


def _held(order: Order) -> tuple[x509.Certificate, ...]:
    """A file that is no certificate any more is as good as none: it is repaired by signing."""
    try:
        return pem.certificates(order.certificate, where="it") if order.certificate else ()
    except UnreadableError:
        return ()


def _reasons(
    order: Order,
    held: tuple[x509.Certificate, ...],
    public_key: keys.PublicKey | None,
    signer: Authority | None,
    *,
    now: datetime,
) -> list[Reason]:
    if signer is None:
        return [NO_AUTHORITY]
    if public_key is None:
        return [NO_REQUEST]
    return needs_renewal(held, identity=order.identity, chain=signer.chain, now=now, public_key=public_key)


def facts(certificate: x509.Certificate, now: datetime) -> dict[str, object]:
    """What every verb says of a certificate, in one form."""
    return {
        "not_before": timestamp(certificate.not_valid_before_utc),
        "not_after": timestamp(certificate.not_valid_after_utc),
        "days_left": days_left(certificate.not_valid_after_utc, now),
        "fingerprint_sha256": fingerprint(certificate),
        "serial": f"{certificate.serial_number:x}",
        "key": keys.label(certificate.public_key()),
    }


def fingerprint(certificate: x509.Certificate) -> str:
    """In the colons-and-capitals form that keytool and openssl print."""
    return certificate.fingerprint(hashes.SHA256()).hex(":").upper()
