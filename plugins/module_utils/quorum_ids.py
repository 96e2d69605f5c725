"""Ids that Kafka writes as 22 letters of URL-safe base64."""

from __future__ import annotations

import base64
import hashlib
import os

ID_BYTES = 16


def random_id() -> str:
    return _readable(os.urandom(ID_BYTES))


def directory_id(cluster_id: str, node_id: int) -> str:
    """Directory id of a founding voter: the same again if founding was interrupted half way."""
    return _readable(hashlib.sha256(f"kastellan founding voter {cluster_id} {node_id}".encode()).digest()[:ID_BYTES])


def _readable(data: bytes) -> str:
    """One that begins with '-' would be taken for an option by Kafka's own tools, so it never makes such ids."""
    text = base64.urlsafe_b64encode(data).decode().rstrip("=")
    return _readable(hashlib.sha256(data).digest()[:ID_BYTES]) if text.startswith("-") else text
