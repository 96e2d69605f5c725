"""Control groups: which processes are a host's, and how much memory they may take.

Groups are made below `kastellan/` of each hierarchy, by hand, so that this works whatever PID 1 is. On version 1 the
hierarchies are many: systemd-nspawn needs the one of systemd and the unified one, the memory limit needs its own.
"""

from __future__ import annotations

import contextlib
import os
import signal
from dataclasses import dataclass
from pathlib import Path

from common.errors import KastellanError
from common.wait import wait_until

ROOT_GROUP = "kastellan"
MOUNTS = Path("/proc/self/mountinfo")
END_TIMEOUT_S = 20


@dataclass(frozen=True)
class Hierarchies:
    """Mount points; None where this machine has none."""

    unified: Path | None
    systemd: Path | None
    memory: Path | None
    """The version 1 controller. On a machine with version 2 alone the unified hierarchy limits memory."""

    @property
    def all(self) -> list[Path]:
        return [path for path in (self.unified, self.systemd, self.memory) if path]

    @property
    def limits_memory(self) -> bool:
        return self.memory is not None or self._unified_memory()

    def _unified_memory(self) -> bool:
        controllers = self.unified / "cgroup.controllers" if self.unified else None
        return bool(controllers and "memory" in controllers.read_text(encoding="ascii").split())


def find_hierarchies() -> Hierarchies:
    unified = systemd = memory = None
    for line in MOUNTS.read_text(encoding="utf-8").splitlines():
        mount, _, source = line.partition(" - ")
        kind, _, options = source.split(" ", 2)
        point = Path(mount.split()[4])
        if kind == "cgroup2":
            unified = point
        elif kind == "cgroup" and "name=systemd" in options:
            systemd = point
        elif kind == "cgroup" and "memory" in options.split(" ")[-1].split(","):
            memory = point
    return Hierarchies(unified, systemd, memory)


class HostGroup:
    """The control group of one host, the same path in every hierarchy."""

    def __init__(self, stack_id: str, host: str) -> None:
        self._hierarchies = find_hierarchies()
        self.path = Path(ROOT_GROUP) / stack_id / host
        if not self._hierarchies.all:
            raise KastellanError(
                "This machine has no control groups mounted.",
                details="No cgroup or cgroup2 file system stands in /proc/self/mountinfo.",
                resolution="Mount one: mount -t cgroup2 none /sys/fs/cgroup.",
            )

    @property
    def folders(self) -> list[Path]:
        return [root / self.path for root in self._hierarchies.all]

    def make(self, *, memory_bytes: int) -> None:
        for folder in self.folders:
            folder.mkdir(parents=True, exist_ok=True)
        self.limit_memory(memory_bytes)

    def limit_memory(self, memory_bytes: int) -> bool:
        """Whether this machine can limit it."""
        if self._hierarchies.memory:
            limit = self._hierarchies.memory / self.path / "memory.limit_in_bytes"
        elif self._hierarchies.unified and self._hierarchies.limits_memory:
            limit = self._hierarchies.unified / self.path / "memory.max"
            for parent in reversed(self.path.parents):
                (self._hierarchies.unified / parent / "cgroup.subtree_control").write_text("+memory")
        else:
            return False
        try:
            limit.write_text(str(memory_bytes))
        except OSError as refusal:  # the kernel takes back what it can first: page cache
            raise KastellanError(
                f"The memory of {self.path.name} cannot be limited to {memory_bytes // 2**20} MiB.",
                details=f"Its processes use more than that: {refusal.strerror}.",
                resolution="Stop something on the host, or ask for more memory.",
            ) from None
        return True

    def processes(self) -> set[int]:
        """All processes of the host, as this machine counts them."""
        found: set[int] = set()
        for folder in self.folders:
            for group in _groups_below(folder):
                with contextlib.suppress(OSError):  # it may vanish while we look
                    found |= {int(pid) for pid in (group / "cgroup.procs").read_text(encoding="ascii").split()}
        return found

    def end(self) -> None:
        """Kill what is in the group, as pulling the plug does, and remove the group."""

        def all_gone() -> bool:
            pids = self.processes()
            for pid in pids:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            return not pids

        if not wait_until(all_gone, timeout_s=END_TIMEOUT_S):
            raise KastellanError(
                f"Processes of {self.path.name} do not end.",
                details=f"Still there: {sorted(self.processes())}.",
                resolution="A process in uninterruptible sleep waits for its disk: see `ps -o pid,stat,wchan`.",
            )
        self.remove()

    def remove(self) -> None:
        """The empty groups, and those above that no other host needs."""
        for root in self._hierarchies.all:
            folder = root / self.path
            for group in (*reversed(_groups_below(folder)), folder.parent, folder.parent.parent):
                _remove_group(group)


def _groups_below(folder: Path) -> list[Path]:
    """The group and all below it, from the top; os.walk does not mind that a host ends its services meanwhile."""
    return [Path(path) for path, _, _ in os.walk(folder)]


def _remove_group(folder: Path) -> None:
    with contextlib.suppress(OSError):  # not there, or still in use by another host
        folder.rmdir()
