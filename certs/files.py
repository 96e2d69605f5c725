"""Files and directories of the PKI: right mode from the first byte, whole or not at all, one run at a time."""

from __future__ import annotations

import fcntl
import os
import secrets
import stat
import sys
import time
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from certs.errors import BusyError, CertsError, StoreError, UnreadableError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

PRIVATE = 0o600
PUBLIC = 0o644
DIRECTORY = 0o700

# A batch of hundreds takes a second or two, but the disk is waited for: a busy one took several seconds for one sync.
LOCK_WAIT_S = 60.0
_LOCK_POLL_S = 0.05


def read(path: Path, what: str) -> bytes:
    try:
        return path.read_bytes()
    except OSError as exc:
        raise UnreadableError(
            f"{what} cannot be read: {path}", details=exc.strerror or "", resolution="Check the path and its mode."
        ) from exc


def read_if_there(path: Path, what: str) -> bytes | None:
    return read(path, what) if path.exists() else None


def read_input(source: str, path: Path, what: str) -> bytes:
    """A file, or standard input for '-': what is secret or large comes this way, never as an argument."""
    return sys.stdin.buffer.read() if source == "-" else read(path, what)


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def make_directory(path: Path, *, tighten: bool = True, apply: bool = True) -> bool:
    """Private directories; parents that are missing are made the same way. True if something had to change.

    `tighten` only what is ours: whoever names /tmp does not want it closed.
    """
    if path.is_dir():
        if not tighten or mode_of(path) == DIRECTORY:
            return False
        if apply:
            path.chmod(DIRECTORY)
        return True
    if path.exists() and not path.is_dir():  # asked once more: another run may have made it since
        raise StoreError(f"{path} is in the way: a directory is needed there.", resolution="Move that file away.")
    if apply:
        for missing in [p for p in reversed([path, *path.parents]) if not p.exists()]:
            with suppress(FileExistsError):  # another run was faster; the lock comes after the directory
                missing.mkdir(mode=DIRECTORY)
    return True


def write(path: Path, data: bytes, mode: int, *, replace: bool = True, durable: bool = False) -> None:
    """Whole or not at all, and never readable to others in between. Without `replace` an existing file stays.

    `durable` also outlives a power cut, for what nobody could make again. Leaves go without: waiting for the disk
    took two thirds of a batch, and the next run sees and remakes whatever a power cut left broken.
    """
    draft = path.with_name(f".{secrets.token_hex(8)}.draft")  # no part of `path`: its name may fill a directory entry
    try:
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, mode)
        with os.fdopen(descriptor, "wb") as handle:
            os.fchmod(descriptor, mode)  # the umask may have taken bits away
            handle.write(data)
            handle.flush()
            if durable:
                os.fsync(descriptor)
        if replace:
            draft.replace(path)
        else:
            os.link(draft, path)
        if durable:
            _sync_directory(path.parent)
    except OSError as exc:
        raise CertsError(
            f"{path} cannot be written.", details=exc.strerror or "", resolution="Check the directory and its space."
        ) from exc
    finally:
        draft.unlink(missing_ok=True)


def _sync_directory(path: Path) -> None:
    """A rename is only durable once its directory is."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def put(path: Path, data: bytes, mode: int, *, apply: bool = True) -> bool:
    """Make the file hold exactly this with exactly this mode. True if it did not."""
    same = path.is_file() and not path.is_symlink() and path.read_bytes() == data
    if same and mode_of(path) == mode:
        return False
    if apply and same:
        path.chmod(mode)
    elif apply:
        write(path, data, mode)
    return True


@contextmanager
def exclusive(directory: Path, *, wait_s: float | None = None) -> Iterator[None]:
    """One run at a time. The kernel lets go of the lock when its process ends, however it ends."""
    path = directory / "lock"
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, PRIVATE)
    bound_s = LOCK_WAIT_S if wait_s is None else wait_s
    deadline_s = time.monotonic() + bound_s
    try:
        while not _try_lock(descriptor):
            if time.monotonic() >= deadline_s:
                raise BusyError(
                    f"Another run works on {directory}.",
                    details=f"It still held the lock after {bound_s:g} s.",
                    resolution=f"Wait for it to end, then run again (fuser {path} names it).",
                )
            time.sleep(_LOCK_POLL_S)
        yield
    finally:
        os.close(descriptor)


def _try_lock(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
