"""What libvirt needs of this machine: ssh, a program that makes disks, and the image where it is a file."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from common.errors import KastellanError
from infra.lookup import NotFound
from infra.providers.static import preflight as ssh
from infra.providers.static.preflight import preparations, require_user
from infra.quantities import format_size

if TYPE_CHECKING:
    from infra.plan import StackPlan

# A machine's own disk; it grows as it is written to.
ROOT_BYTES = 20 * 2**30
# Of the format qcow2.
MARK, SIZE_AT, SIZE_BYTES = b"QFI\xfb", 24, 8
FITTING = "Debian's generic image fits: docs/how-to/libvirt.md."

__all__ = ["missing_packages", "preflight", "preparations", "require_user"]


def missing_packages() -> list[str]:
    """The plugin makes the disk with the first-boot settings by mkisofs."""
    return [*ssh.missing_packages(), *([] if shutil.which("mkisofs") else ["genisoimage"])]


def preflight(plan: StackPlan) -> None:
    if missing := missing_packages():
        raise KastellanError(
            f"Programs are missing on PATH: Debian has them in {', '.join(missing)}.",
            resolution=f"apt-get install {' '.join(missing)} (./kastellan up does it for you).",
        )
    image = plan.cloud.image if plan.cloud else ""
    if not urlsplit(image).scheme and not Path(image).is_file():
        raise NotFound(
            f"cloud.image: there is no file {image!r}.",
            details="For libvirt it is the path or the address of a cloud image (qcow2) with cloud-init.",
            resolution=f"Nothing was made. {FITTING}",
        )
    if not urlsplit(image).scheme:
        _refuse_unfit(image)


def _refuse_unfit(image: str) -> None:
    """By the first bytes of a qcow2: a mark, and how large its disk is. What is on it shows when it boots."""
    try:
        with Path(image).open("rb") as file:
            head = file.read(SIZE_AT + SIZE_BYTES)
    except OSError as failure:
        raise KastellanError(
            f"cloud.image: {image!r} cannot be read.",
            details=str(failure),
            resolution="Nothing was made. Pulumi's plugin reads it, as you: let yourself (chmod, or another folder).",
        ) from None
    if not head.startswith(MARK):
        raise KastellanError(
            f"cloud.image: {image!r} is no image in the format qcow2.",
            details="An installer, a raw disk, or a download that was cut off.",
            resolution=f"Nothing was made. {FITTING} qemu-img convert -O qcow2 makes one of another format.",
        )
    size = int.from_bytes(head[SIZE_AT:], "big")
    if size > ROOT_BYTES:
        raise KastellanError(
            f"cloud.image: the disk of {image!r} has {format_size(size)}, a machine's root has"
            f" {format_size(ROOT_BYTES)}.",
            details="A disk over an image cannot be smaller than the image.",
            resolution=f"Nothing was made. {FITTING}",
        )
