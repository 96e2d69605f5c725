"""The point of view of a node: connections that begin on a host of the cluster, carried there by ssh.

Nothing is installed on hosts, and the same probes run from here and from there.
"""

from __future__ import annotations

import contextlib
import socket
import subprocess
from typing import TYPE_CHECKING

from common.errors import KastellanError
from common.ssh import ssh_argv
from common.wait import wait_until

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from validate.cluster import Host

OPEN_S = 20.0


class NoTunnel(KastellanError):
    """Whether the port answers there is not known."""

    exit_code = 2


class Tunnel:
    """One ssh connection to a host; each place beyond it is a socket file in a folder that is closed to others."""

    def __init__(self, host: Host, places: Sequence[tuple[str, int]], folder: Path) -> None:
        if host.login is None:
            raise NoTunnel(f"There is no ssh access to {host.name}.", resolution="Name it in cluster.json.")
        self.host = host
        self._files = {place: folder / f"{host.name}-{n}.sock" for n, place in enumerate(places)}
        options = ["-N", "-o", "ExitOnForwardFailure=yes", "-o", "StreamLocalBindMask=0177"]
        for (address, port), file in self._files.items():
            options += ["-L", f"{file}:{address}:{port}"]
        argv = ssh_argv(host.login)
        self._process = subprocess.Popen(
            [argv[0], *options, *argv[1:]], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL, start_new_session=True,
        )  # fmt: skip
        if not wait_until(self._settled, timeout_s=OPEN_S) or self._process.poll() is not None:
            self.close()
            raise NoTunnel(
                f"ssh to {host.name} carries no connections.",
                resolution="sshd needs AllowTcpForwarding local (its default), and the key must fit.",
            )

    def _settled(self) -> bool:
        return self._process.poll() is not None or all(file.exists() for file in self._files.values())

    def connect(self, place: tuple[str, int], timeout_s: float) -> socket.socket:
        made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        made.settimeout(timeout_s)
        try:
            made.connect(str(self._files[place]))
        except OSError:
            made.close()
            raise
        return made

    def close(self) -> None:
        self._process.terminate()
        try:
            self._process.wait(5)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait(5)
        for file in self._files.values():
            with contextlib.suppress(OSError):
                file.unlink()
