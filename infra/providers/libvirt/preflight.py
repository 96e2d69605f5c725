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

if TYPE_CHECKING:
    from infra.plan import StackPlan

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
            resolution="Nothing was made. Debian's genericcloud images fit: docs/how-to/libvirt.md.",
        )
