"""Whatever comes as a batch, a request or a certificate: an answer, or the product's own error with a way out."""

from __future__ import annotations

import base64
import json
import textwrap
from datetime import UTC, datetime
from functools import cache
from typing import TYPE_CHECKING, Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import dsa, ec, ed25519, rsa
from cryptography.hazmat.primitives.serialization import Encoding
from hypothesis import example, given
from hypothesis import strategies as st

from certs import authority, check, describe, inputs, keys, names, pem
from certs.errors import KastellanError
from certs.renewal import needs_renewal
from certs.signing import Order
from tests.fuzz import answered, any_text, bounded, json_junk, spoiled, torn

if TYPE_CHECKING:
    from collections.abc import Callable

    from certs import Authority

ENTRY = {
    "name": "broker-1", "kind": "server", "aliases": ["b.example"], "addresses": ["198.18.0.11"],
    "request": "-----BEGIN CERTIFICATE REQUEST-----", "certificate": "",
}  # fmt: skip


# Not secret, and the same in every run, so that the bent bytes are.
KEY = ec.derive_private_key(20261118, ec.SECP256R1())
NOW = datetime(2026, 11, 18, 7, tzinfo=UTC)
NAME = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "broker-1")])


def request(key: Any) -> x509.CertificateSigningRequest:
    algorithm = None if isinstance(key, ed25519.Ed25519PrivateKey) else hashes.SHA256()
    steady = True if isinstance(key, ec.EllipticCurvePrivateKey) else None
    return x509.CertificateSigningRequestBuilder().subject_name(NAME).sign(key, algorithm, ecdsa_deterministic=steady)


@cache
def signer() -> Authority:
    return authority.create(KEY, "Test authority", now=NOW)


@cache
def good_certificate() -> bytes:
    leaf = signer().leaf(names.server("broker-1"), KEY.public_key(), now=NOW)[0]
    builder = x509.CertificateBuilder(
        leaf.issuer, leaf.subject, leaf.public_key(), 4711, leaf.not_valid_before_utc, leaf.not_valid_after_utc,
        list(leaf.extensions),
    )  # fmt: skip
    return builder.sign(KEY, hashes.SHA256(), ecdsa_deterministic=True).public_bytes(Encoding.DER)


def as_pem(der: bytes, label: str) -> bytes:
    body = "\n".join(textwrap.wrap(base64.b64encode(der).decode(), 64))
    return f"-----BEGIN {label}-----\n{body}\n-----END {label}-----\n".encode()


@bounded
@given(spoiled({"requests": [ENTRY, {"name": "usercc", "kind": "client"}]}, json_junk))
@example({"requests": [{**ENTRY, "request": "\ud800"}]})
@example({"requests": [{**ENTRY, "certificate": "\udfff"}]})
@example({"requests": [{**ENTRY, "name": "\ud800"}]})
def test_a_spoiled_batch_of_requests(batch: Any) -> None:
    found = answered(lambda: inputs.orders(json.dumps(batch).encode()))
    assert found is None or all(isinstance(order, Order) for order in found)


@bounded
@given(st.one_of(torn(json.dumps({"requests": [ENTRY]})).map(lambda text: text.encode(errors="replace")), st.binary()))
@example(b"[" * 5000)
@example(b'{"requests": [' + b"1" * 5000 + b"]}")
@example(b"\xff\xfe{")
def test_a_torn_batch(data: bytes) -> None:
    answered(lambda: inputs.orders(data))
    answered(lambda: inputs.users(data))


@bounded
@given(spoiled({"users": ["usercc", "validator"]}, json_junk))
def test_a_spoiled_batch_of_users(batch: Any) -> None:
    for user in answered(lambda: inputs.users(json.dumps(batch).encode())) or ():
        answered(lambda user=user: names.client(user))  # type: ignore[misc]


@st.composite
def bent(draw: st.DrawFn, good: bytes) -> bytes:
    """One to four bytes of a good file are others, or its end is missing."""
    made = bytearray(good)
    for _ in range(draw(st.integers(1, 4))):
        made[draw(st.integers(0, len(made) - 1))] = draw(st.integers(0, 255))
    return bytes(made[: draw(st.integers(1, len(made)))]) if draw(st.booleans()) else bytes(made)


@bounded
@given(st.data())
def test_a_bent_request_is_refused_or_proves_its_key(data: st.DataObject) -> None:
    spoilt = as_pem(data.draw(bent(request(KEY).public_bytes(Encoding.DER))), "CERTIFICATE REQUEST")

    def judged() -> keys.PublicKey:
        return authority.public_key_of(pem.request(spoilt, where="it"), name="broker-1")

    key = answered(judged)
    assert key is None or keys.is_strong(key)


@bounded
@given(st.data())
def test_a_bent_certificate_is_refused_or_read(data: st.DataObject) -> None:
    spoilt = as_pem(data.draw(bent(good_certificate())), "CERTIFICATE")
    chain = answered(lambda: pem.certificates(spoilt, where="it")) or ()
    for one in chain:
        json.dumps(describe.certificate(one, NOW))
        check.findings([one], check.Expected(names.Kind.SERVER, hosts=("broker-1",)), now=NOW)
        needs_renewal([one], identity=names.server("broker-1"), chain=signer().chain, now=NOW)


@bounded
@given(st.one_of(st.binary(max_size=200), any_text.map(str.encode)), any_text)
def test_any_bytes_as_a_file(data: bytes, word: str) -> None:
    for label in ("", "CERTIFICATE REQUEST", "CERTIFICATE", "PRIVATE KEY", "ENCRYPTED PRIVATE KEY"):
        text = as_pem(data, label) if label else data
        answered(lambda text=text: pem.request(text, where="it"))  # type: ignore[misc]
        answered(lambda text=text: pem.certificates(text, where="it"))  # type: ignore[misc]
        answered(lambda text=text: keys.from_pem(text, where="it", passphrase=word.encode() or None))  # type: ignore[misc]


@pytest.mark.parametrize(
    "made",
    [
        ed25519.Ed25519PrivateKey.generate,
        lambda: dsa.generate_private_key(2048),
        lambda: rsa.generate_private_key(public_exponent=65537, key_size=2048),
        lambda: ec.generate_private_key(ec.SECP224R1()),
        lambda: ec.generate_private_key(ec.BrainpoolP256R1()),
    ],
)
def test_keys_of_other_kinds_are_refused(made: Callable[[], Any]) -> None:
    with pytest.raises(KastellanError) as told:
        authority.public_key_of(request(made()), name="broker-1")
    assert told.value.resolution
