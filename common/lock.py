"""A file as a lock between processes; the kernel frees it when its holder dies."""

from __future__ import annotations

import contextlib
import fcntl
import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@contextlib.contextmanager
def locked(path: Path) -> Iterator[int]:
    """Held while in use; gives the descriptor, for a program that shall hold it too.

    A holder may remove the file in the end: whoever waited for that file then takes the new one, not the removed.
    """
    while True:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        with contextlib.suppress(FileNotFoundError):
            if os.fstat(descriptor).st_ino == path.stat().st_ino:
                break
        os.close(descriptor)
    try:
        yield descriptor
    finally:
        os.close(descriptor)
