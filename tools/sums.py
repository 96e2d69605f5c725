"""Checksums beside what the cache keeps, so that what was cut off or altered since is noticed before it is used."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from common.files import write_whole

if TYPE_CHECKING:
    from pathlib import Path


def sha256_of(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def write_sum(path: Path) -> None:
    """In the form that `sha256sum --check` reads."""
    write_whole(_beside(path), f"{sha256_of(path)}  {path.name}\n")


def is_as_made(path: Path) -> bool:
    """False as well for what has no sum: nobody knows then whether it is whole."""
    try:
        written = _beside(path).read_bytes()
        return written == f"{sha256_of(path)}  {path.name}\n".encode()
    except OSError:
        return False


def _beside(path: Path) -> Path:
    return path.with_name(f"{path.name}.sha256")
