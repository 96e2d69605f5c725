"""Debian's libvirt in a root of its own, made once with an image for guests, and run for a test."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import TYPE_CHECKING

from common.run import run
from infra.providers.nspawn.image import PACKAGES as HOST_PACKAGES
from tests.system.clouds import layers

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Iterator

HERE = Path(__file__).parent
PACKAGES = (
    "libvirt-daemon-system", "libvirt-daemon", "libvirt-clients", "qemu-system-x86", "seabios", "ipxe-qemu", "iptables",
    "dnsmasq-base",
    # what makes the image
    "qemu-utils", "syslinux", "syslinux-common", "mtools", "dosfstools", "fdisk", "e2fsprogs",
)  # fmt: skip
# A guest is a host as on this machine, with a kernel, and settings of its own at the first boot.
GUEST_PACKAGES = (*HOST_PACKAGES, "linux-image-amd64", "initramfs-tools", "udev", "cloud-init", "netplan.io", "locales")
# The disk with the settings is a CD drive: its drivers must be there before anybody looks for it.
DRIVERS = (
    'mkdir -p "$1/usr/share/initramfs-tools/modules.d"'
    ' && printf "ata_piix\\nsr_mod\\nisofs\\n" > "$1/usr/share/initramfs-tools/modules.d/guest"'
)
ASK_TIMEOUT_S = 60
SHOWN_LINES = 60


class DebianLibvirt:
    """Its socket is reached through the namespace of its first process; programs get to its guests by `argv`."""

    def __init__(self, process: subprocess.Popen[str], upper: Path, images: Path) -> None:
        self.process = process
        self.upper = upper
        self.image, self.blank = images / "guest.qcow2", images / "blank.qcow2"
        self.uri = f"qemu:///system?socket=/proc/{process.pid}/root{upper}/root/run/libvirt/libvirt-sock"

    def argv(self, *words: str) -> list[str]:
        """A program of this machine, on the network of the guests."""
        return layers.in_network(self.process, *words)

    def virsh(self, *words: str) -> str:
        argv = layers.in_root(self.process, self.upper, "virsh", "--quiet", *words)
        return run(argv, timeout_s=ASK_TIMEOUT_S).strip()

    def guests(self) -> list[str]:
        return sorted(self.virsh("list", "--all", "--name").split())

    def volumes(self, pool: str) -> list[str]:
        return sorted(line.split()[0] for line in self.virsh("vol-list", pool).splitlines() if line.strip())

    def complaints(self) -> str:
        return complaints(self.upper)


def ensure_layers() -> list[Path]:
    """The topmost first; in it lie the images."""
    sources = "\n".join((HERE / name).read_text() for name in ("guest.sh", "image.sh"))
    recipe = "\n".join((layers.recipe_of(PACKAGES), *GUEST_PACKAGES, DRIVERS, sources))
    with layers.home() as (home, lock):
        below = layers.ensure_packages(home, PACKAGES, lock)
        images = home / f"guest-{layers.digest(recipe)}"
        if not images.is_dir():
            with layers.half_of(images) as half:
                tree = half / "upper/tree"
                tree.parent.mkdir(parents=True)
                hooks = [f"--essential-hook={DRIVERS}", f'--customize-hook={HERE / "guest.sh"} "$1"']
                layers.bootstrap(tree, GUEST_PACKAGES, lock, *hooks)
                files = {"image.sh": HERE / "image.sh"}
                layers.fill(half, below, files, ["sh", "/image.sh"], lock, "--net")
    return [images / "upper", *below]


@contextlib.contextmanager
def debian_libvirt() -> Iterator[DebianLibvirt]:
    top, *below = ensure_layers()
    # As words of the command: a change of it makes no image anew.
    command = ["python3", "-c", (HERE / "inside.py").read_text()]
    with layers.serving(below, command, complaints) as (process, upper):
        yield DebianLibvirt(process, upper, top)


def complaints(upper: Path) -> str:
    """The last words of libvirt, of QEMU and of each guest's console, as they go with the folder."""
    logs = [*(upper / "upper/kastellan/logs").glob("*.log"), *(upper / "upper/var/log/libvirt/qemu").glob("*.log")]
    told = [f"-- {log.name}\n{last_lines(log)}" for log in sorted(logs)]
    return "\n".join(told) or "no logs"


def last_lines(log: Path) -> str:
    return "\n".join(log.read_text(errors="replace").splitlines()[-SHOWN_LINES:])
