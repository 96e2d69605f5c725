"""What makes a copy of the base image this host: its name, address and keys. Written while it is down."""

from __future__ import annotations

import hashlib
import os
from typing import TYPE_CHECKING

from common.files import write_whole
from common.run import run

if TYPE_CHECKING:
    from pathlib import Path

    from infra.providers.base import Props

OPS_ID = 1000
KEYGEN_TIMEOUT_S = 20
HOST_KEY = "etc/ssh/ssh_host_ed25519_key"


def seed(upper: Path, props: Props) -> None:
    """`upper` is the host's own layer over the image; writing there again changes nothing."""
    name, address = props["name"], props["address"]
    machine_id = hashlib.sha256(f"{props['stack_id']}/{name}".encode()).hexdigest()[:32]
    _write(upper / "etc/machine-id", f"{machine_id}\n", mode=0o444)
    _write(upper / "etc/hostname", f"{name}\n")
    if not (upper / "etc/hosts").exists():  # later on the cluster's roles keep it
        _write(upper / "etc/hosts", f"127.0.0.1 localhost\n::1 localhost\n{address} {name}\n")
    network = f"[Match]\nName=host0\n\n[Network]\nAddress={address}/{props['prefix_length']}\nLinkLocalAddressing=no\n"
    _write(upper / "etc/systemd/network/10-host0.network", network)
    authorize(upper, props["authorized_key"])
    _make_host_key(upper / HOST_KEY, name)


def host_key(upper: Path) -> str:
    """`type base64` of the host's public key."""
    return " ".join((upper / f"{HOST_KEY}.pub").read_text(encoding="ascii").split()[:2])


def has_host_key(upper: Path) -> bool:
    return (upper / HOST_KEY).is_file() and (upper / f"{HOST_KEY}.pub").is_file()


def authorize(root: Path, key: str) -> None:
    """Let the holder of `key`, and nobody else, log in as `ops`."""
    folder = root / "home/ops/.ssh"
    for made in (folder.parent, folder):
        _make_folder(made)
        made.chmod(0o700)
        os.chown(made, OPS_ID, OPS_ID)
    path = folder / "authorized_keys"
    _write(path, f"{key}\n", mode=0o600)
    os.chown(path, OPS_ID, OPS_ID)


def _make_host_key(path: Path, name: str) -> None:
    """Both files or none: ssh-keygen asks before it writes over one of an interrupted call."""
    public = path.with_name(f"{path.name}.pub")
    if path.exists() and public.exists():
        return
    path.unlink(missing_ok=True)
    public.unlink(missing_ok=True)
    _make_folder(path.parent)
    run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", name, "-f", str(path)], timeout_s=KEYGEN_TIMEOUT_S)


def _write(path: Path, content: str, *, mode: int = 0o644) -> None:
    _make_folder(path.parent)
    write_whole(path, content, mode=mode)


def _make_folder(path: Path) -> None:
    """Folders of the layer lie over those of the image, so they must be as open, whatever the umask."""
    if not path.is_dir():
        _make_folder(path.parent)
        path.mkdir(exist_ok=True)
        path.chmod(0o755)
