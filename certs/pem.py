"""Certificates and requests as PEM text, in and out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding

from certs.errors import UnreadableError

if TYPE_CHECKING:
    from collections.abc import Iterable


def certificates(data: bytes, *, where: object) -> tuple[x509.Certificate, ...]:
    try:
        return tuple(x509.load_pem_x509_certificates(data))
    except ValueError as exc:
        raise UnreadableError(
            f"{where} holds no certificate in PEM.",
            resolution="It should begin with -----BEGIN CERTIFICATE----- (openssl x509 -in FILE converts).",
        ) from exc


def request(data: bytes, *, where: object) -> x509.CertificateSigningRequest:
    try:
        return x509.load_pem_x509_csr(data)
    except ValueError as exc:
        raise UnreadableError(
            f"{where} holds no signing request in PEM.",
            resolution="Make one on the host: openssl req -new -key key.pem -subj /CN=ignored",
        ) from exc


def join(chain: Iterable[x509.Certificate]) -> bytes:
    return b"".join(certificate.public_bytes(Encoding.PEM) for certificate in chain)
