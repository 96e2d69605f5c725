"""What stacks left on this machine that nothing uses any more: found by our records, never by the look of a name.

Standard library only: `doctor` runs where nothing is prepared.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from common.run import run
from infra.providers.nspawn import registry
from infra.providers.nspawn.cgroup import HostGroup
from infra.providers.nspawn.network import DEVICES, remove_device

if TYPE_CHECKING:
    from infra.providers.nspawn.registry import StackRecord

LOOPS = Path("/sys/block")
MOUNTS = Path("/proc/self/mountinfo")
UNMOUNT_TIMEOUT_S = 30


@dataclass(frozen=True)
class Leftover:
    record: StackRecord
    reason: str
    things: tuple[str, ...]
    """What of it is still on this machine, as people would name it."""
    whole: bool
    """Whether the stack itself is gone, so that its record goes too; a stopped stack keeps its address range."""


def find() -> list[Leftover]:
    return [leftover for record in registry.records() if (leftover := _of(record)) is not None]


def clean(leftover: Leftover) -> None:
    """Only what belongs to the record; files of a stack that may be started again are not touched."""
    record = leftover.record
    for host in record.hosts:
        HostGroup(record.stack_id, host).end()
    for mount in _mounts(record):
        run(["umount", "--lazy", mount], timeout_s=UNMOUNT_TIMEOUT_S)
    for loop in _loops(record):
        run(["losetup", "--detach", loop], timeout_s=UNMOUNT_TIMEOUT_S)
    for device in _devices(record):
        remove_device(device)
    if leftover.whole:
        with registry.machine_lock():
            registry.forget(record.stack_id)


def _of(record: StackRecord) -> Leftover | None:
    gone = not Path(record.state_dir).is_dir()
    lost = [host for host in record.hosts if not (Path(record.state_dir) / "machines" / host).is_dir()]
    running = {host: HostGroup(record.stack_id, host).processes() for host in record.hosts}
    if gone:
        reason = f"its checkout is gone: there is no {record.state_dir}"
    elif any(running[host] for host in lost):
        reason = f"the folders of {', '.join(host for host in lost if running[host])} are gone"
    elif any(running.values()):
        return None
    else:
        reason = "none of its hosts runs"
    things = [f"{len(pids)} processes of {host}" for host, pids in running.items() if pids]
    things += [f"network device {device}" for device in _devices(record)]
    things += [f"loop device {loop}" for loop in _loops(record)] + [f"mount {mount}" for mount in _mounts(record)]
    things += [f"record of the address range {record.subnet}"] if gone else []
    return Leftover(record, reason, tuple(things), whole=gone) if things else None


def _devices(record: StackRecord) -> list[str]:
    return [device for device in (record.bridge, *record.hosts.values()) if (DEVICES / device).exists()]


def _loops(record: StackRecord) -> list[str]:
    found = []
    for backing in LOOPS.glob("loop*/loop/backing_file"):
        file = backing.read_text(encoding="utf-8", errors="replace").strip().removesuffix(" (deleted)")
        if file.startswith(f"{record.state_dir}/machines/"):
            found.append(f"/dev/{backing.parent.parent.name}")
    return sorted(found)


def _mounts(record: StackRecord) -> list[str]:
    """Deepest first, so that each can be unmounted in turn. The kernel writes blanks in paths as \\040."""
    points = [line.split()[4].replace("\\040", " ") for line in MOUNTS.read_text(encoding="utf-8").splitlines()]
    return sorted((point for point in points if point.startswith(f"{record.state_dir}/machines/")), reverse=True)
