"""Private keys: made, loaded, judged. One rule says which key is strong enough, wherever a key appears."""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING, TypeGuard

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat

from certs.errors import UnreadableError

PrivateKey = ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey
PublicKey = ec.EllipticCurvePublicKey | rsa.RSAPublicKey

if TYPE_CHECKING:
    from cryptography import x509
    from cryptography.hazmat.primitives.asymmetric.types import CertificatePublicKeyTypes

    AnyKey = PrivateKey | CertificatePublicKeyTypes

# 128 bits of security, as P-256 has: 2048 has 112 and is not to be used beyond 2030 (NIST SP 800-57).
RSA_BITS_MIN = 3072
RSA_EXPONENT = 65537
_CURVES = {"secp256r1": "P-256", "secp384r1": "P-384", "secp521r1": "P-521"}


class KeyType(enum.StrEnum):
    P256 = "p256"
    P384 = "p384"
    RSA3072 = "rsa-3072"
    RSA4096 = "rsa-4096"


GOOD_KEYS = f"P-256, P-384, P-521 or RSA of at least {RSA_BITS_MIN} bits"


def generate(key_type: KeyType = KeyType.P256) -> PrivateKey:
    if key_type is KeyType.P256:
        return ec.generate_private_key(ec.SECP256R1())
    if key_type is KeyType.P384:
        return ec.generate_private_key(ec.SECP384R1())
    bits = RSA_BITS_MIN if key_type is KeyType.RSA3072 else 4096
    return rsa.generate_private_key(public_exponent=RSA_EXPONENT, key_size=bits)


def label(key: object) -> str:
    """What the key is, in the words of people: 'P-256', 'RSA 2048'."""
    if isinstance(key, ec.EllipticCurvePrivateKey | ec.EllipticCurvePublicKey):
        return _CURVES.get(key.curve.name, key.curve.name)
    if isinstance(key, rsa.RSAPrivateKey | rsa.RSAPublicKey):
        return f"RSA {key.key_size}"
    return type(key).__name__.removesuffix("PrivateKey").removesuffix("PublicKey").removeprefix("_")


def is_strong(key: object) -> TypeGuard[PublicKey]:
    if isinstance(key, ec.EllipticCurvePublicKey):
        return key.curve.name in _CURVES
    return isinstance(key, rsa.RSAPublicKey) and key.key_size >= RSA_BITS_MIN


def matches(key_type: KeyType, key: object) -> bool:
    wanted = {KeyType.P256: "P-256", KeyType.P384: "P-384", KeyType.RSA3072: "RSA 3072", KeyType.RSA4096: "RSA 4096"}
    return label(key) == wanted[key_type]


def public_bytes(key: AnyKey) -> bytes:
    """The public part in one canonical form, for comparisons."""
    public = key.public_key() if isinstance(key, ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey) else key
    return public.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)


def belongs(key: AnyKey, certificate: x509.Certificate | x509.CertificateSigningRequest) -> bool:
    return public_bytes(key) == public_bytes(certificate.public_key())


def to_pem(key: PrivateKey, passphrase: bytes | None = None) -> bytes:
    """PKCS#8, the only form that Kafka's own PEM reader takes."""
    encryption = serialization.BestAvailableEncryption(passphrase) if passphrase else NoEncryption()
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, encryption)


def from_pem(data: bytes, *, where: object, passphrase: bytes | None = None) -> PrivateKey:
    try:
        key = serialization.load_pem_private_key(data, passphrase)
    except TypeError as exc:
        if passphrase:
            raise UnreadableError(
                f"The key {where} is not encrypted, but a passphrase was given.",
                resolution="Leave out --passphrase-file.",
            ) from exc
        raise UnreadableError(
            f"The key {where} is encrypted and no passphrase was given.",
            resolution="Give the file that holds it: --passphrase-file FILE (or - for standard input).",
        ) from exc
    except (ValueError, UnsupportedAlgorithm) as exc:
        if passphrase and b"ENCRYPTED" in data:
            raise UnreadableError(
                f"The passphrase does not open the key {where}.",
                resolution="Check that --passphrase-file names the passphrase of this key.",
            ) from exc
        raise UnreadableError(
            f"{where} holds no private key in PEM.",
            resolution="It should begin with -----BEGIN PRIVATE KEY----- (openssl pkcs8 -topk8 converts).",
        ) from exc
    if not isinstance(key, ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey):
        raise UnreadableError(f"The key {where} is of type {label(key)}.", resolution=f"Use a key of type {GOOD_KEYS}.")
    return key
