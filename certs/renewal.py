"""Whether a leaf must be renewed, and why. Pure: certificates and a moment in, reasons out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from cryptography import x509

from certs import build, keys
from certs.authority import WEAK_HASHES, is_issued_by
from certs.lifetimes import BACKDATING, days_left, renewal_window, timestamp
from certs.names import Kind, common_name

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from certs.keys import AnyKey
    from certs.names import Identity


@dataclass(frozen=True)
class Reason:
    code: str
    """One word for machines: missing, names, issuer, key, weak, end, start, usage, extensions, chain, forced, ..."""
    text: str

    def __str__(self) -> str:
        return self.text


MISSING = Reason("missing", "there is no certificate yet")
FORCED = Reason("forced", "renewal was asked for")


def needs_renewal(
    held: Sequence[x509.Certificate],
    *,
    identity: Identity,
    chain: Sequence[x509.Certificate],
    now: datetime,
    public_key: AnyKey | None = None,
) -> list[Reason]:
    """`held` is what lies in place, leaf first; `chain` the authority's, issuer first. Empty: it is good as it is."""
    if not held:
        return [MISSING]
    leaf = held[0]
    if not is_issued_by(leaf, chain[0]):
        return [Reason("issuer", f"it was not signed by {chain[0].subject.rfc4514_string()}")]
    reasons = [
        *_key_reasons(leaf, public_key),
        *_name_reasons(leaf, identity),
        *_extension_reasons(leaf, identity, chain[0]),
        *_date_reasons(leaf, chain, now),
    ]
    if list(held[1:]) != list(chain[:-1]):
        reasons.append(Reason("chain", "what follows the leaf is not the authority's chain"))
    return reasons


def _key_reasons(leaf: x509.Certificate, public_key: AnyKey | None) -> list[Reason]:
    reasons = []
    if public_key is not None and not keys.belongs(public_key, leaf):
        reasons.append(Reason("key", "it was made for another key"))
    if not keys.is_strong(leaf.public_key()):
        reasons.append(Reason("weak", f"its key is too weak: {keys.label(leaf.public_key())}"))
    algorithm = leaf.signature_hash_algorithm
    if algorithm is None or algorithm.name in WEAK_HASHES:
        reasons.append(Reason("weak", f"it is signed with {algorithm.name if algorithm else 'no hash'}"))
    return reasons


def _name_reasons(leaf: x509.Certificate, identity: Identity) -> list[Reason]:
    reasons = []
    if _values(leaf.subject) != _values(identity.subject):
        held = common_name(leaf.subject) or leaf.subject.rfc4514_string()
        reasons.append(Reason("names", f"its name is {held!r}, not {identity.name!r}"))
    has, wants = alternative_names(leaf), _texts(identity.alternative_names)
    gone, new = sorted(has - wants), sorted(wants - has)
    if gone or new:
        changes = [f"+{name}" for name in new] + [f"-{name}" for name in gone]
        reasons.append(Reason("names", f"its names changed: {' '.join(changes)}"))
    return reasons


def _values(name: x509.Name) -> list[tuple[x509.ObjectIdentifier, str | bytes]]:
    """Without the string types, which differ from tool to tool and mean nothing."""
    return [(attribute.oid, attribute.value) for attribute in name]


def alternative_names(certificate: x509.Certificate) -> set[str]:
    try:
        return _texts(certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value)
    except x509.ExtensionNotFound:
        return set()


def _texts(names: x509.SubjectAlternativeName | None) -> set[str]:
    """Host names do not differ by case; the rest is compared as it is written."""
    return {str(name.value).lower() for name in names or ()}


def _extension_reasons(leaf: x509.Certificate, identity: Identity, issuer: x509.Certificate) -> list[Reason]:
    """All others must be exactly what would be signed today."""
    wanted = {
        extension.oid: (extension, critical)
        for extension, critical in build.leaf_extensions(identity, issuer, leaf.public_key())
    }
    held = {extension.oid: (extension.value, extension.critical) for extension in leaf.extensions}
    for names in (wanted, held):
        names.pop(x509.SubjectAlternativeName.oid, None)  # judged above, whatever the spelling
    purposes = x509.ExtendedKeyUsage.oid
    if held.get(purposes) != wanted[purposes]:
        return [Reason("usage", f"its usage is not that of a {identity.kind}")]
    return [] if held == wanted else [Reason("extensions", "its extensions are not those signed today")]


def _date_reasons(leaf: x509.Certificate, chain: Sequence[x509.Certificate], now: datetime) -> list[Reason]:
    begin, end = leaf.not_valid_before_utc, leaf.not_valid_after_utc
    if now >= end:
        return [Reason("end", f"it ended at {timestamp(end)}")]
    if now < begin:
        return [Reason("start", f"it begins at {timestamp(begin)}")]
    window = renewal_window(end - begin - BACKDATING)
    # A new leaf would end where the authority ends: renewing it on every run would change nothing but its number.
    capped = end >= min(certificate.not_valid_after_utc for certificate in chain)
    if end - now > window or capped:
        return []
    when = f"it ends at {timestamp(end)}, in {days_left(end, now)} days"
    return [Reason("end", f"{when}, and is renewed from {window.days} days on")]


def kind_of(leaf: x509.Certificate) -> Kind | None:
    """Which kind a leaf is by its purposes, for reading back."""
    try:
        purposes = leaf.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value
    except x509.ExtensionNotFound:
        return None
    return next((kind for kind, wanted in build.LEAF_PURPOSES.items() if set(wanted) == set(purposes)), None)
