"""The base image that all hosts lie on: a Debian made once, cached, never written to afterwards."""

from __future__ import annotations

import hashlib
import os
import platform
import shutil
from pathlib import Path

from common.cache import cache_dir
from common.lock import locked
from common.run import run

SUITE = "bookworm"
PACKAGES = (
    # a machine that boots and is logged into
    "systemd", "systemd-sysv", "dbus", "openssh-server", "sudo", "iproute2", "nftables", "procps", "e2fsprogs",
    # what Ansible needs, and Kafka: hosts have no way to fetch anything themselves
    "python3", "python3-apt", "ca-certificates", "openjdk-17-jre-headless",
    # what people reach for when they look around
    "less", "nano", "netcat-openbsd", "iputils-ping",
)  # fmt: skip
_CUSTOMIZE = Path(__file__).with_name("customize.sh")
BUILD_TIMEOUT_S = 1200


def image_name() -> str:
    """Names what is in the image, so that a change here makes a new one and running hosts keep theirs."""
    recipe = "\n".join((SUITE, platform.machine(), *PACKAGES, _CUSTOMIZE.read_text(encoding="utf-8")))
    return f"{SUITE}-{hashlib.sha256(recipe.encode()).hexdigest()[:12]}"


def image_path() -> Path:
    return cache_dir() / "images" / image_name()


def ensure_image() -> Path:
    """The image's root folder; made if it is not there. Two callers at once make it once."""
    path = image_path()
    if path.is_dir():
        return path
    with locked(path.parent / f"{path.name}.lock") as lock:
        if not path.is_dir():
            _build(path, lock)
    return path


def _build(path: Path, lock: int) -> None:
    """Beside its place first: a folder under the image's name is always a whole image."""
    half = path.with_name(f"{path.name}.half")
    if half.exists():
        shutil.rmtree(half)
    # Namespaces of its own: what it mounts goes with it when it is killed, else the next removal of the half would
    # reach through its mounts. It holds the lock itself, so that nobody begins while it still works.
    argv = ["unshare", "--mount", "--propagation", "private", "--pid", "--fork", "--kill-child", "--mount-proc"]
    argv += ["mmdebstrap", "--quiet", "--variant=minbase", "--mode=root", f"--include={','.join(PACKAGES)}"]
    # Ends with its customize hook; apt verifies every package by Debian's signatures.
    argv += [f'--customize-hook={_CUSTOMIZE} "$1"', SUITE, str(half)]
    run(
        argv,
        timeout_s=BUILD_TIMEOUT_S,
        keep_open=(lock,),
        env={**os.environ, "LC_ALL": "C", "DEBIAN_FRONTEND": "noninteractive"},
        resolution="The base image is made from Debian's packages: check that `apt-get update` works, then try again.",
    )
    half.rename(path)
