"""SCRAM credentials for formatting: the password itself never goes to a host."""

from __future__ import annotations

import base64
import hashlib
import os

# What Kafka accepts (ScramMechanism); more than its least, since logins are rare and lists of passwords long.
ITERATIONS_MIN, ITERATIONS_MAX = 4096, 16384
_HASHES = {"SCRAM-SHA-256": "sha256", "SCRAM-SHA-512": "sha512"}


def credentials(user: str, password: str, mechanisms: list[str], iterations: int) -> list[str]:
    """As the storage tool's --add-scram takes them, one per SCRAM mechanism."""
    return [_credential(name, user, password, iterations) for name in mechanisms if name in _HASHES]


def _credential(mechanism: str, user: str, password: str, iterations: int) -> str:
    salt = os.urandom(32)
    # Kafka does not prepare strings (SASLprep): the bytes of the password are its UTF-8.
    salted = hashlib.pbkdf2_hmac(_HASHES[mechanism], password.encode(), salt, iterations)
    texts = {"salt": base64.b64encode(salt).decode(), "saltedpassword": base64.b64encode(salted).decode()}
    inner = ",".join(f'{name}="{text}"' for name, text in texts.items())
    return f"{mechanism}=[name={user},iterations={iterations},{inner}]"
