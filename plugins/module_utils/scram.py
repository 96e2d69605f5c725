"""The client's side of SCRAM (RFC 5802) as Kafka does it.

Kafka's Java code takes passwords as their UTF-8 bytes, without SASLprep, and librdkafka does the same: so does this.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets

ALGORITHMS = {"SCRAM-SHA-256": "sha256", "SCRAM-SHA-512": "sha512"}
# Kafka refuses others (ScramMechanism): below is too cheap to guess, above costs its clients too much.
ITERATIONS_MIN = 4096
ITERATIONS_MAX = 16384
SALT_BYTES = 32


class ScramError(Exception):
    """The server does not keep to the exchange, or does not know the password itself."""


def salted_password(mechanism: str, password: str, salt: bytes, iterations: int) -> bytes:
    return hashlib.pbkdf2_hmac(ALGORITHMS[mechanism], password.encode(), salt, iterations)


def new_salt() -> bytes:
    return secrets.token_bytes(SALT_BYTES)


class ScramExchange:
    """One login: first(), then final(answer to it), then check(answer to that)."""

    def __init__(self, mechanism: str, username: str, password: str) -> None:
        self._mechanism = mechanism
        self._algorithm = ALGORITHMS[mechanism]
        self._password = password
        # A comma ends a field and an equals sign begins its value, so both are written otherwise in a name.
        name = username.replace("=", "=3D").replace(",", "=2C")
        self._nonce = secrets.token_hex(16)
        self._first_bare = f"n={name},r={self._nonce}"
        self._server_signature = b""

    def first(self) -> bytes:
        return f"n,,{self._first_bare}".encode()

    def final(self, server_first: bytes) -> bytes:
        fields = _fields(server_first)
        nonce = fields.get("r", "")
        if not nonce.startswith(self._nonce):
            raise ScramError("the server answered to another exchange")
        try:
            salt, iterations = base64.b64decode(fields["s"]), int(fields["i"])
        except (KeyError, ValueError) as error:
            raise ScramError("the server sent no salt or no iterations") from error
        salted = salted_password(self._mechanism, self._password, salt, iterations)
        client_key = self._hmac(salted, b"Client Key")
        without_proof = f"c=biws,r={nonce}"
        authenticated = f"{self._first_bare},{server_first.decode()},{without_proof}".encode()
        signature = self._hmac(hashlib.new(self._algorithm, client_key).digest(), authenticated)
        proof = bytes(left ^ right for left, right in zip(client_key, signature, strict=True))
        self._server_signature = self._hmac(self._hmac(salted, b"Server Key"), authenticated)
        return f"{without_proof},p={base64.b64encode(proof).decode()}".encode()

    def check(self, server_final: bytes) -> None:
        """The server proves that it knows the credential as well."""
        signature = base64.b64decode(_fields(server_final).get("v", ""))
        if not hmac.compare_digest(signature, self._server_signature):
            raise ScramError("the server does not prove that it knows the password")

    def _hmac(self, key: bytes, message: bytes) -> bytes:
        return hmac.digest(key, message, self._algorithm)


def _fields(message: bytes) -> dict[str, str]:
    pairs = (part.partition("=") for part in message.decode().split(","))
    return {key: value for key, _, value in pairs}
