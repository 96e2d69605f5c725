"""One host's folder and processes: start, look, end."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import subprocess
from datetime import UTC, datetime
from pathlib import Path

from common.errors import KastellanError
from common.lock import locked
from common.run import run
from common.wait import wait_until
from infra.providers.nspawn import registry
from infra.providers.nspawn.cgroup import HostGroup
from infra.providers.nspawn.devices import remove_device
from infra.providers.nspawn.image import ensure_image

SUPERVISOR = Path(__file__).with_name("supervise.sh")
# Two seconds on an idle machine; many hosts at once on two busy cores need longer.
BOOT_TIMEOUT_S = 120
ANSWER_TIMEOUT_S = 10
SSH_PORT = 22
# Longer than systemd gives a service to stop.
SHUT_DOWN_TIMEOUT_S = 120
LOG_LINES = 12


class Machine:
    """The files and processes of a host. Nothing here knows of Pulumi."""

    def __init__(self, state_dir: str, stack_id: str, name: str, address: str) -> None:
        self.name = name
        self.address = address
        self.folder = Path(state_dir) / "machines" / name
        self.group = HostGroup(stack_id, name)
        self.device = registry.device_of(stack_id, address)
        self._nspawn_name = registry.machine_name(stack_id, address)

    @property
    def disk(self) -> Path:
        return self.folder / "data.img"

    @property
    def _grave(self) -> Path:
        return self.folder.with_name(f"{self.name}.gone")

    @property
    def upper(self) -> Path:
        return self.folder / "upper"

    def lock(self) -> contextlib.AbstractContextManager[int]:
        """One at a time: a Pulumi that was killed may leave a provider at work on the same host."""
        return locked(self.folder.with_name(f"{self.name}.lock"))

    def prepare(self) -> None:
        """A folder to work in, and no processes but those that work in it."""
        shutil.rmtree(self._grave, ignore_errors=True)
        self.folder.mkdir(exist_ok=True)
        for name in ("upper", "work", "root", "data"):
            (self.folder / name).mkdir(exist_ok=True)
        self.upper.chmod(0o755)  # it is the host's root folder
        lower = self.folder / "lower"
        if not lower.exists():  # a host stays on the image it was made from
            lower.unlink(missing_ok=True)
            lower.symlink_to(ensure_image())
        if self.runs() and not self._runs_here():
            self.step("end of a host whose folder was removed")
            self.end()

    def _runs_here(self) -> bool:
        """Whether the supervisor works in this very folder, not in one of the same name that was removed."""
        here = self.folder.stat()
        for pid in self.group.processes():
            if _name_of(pid) == "unshare":
                with contextlib.suppress(OSError):
                    there = Path(f"/proc/{pid}/cwd").stat()
                    return (there.st_dev, there.st_ino) == (here.st_dev, here.st_ino)
        return False

    def step(self, name: str) -> None:
        """A note of what is being done, for people and for tests that interrupt it just then."""
        with (self.folder / "steps").open("a", encoding="ascii") as notes:
            notes.write(f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%S.%fZ} {name}\n")

    def runs(self) -> bool:
        return bool(self.group.processes())

    def start(self, *, bridge: str, data_path: str, memory_bytes: int, shared_path: str = "") -> None:
        """Start it if it does not run. The supervisor outlives this process and its terminal."""
        if self.runs():
            return
        remove_device(self.device)
        self.group.make(memory_bytes=memory_bytes)
        if shared_path:
            Path(shared_path).mkdir(exist_ok=True)
        places = [bridge, data_path, shared_path]
        argv = [str(SUPERVISOR), "outer", self._nspawn_name, *places, *map(str, self.group.folders)]
        with (self.folder / "console.log").open("ab") as log:
            supervisor = subprocess.Popen(
                argv, cwd=self.folder, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
            )
        # Until it has joined its group, `runs` does not see it and a second start would race with it.
        joined = wait_until(lambda: self.runs() or supervisor.poll() is not None, timeout_s=ANSWER_TIMEOUT_S)
        if not joined or not self.runs():
            raise self._failed("did not start")

    def wait_for_login(self) -> None:
        up = wait_until(lambda: answers(self.address) or not self.runs(), timeout_s=BOOT_TIMEOUT_S)
        if not up or not self.runs():
            raise self._failed("does not come up")

    def check_host_key(self, expected: str) -> None:
        """What answers at the address must be this host: its key was made by us, before it booted."""
        seen = run(
            ["ssh-keyscan", "-T", str(ANSWER_TIMEOUT_S), "-t", "ed25519", self.address], timeout_s=2 * ANSWER_TIMEOUT_S
        )
        keys = {" ".join(line.split()[1:3]) for line in seen.splitlines() if not line.startswith("#")}
        if keys != {expected}:
            raise KastellanError(
                f"{self.address} answers with another host key than {self.name} was given.",
                details=f"Expected {expected}, seen: {', '.join(sorted(keys)) or 'none'}.",
                resolution="Something else has this address: look at `ip neighbour show` and `ip route get`.",
            )

    def shut_down(self) -> None:
        """In order, as by its power button; by force if that takes too long."""
        for pid in self.group.processes():
            if _name_of(pid) == "systemd-nspawn":
                os.kill(pid, signal.SIGTERM)
        wait_until(lambda: not self.runs(), timeout_s=SHUT_DOWN_TIMEOUT_S)
        self.end()

    def end(self) -> None:
        self.group.end()
        remove_device(self.device)  # killed between making its wire and moving it in, a host leaves it outside

    def remove(self) -> None:
        """Moved away first: an interrupted removal must not look like a host with a disk and no keys."""
        self.end()
        shutil.rmtree(self._grave, ignore_errors=True)
        if self.folder.exists():
            self.folder.rename(self._grave)
            shutil.rmtree(self._grave)
        self.folder.with_name(f"{self.name}.lock").unlink(missing_ok=True)

    def namespace_process(self) -> int:
        """The process that begins the host's own process and mount namespaces: the child of its supervisor."""
        supervisor = int((self.folder / "pid").read_text(encoding="ascii"))
        children = [pid for pid in self.group.processes() if _parent_of(pid) == supervisor]
        if not children:
            raise self._failed("has no supervisor")
        return children[0]

    def mounted_root(self) -> Path:
        """The host's root folder as its supervisor sees it: the only place to write while it runs."""
        return Path(f"/proc/{self.namespace_process()}/root") / str(self.folder / "root").lstrip("/")

    def _failed(self, what: str) -> KastellanError:
        log = self.folder / "console.log"
        words = log.read_text(encoding="utf-8", errors="replace").splitlines()[-LOG_LINES:] if log.exists() else []
        return KastellanError(
            f"Host {self.name} {what}.", details="\n".join(words), resolution=f"Its console is in {log}."
        )


def answers(address: str) -> bool:
    """Whether the login service greets. A connection alone may be made by a kernel whose host is still booting."""
    try:
        with socket.create_connection((address, SSH_PORT), timeout=1) as connection:
            connection.settimeout(1)
            return connection.recv(4) == b"SSH-"
    except OSError:
        return False


def _name_of(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/comm").read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return ""


def _parent_of(pid: int) -> int | None:
    try:
        # The name before it stands in brackets and may hold anything.
        return int(
            Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()[1]
        )
    except OSError:
        return None
