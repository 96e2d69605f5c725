"""SCRAM credentials for formatting: the password itself never goes to a host."""

from __future__ import annotations

import base64
import hashlib
import hmac
import os

# What Kafka accepts (ScramMechanism); more than its least, since logins are rare and lists of passwords long.
ITERATIONS_MIN, ITERATIONS_MAX = 4096, 16384
_HASHES = {"SCRAM-SHA-256": "sha256", "SCRAM-SHA-512": "sha512"}


def credentials(user: str, password: str, mechanisms: list[str], iterations: int) -> list[str]:
    """As the storage tool's --add-scram takes them, one per SCRAM mechanism."""
    return [_credential(name, user, password, iterations) for name in mechanisms if name in _HASHES]


def zookeeper_credentials(password: str, mechanisms: list[str], iterations: int) -> dict[str, str]:
    """As Kafka keeps them in ZooKeeper, by mechanism."""
    return {name: _kept(_HASHES[name], password, iterations) for name in mechanisms if name in _HASHES}


def _kept(algorithm: str, password: str, iterations: int) -> str:
    salt, salted = _salted(algorithm, password, iterations)
    stored = hashlib.new(algorithm, hmac.digest(salted, b"Client Key", algorithm)).digest()
    server = hmac.digest(salted, b"Server Key", algorithm)
    texts = {"salt": salt, "stored_key": stored, "server_key": server}
    fields = [f"{name}={base64.b64encode(value).decode()}" for name, value in texts.items()]
    return ",".join([*fields, f"iterations={iterations}"])


def _salted(algorithm: str, password: str, iterations: int) -> tuple[bytes, bytes]:
    salt = os.urandom(32)
    # Kafka does not prepare strings (SASLprep): the bytes of the password are its UTF-8.
    return salt, hashlib.pbkdf2_hmac(algorithm, password.encode(), salt, iterations)


def _credential(mechanism: str, user: str, password: str, iterations: int) -> str:
    salt, salted = _salted(_HASHES[mechanism], password, iterations)
    texts = {"salt": base64.b64encode(salt).decode(), "saltedpassword": base64.b64encode(salted).decode()}
    inner = ",".join(f'{name}="{text}"' for name, text in texts.items())
    return f"{mechanism}=[name={user},iterations={iterations},{inner}]"
