"""Reading back: every field and every extension of a certificate as plain data, and as lines for people."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cryptography import x509

from certs import keys
from certs.names import common_name, java_subject
from certs.renewal import kind_of
from certs.signing import facts

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

Data = dict[str, object]
_PURPOSES = {
    "1.3.6.1.5.5.7.3.1": "serverAuth",
    "1.3.6.1.5.5.7.3.2": "clientAuth",
    "1.3.6.1.5.5.7.3.3": "codeSigning",
    "1.3.6.1.5.5.7.3.4": "emailProtection",
    "1.3.6.1.5.5.7.3.8": "timeStamping",
    "1.3.6.1.5.5.7.3.9": "OCSPSigning",
    "2.5.29.37.0": "anyExtendedKeyUsage",
}
_USAGES = {
    "digital_signature": "digitalSignature",
    "content_commitment": "contentCommitment",
    "key_encipherment": "keyEncipherment",
    "data_encipherment": "dataEncipherment",
    "key_agreement": "keyAgreement",
    "key_cert_sign": "keyCertSign",
    "crl_sign": "cRLSign",
}


def certificate(held: x509.Certificate, now: datetime) -> Data:
    kind = kind_of(held)
    name = common_name(held.subject)
    algorithm = held.signature_hash_algorithm
    return {
        "subject": held.subject.rfc4514_string(),
        "issuer": held.issuer.rfc4514_string(),
        "name": name,
        "java_subject": java_subject(name) if name and len(list(held.subject)) == 1 else "",
        "kind": str(kind) if kind else "authority" if _is_ca(held) else "other",
        **facts(held, now),
        "signature_hash": algorithm.name if algorithm else "",
        "extensions": [extension(member) for member in held.extensions],
    }


def _is_ca(held: x509.Certificate) -> bool:
    return any(
        isinstance(member.value, x509.BasicConstraints) and member.value.ca for member in held.extensions
    )  # judged by what it claims: reading back is no judgement


def request(held: x509.CertificateSigningRequest) -> Data:
    return {
        "subject": held.subject.rfc4514_string(),
        "key": keys.label(held.public_key()),
        "signature_valid": held.is_signature_valid,
        "note": "names in a request are never used: sign takes them from its arguments",
    }


def extension(member: x509.Extension[x509.ExtensionType]) -> Data:
    reader = _READERS.get(type(member.value))
    value = reader(member.value) if reader else member.value.public_bytes().hex()
    name = member.oid._name  # noqa: SLF001  # the only door to the name; the OID stands beside it
    return {"name": name, "oid": member.oid.dotted_string, "critical": member.critical, "value": value}


def _basic_constraints(value: x509.BasicConstraints) -> Data:
    return {"ca": value.ca, "path_length": value.path_length}


def _key_usage(value: x509.KeyUsage) -> list[str]:
    return [label for attribute, label in _USAGES.items() if getattr(value, attribute)]


def _purposes(value: x509.ExtendedKeyUsage) -> list[str]:
    return [_PURPOSES.get(purpose.dotted_string, purpose.dotted_string) for purpose in value]


def _alternative_names(value: x509.SubjectAlternativeName) -> list[str]:
    """In the words of openssl, so that a search finds the same line in both."""
    words: dict[type, str] = {x509.DNSName: "DNS", x509.IPAddress: "IP", x509.UniformResourceIdentifier: "URI"}
    return [f"{words.get(type(name), type(name).__name__)}:{_text(name)}" for name in value]


def _text(name: x509.GeneralName) -> str:
    return name.value.rfc4514_string() if isinstance(name.value, x509.Name) else str(name.value)


def _subject_key(value: x509.SubjectKeyIdentifier) -> str:
    return value.digest.hex(":").upper()


def _authority_key(value: x509.AuthorityKeyIdentifier) -> str:
    return value.key_identifier.hex(":").upper() if value.key_identifier else ""


_READERS: dict[type, Callable[..., object]] = {
    x509.BasicConstraints: _basic_constraints,
    x509.KeyUsage: _key_usage,
    x509.ExtendedKeyUsage: _purposes,
    x509.SubjectAlternativeName: _alternative_names,
    x509.SubjectKeyIdentifier: _subject_key,
    x509.AuthorityKeyIdentifier: _authority_key,
}


def lines(data: Data) -> list[str]:
    """The same for people."""
    rows = [
        (word, data[word]) for word in ("subject", "issuer", "kind", "key", "not_before", "not_after") if word in data
    ]
    shown = [f"{word.replace('_', ' '):<12}{value}" for word, value in rows]
    if "days_left" in data:
        shown.append(f"{'days left':<12}{data['days_left']}")
    if "fingerprint_sha256" in data:
        shown.append(f"{'sha-256':<12}{data['fingerprint_sha256']}")
    if "signature_valid" in data:
        shown += [
            f"{'signature':<12}{'valid' if data['signature_valid'] else 'NOT VALID'}",
            f"{'note':<12}{data['note']}",
        ]
    members = data.get("extensions")
    for member in members if isinstance(members, list) else []:
        critical = " (critical)" if member["critical"] else ""
        shown.append(f"{'extension':<12}{member['name']}{critical}: {_plain(member['value'])}")
    return shown


def _plain(value: object) -> str:
    if isinstance(value, list):
        return ", ".join(map(str, value))
    if isinstance(value, dict):
        return ", ".join(f"{word.replace('_', ' ')} {part}" for word, part in value.items())
    return str(value)
