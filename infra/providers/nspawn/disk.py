"""A host's data disk: an ext4 image of the asked size, so that a full disk is full."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from common.run import run

if TYPE_CHECKING:
    from pathlib import Path

DISK_TIMEOUT_S = 120


def ensure_disk(image: Path, size: int) -> None:
    """Made beside its place first: a file under the image's name always holds a whole file system."""
    if image.exists():
        grow_file(image, size)
        return
    half = image.with_name(f"{image.name}.half")
    half.unlink(missing_ok=True)
    with half.open("wb") as file:
        os.truncate(file.fileno(), size)
    run(["mkfs.ext4", "-q", "-F", "-m", "0", "-L", "data", str(half)], timeout_s=DISK_TIMEOUT_S)
    half.replace(image)


def grow_file(image: Path, size: int) -> bool:
    """Whether it had to grow. The file system follows at the next mount, or by `grow_mounted`."""
    if image.stat().st_size >= size:
        return False
    os.truncate(image, size)
    return True


def grow_unmounted(image: Path) -> None:
    """A file system that was not taken to its file's size, because the host was down when its disk grew."""
    # Exit code 1: the check mended something, which is what it is for.
    run(["sh", "-c", 'e2fsck -p -f "$0" || [ $? -eq 1 ]', str(image)], timeout_s=DISK_TIMEOUT_S)
    run(["resize2fs", str(image)], timeout_s=DISK_TIMEOUT_S)


def grow_mounted(image: Path, *, namespace_of: int) -> None:
    """While the host runs: its loop device first, then the file system, in the mount namespace that has it."""
    device = run(["losetup", "--noheadings", "--output", "NAME", "--associated", str(image)], timeout_s=DISK_TIMEOUT_S)
    run(["losetup", "--set-capacity", device.strip()], timeout_s=DISK_TIMEOUT_S)
    inside = ["nsenter", f"--target={namespace_of}", "--mount", "--pid"]
    run([*inside, "resize2fs", device.strip()], timeout_s=DISK_TIMEOUT_S)
