"""What stacks left on this machine that nothing uses any more: found by our records, never by the look of a name.

Standard library only: `doctor` runs where nothing is prepared.
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from common.run import run
from infra.providers.nspawn import registry
from infra.providers.nspawn.cgroup import HostGroup
from infra.providers.nspawn.devices import device_exists, remove_device
from infra.providers.nspawn.machine import Machine

if TYPE_CHECKING:
    from collections.abc import Collection

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
    hosts: tuple[str, ...]
    """Whose processes and wires are to go: all, or those whose folders are gone."""
    stopped: bool
    """Nothing of the stack runs any more, so its bridge, mounts and loop devices go as well."""
    whole: bool
    """Whether the stack itself is gone, so that its record goes too; a stopped stack keeps its address range."""


def find() -> list[Leftover]:
    return [leftover for record in registry.records() if (leftover := _of(record)) is not None]


def clean(leftover: Leftover) -> None:
    """Only what belongs to the record; files of a stack that may be started again are not touched."""
    record = leftover.record
    with contextlib.ExitStack() as held:
        for host, address in record.hosts.items():  # none is started meanwhile
            machine = Machine(record.state_dir, record.stack_id, host, address)
            if machine.folder.parent.is_dir():
                held.enter_context(machine.lock())
        held.enter_context(registry.machine_lock())  # and no network is made
        if _of(record) is None:
            return  # it came up since it was found
        for host in leftover.hosts:
            HostGroup(record.stack_id, host).end()
            remove_device(registry.device_of(record.stack_id, record.hosts[host]))
        if leftover.stopped:
            _release(record)
        if leftover.whole:
            registry.forget(record.stack_id)


def remove_stack(record: StackRecord) -> None:
    """All of a stack, hosts with their disks: for one that is taken down."""
    for host, address in record.hosts.items():
        machine = Machine(record.state_dir, record.stack_id, host, address)
        if machine.folder.parent.is_dir():
            with machine.lock():
                machine.remove()
        else:
            machine.end()
    with registry.machine_lock():
        _release(record)
        registry.forget(record.stack_id)


def remove_strays(state_dir: str, known: Collection[str]) -> list[str]:
    """Hosts in a stack's record that Pulumi does not know: it was killed while they were made, then asked for fewer."""
    record = registry.record_of(registry.stack_id_for(state_dir))
    strays = [host for host in record.hosts if host not in known] if record else []
    for host in strays:
        assert record is not None  # noqa: S101 - for the type checker: there are strays of a record only
        machine = Machine(state_dir, record.stack_id, host, record.hosts[host])
        with machine.lock():
            machine.remove()
            registry.remove_host(record.stack_id, host)
    return strays


def _release(record: StackRecord) -> None:
    for mount in _mounts(record):
        run(["umount", "--lazy", mount], timeout_s=UNMOUNT_TIMEOUT_S)
    for loop in _loops(record):
        run(["losetup", "--detach", loop], timeout_s=UNMOUNT_TIMEOUT_S)
    for device in _devices(record):
        remove_device(device)


def _of(record: StackRecord) -> Leftover | None:
    state = Path(record.state_dir)
    gone = not state.is_dir()
    running = {host: HostGroup(record.stack_id, host).processes() for host in record.hosts}
    lost = [host for host, pids in running.items() if pids and not (state / "machines" / host).is_dir()]
    stopped = not any(running.values())
    if gone:
        reason = f"its checkout is gone: there is no {state}"
    elif lost:
        reason = f"the folders of {', '.join(lost)} are gone"
    elif stopped and record.hosts:
        reason = "none of its hosts runs"
    else:
        return None
    ending = tuple(running) if gone or stopped else tuple(lost)
    things = [f"{len(running[host])} processes of {host}" for host in ending if running[host]]
    if gone or stopped:
        things += [f"network device {device}" for device in _devices(record)]
        things += [f"loop device {loop}" for loop in _loops(record)] + [f"mount {mount}" for mount in _mounts(record)]
    things += [f"record of the address range {record.subnet}"] if gone else []
    return Leftover(record, reason, tuple(things), ending, stopped=gone or stopped, whole=gone) if things else None


def _devices(record: StackRecord) -> list[str]:
    wires = [registry.device_of(record.stack_id, address) for address in record.hosts.values()]
    return [device for device in (*wires, record.bridge) if device_exists(device)]


def _loops(record: StackRecord) -> list[str]:
    found = []
    for backing in LOOPS.glob("loop*/loop/backing_file"):
        try:
            file = backing.read_text(encoding="utf-8", errors="replace").strip().removesuffix(" (deleted)")
        except OSError:
            continue  # released since it was listed
        if file.startswith(f"{record.state_dir}/machines/"):
            found.append(f"/dev/{backing.parent.parent.name}")
    return sorted(found)


def _mounts(record: StackRecord) -> list[str]:
    """Deepest first, so that each can be unmounted in turn. The kernel writes blanks in paths as \\040."""
    points = [line.split()[4].replace("\\040", " ") for line in MOUNTS.read_text(encoding="utf-8").splitlines()]
    return sorted((point for point in points if point.startswith(f"{record.state_dir}/machines/")), reverse=True)
