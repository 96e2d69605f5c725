"""A host's data disk: an ext4 image of the asked size, so that a full disk is full."""

from __future__ import annotations

import os
from pathlib import Path

from common.run import run

DISK_TIMEOUT_S = 120
CAP_SYS_RESOURCE = 24


def ensure_disk(image: Path, size: int) -> None:
    """A disk of that size, while its host is down.

    Made beside its place first: a file under the image's name always holds a whole file system.
    """
    if image.exists():
        if file_system_bytes(image) < size:
            _grow_unmounted(image, size)
        return
    half = image.with_name(f"{image.name}.half")
    half.unlink(missing_ok=True)
    _lengthen(half, size)
    run(["mkfs.ext4", "-q", "-F", "-m", "0", "-L", "data", str(half)], timeout_s=DISK_TIMEOUT_S)
    half.replace(image)


def file_system_bytes(image: Path) -> int:
    """How large the file system is: what counts, whatever became of the file around it."""
    told = run(["dumpe2fs", "-h", str(image)], timeout_s=DISK_TIMEOUT_S)
    facts = dict(line.split(":", 1) for line in told.splitlines() if ":" in line)
    return int(facts["Block count"]) * int(facts["Block size"])


def may_grow_mounted() -> bool:
    """The kernel grows a mounted ext4 for holders of CAP_SYS_RESOURCE only, which root in a container may lack."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    effective = next(line.split()[1] for line in lines if line.startswith("CapEff:"))
    return bool(int(effective, 16) >> CAP_SYS_RESOURCE & 1)


def grow_mounted(image: Path, size: int, *, namespace_of: int) -> None:
    """While the host runs: file, loop device, then the file system, in the mount namespace that has it."""
    _lengthen(image, size)
    device = run(["losetup", "--noheadings", "--output", "NAME", "--associated", str(image)], timeout_s=DISK_TIMEOUT_S)
    run(["losetup", "--set-capacity", device.strip()], timeout_s=DISK_TIMEOUT_S)
    inside = ["nsenter", f"--target={namespace_of}", "--mount", "--pid"]
    run([*inside, "resize2fs", device.strip()], timeout_s=DISK_TIMEOUT_S)


def _grow_unmounted(image: Path, size: int) -> None:
    _lengthen(image, size)
    # Exit code 1: the check mended something, which is what it is for.
    run(["sh", "-c", 'e2fsck -p -f "$0" || [ $? -eq 1 ]', str(image)], timeout_s=DISK_TIMEOUT_S)
    run(["resize2fs", str(image)], timeout_s=DISK_TIMEOUT_S)


def _lengthen(image: Path, size: int) -> None:
    """Never shorter: that would cut off what is written there."""
    with image.open("ab") as file:
        if file.tell() < size:
            os.truncate(file.fileno(), size)
