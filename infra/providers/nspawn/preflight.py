"""What this machine must offer before the first host is made."""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING

from common.errors import KastellanError
from infra.providers.nspawn.image import ensure_image, image_path
from infra.quantities import format_size
from infra.state import ROOT, state_dir

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from infra.plan import StackPlan

# Program -> Debian package that has it.
PROGRAMS = {
    "systemd-nspawn": "systemd-container",
    "mmdebstrap": "mmdebstrap",
    "ip": "iproute2",
    "mkfs.ext4": "e2fsprogs",
    "losetup": "mount",
    "unshare": "util-linux",
    "ssh": "openssh-client",
    "ssh-keygen": "openssh-client",
}
# A host's own layer over the image: logs, Kafka's files.
LAYER_BYTES = 512 * 2**20


def missing_packages() -> list[str]:
    return sorted({package for program, package in PROGRAMS.items() if not shutil.which(program)})


def require_user() -> None:
    if os.geteuid() != 0:
        raise KastellanError(
            "The provider nspawn must run as root.",
            details=f"You are user {os.geteuid()}; it boots machines, mounts disks and makes a bridge.",
            resolution="Run it as root, e.g. with sudo -i; or use hosts you have: stack static needs no root.",
        )


def preparations() -> list[tuple[str, str, Callable[[], str]]]:
    there = image_path().is_dir()
    hint = "looking" if there else "making a Debian with systemd, ssh, Python and Java, once, about a minute"

    def image() -> str:
        path = ensure_image()
        return f"{path.name}, {'made before' if there else 'made'}"

    return [("Base image", hint, image)]


def preflight(plan: StackPlan) -> None:
    require_user()
    if missing := missing_packages():
        raise KastellanError(
            f"Programs are missing on PATH: Debian has them in {', '.join(missing)}.",
            resolution=f"apt-get install {' '.join(missing)} (./kastellan up does it for you).",
        )
    _check_room(plan, state_dir(plan.name))


def _check_room(plan: StackPlan, state: Path) -> None:
    """Disks are sparse files, but what was promised must fit if it is written."""
    needed = sum(_needed(host.disk_bytes, state / "machines" / host.name / "data.img") for host in plan.hosts)
    free = shutil.disk_usage(ROOT).free
    if needed > free:
        raise KastellanError(
            f"There is no room for the disks of {len(plan.hosts)} hosts.",
            details=f"They may need {format_size(needed)} more, {format_size(free)} are free at {ROOT}.",
            resolution="Free some, or ask for less: pulumi config set --path 'kastellan:groups.<group>.disk' 1GiB",
        )


def _needed(size: int, disk: Path) -> int:
    """What a host's disk may still take: for a new one all of it and a layer, else the part not written yet."""
    if not disk.exists():
        return size + LAYER_BYTES
    seen = disk.stat()
    return max(size, seen.st_size) - seen.st_blocks * 512
