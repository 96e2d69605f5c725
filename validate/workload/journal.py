"""An append-only journal of frames: what a process did, safe from its own death.

One write() a frame: once it returns, the bytes are in the page cache, and a SIGKILL cannot take them back. (The death
of the machine could; a ledger is kept on the machine that judges, not on those that are broken.)
"""

from __future__ import annotations

import errno
import fcntl
import os
import struct
import zlib
from typing import TYPE_CHECKING

from common.errors import KastellanError, UnreadableError, UsageError
from validate.full import is_full, remedy

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

FOLDER = "journals"
SUFFIX = ".journal"
OPENING = b"H"  # the first frame of each: what all rows share
MAGIC = b"KJ"
MOST_BYTES = 4 * 1024 * 1024  # of one frame: a longer rest of a file is no torn frame but damage
# What frames that some other program wrote make a reader of them raise.
NONSENSE = (LookupError, ValueError, TypeError, AttributeError, ArithmeticError, OSError, RecursionError, struct.error)
_HEADER = struct.Struct(">2sII")  # magic, length, crc32 of the content


def senseless(path: Path, error: Exception) -> UnreadableError:
    return UnreadableError(
        f"The journal {path} makes no sense.",
        details=f"{type(error).__name__}: {error}",
        resolution="Seal it with the version of Kastellan that wrote it.",
    )


class Writer:
    """The one process that writes a journal; the lock goes with its death."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._path = path
        try:
            self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC, 0o644)
        except FileExistsError:
            raise UsageError(
                f"There is a journal of that name already: {path}",
                details="A name belongs to one life of one process.",
                resolution="Give each start of a workload a name of its own, e.g. writer-2.",
            ) from None
        fcntl.flock(self._file, fcntl.LOCK_EX)

    def append(self, content: bytes) -> None:
        """Raises if the frame is not there whole: then nothing may be sent on its account."""
        if len(content) > MOST_BYTES:
            raise ValueError(f"a frame of {len(content)} bytes")
        frame = _HEADER.pack(MAGIC, len(content), zlib.crc32(content)) + content
        try:
            written = os.write(self._file, frame)
        except OSError as error:
            raise self._broken(error) from error
        if written != len(frame):
            raise self._broken(OSError(errno.ENOSPC, f"only {written} of {len(frame)} bytes were written"))

    def _broken(self, error: OSError) -> KastellanError:
        return KastellanError(
            f"{'The disk is full: the' if is_full(error) else 'The'} ledger cannot be written.",
            details=f"{self._path}: {error}",
            resolution=f"{remedy(error)}; what was sent until now is in the journal.",
        )

    def close(self) -> None:
        os.close(self._file)


def read(path: Path) -> Iterator[bytes]:
    """Every whole frame. A torn last one is dropped: its writer died before it could rely on it."""
    with path.open("rb") as file:
        _refuse_living(file.fileno(), path)
        data = file.read()
    at = 0
    while at < len(data):
        content = _frame(data, at)
        if content is None:
            _refuse_damage(data, at, path)
            return
        yield content
        at += _HEADER.size + len(content)


def _frame(data: bytes, at: int) -> bytes | None:
    if len(data) - at < _HEADER.size:
        return None
    magic, length, crc = _HEADER.unpack_from(data, at)
    content = data[at + _HEADER.size : at + _HEADER.size + length]
    return content if magic == MAGIC and len(content) == length and zlib.crc32(content) == crc else None


def _refuse_living(descriptor: int, path: Path) -> None:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        raise UsageError(
            f"{path.name} is still being written.",
            resolution="Stop its workload first (SIGTERM), then seal.",
        ) from None


def _refuse_damage(data: bytes, at: int, path: Path) -> None:
    """Behind a torn frame there is nothing; a whole frame behind a bad one means that the file was damaged."""
    rest = len(data) - at
    following = data.find(MAGIC, at + 1)
    while following != -1 and rest <= MOST_BYTES + _HEADER.size:
        if _frame(data, following) is not None:
            break
        following = data.find(MAGIC, following + 1)
    if following != -1 or rest > MOST_BYTES + _HEADER.size:
        raise UnreadableError(
            f"The journal {path} is damaged.",
            details=f"At byte {at} of {len(data)} there is no whole frame, yet more follows.",
            resolution="Look for disk errors and run again; nothing can be said of this run.",
        )
