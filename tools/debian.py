"""Debian packages of this machine."""

from __future__ import annotations

import os
import shutil

from common.errors import KastellanError
from common.run import run

APT_TIMEOUT_S = 900


def install(packages: list[str]) -> None:
    """Install what is missing; whoever calls has said what before."""
    if not packages:
        return
    resolution = f"Install {', '.join(packages)} by this machine's own means, then try again."
    if not shutil.which("apt-get"):
        raise KastellanError("This machine has no apt-get.", resolution=resolution)
    if os.geteuid() != 0:
        raise KastellanError("Packages can be installed by root only.", resolution=resolution)
    environ = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    run(["apt-get", "update", "-qq"], timeout_s=APT_TIMEOUT_S, env=environ, resolution=resolution)
    argv = ["apt-get", "install", "--yes", "-qq", "--no-install-recommends", *packages]
    run(argv, timeout_s=APT_TIMEOUT_S, env=environ, resolution=resolution)
