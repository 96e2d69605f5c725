"""Certificates and requests as PEM text, in and out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.serialization import Encoding

from certs.errors import UnreadableError

if TYPE_CHECKING:
    from collections.abc import Iterable


# What `cryptography` raises for bytes that have the right frame and not the right content; much of it only once the
# field is asked for.
BROKEN = (ValueError, TypeError, UnsupportedAlgorithm, x509.InvalidVersion, x509.DuplicateExtension)


def certificates(data: bytes, *, where: object) -> tuple[x509.Certificate, ...]:
    try:
        loaded = tuple(x509.load_pem_x509_certificates(data))
        for one in loaded:
            _read_through(one)
            _ = (one.issuer, one.not_valid_before_utc, one.not_valid_after_utc, list(one.extensions))
    except BROKEN as exc:
        raise UnreadableError(
            f"{where} holds no certificate in PEM.",
            details=_said(exc),
            resolution="It should begin with -----BEGIN CERTIFICATE----- (openssl x509 -in FILE converts).",
        ) from exc
    return loaded


def request(data: bytes, *, where: object) -> x509.CertificateSigningRequest:
    try:
        loaded = x509.load_pem_x509_csr(data)
        _read_through(loaded)
        _ = loaded.is_signature_valid
    except BROKEN as exc:
        raise UnreadableError(
            f"{where} holds no signing request in PEM.",
            details=_said(exc),
            resolution="Make one on the host: openssl req -new -key key.pem -subj /CN=ignored",
        ) from exc
    return loaded


def _read_through(loaded: x509.Certificate | x509.CertificateSigningRequest) -> None:
    """Fields are decoded when they are asked for; asking here keeps their faults out of what judges them."""
    _ = (loaded.subject, loaded.public_key(), loaded.signature_hash_algorithm)


def _said(exc: Exception) -> str:
    """Where the frame is right, the library says which field is not."""
    return "" if "PEM" in str(exc) else str(exc)


def join(chain: Iterable[x509.Certificate]) -> bytes:
    return b"".join(certificate.public_bytes(Encoding.PEM) for certificate in chain)
