"""What this machine knows of the stacks on it, whatever becomes of their checkouts.

A record is written before anything is made, so leftovers are recognised by it and never by the look of a name.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from common.errors import KastellanError
from common.files import write_whole
from common.lock import locked

MACHINE_DIR = Path("/var/lib/kastellan")
VERSION = 1


@dataclass(frozen=True)
class StackRecord:
    stack_id: str
    stack: str
    state_dir: str
    bridge: str
    subnet: str
    hosts: dict[str, str] = field(default_factory=dict)
    """Host -> its address."""
    version: int = VERSION


def stack_id_for(state_dir: str) -> str:
    """Short, because names of network devices are; from the folder, so two checkouts never meet."""
    return hashlib.sha256(state_dir.encode()).hexdigest()[:8]


def machine_lock(folder: Path = MACHINE_DIR) -> contextlib.AbstractContextManager[int]:
    """Held while the machine's networks or records are looked at and changed."""
    return locked(folder / "lock")


def records(folder: Path = MACHINE_DIR) -> list[StackRecord]:
    return [_read(path) for path in sorted((folder / "stacks").glob("*.json"))]


def record_of(stack_id: str, folder: Path = MACHINE_DIR) -> StackRecord | None:
    path = _path(stack_id, folder)
    return _read(path) if path.exists() else None


def write(record: StackRecord, folder: Path = MACHINE_DIR) -> None:
    path = _path(record.stack_id, folder)
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    write_whole(path, json.dumps(asdict(record), indent=1), mode=0o600)


def forget(stack_id: str, folder: Path = MACHINE_DIR) -> None:
    """The last record takes the folder with it: `down` leaves nothing behind."""
    _path(stack_id, folder).unlink(missing_ok=True)
    if not any((folder / "stacks").glob("*.json")):
        with contextlib.suppress(OSError):
            (folder / "stacks").rmdir()
            (folder / "lock").unlink()
            folder.rmdir()


def device_of(stack_id: str, address: str) -> str:
    """The machine's end of a host's wire. systemd-nspawn names it `vb-` and the machine's name; 15 letters at most."""
    return f"vb-{machine_name(stack_id, address)}"


def machine_name(stack_id: str, address: str) -> str:
    return f"{stack_id}-{address.rpartition('.')[2]}"


def add_host(stack_id: str, host: str, address: str, folder: Path = MACHINE_DIR) -> None:
    with machine_lock(folder):
        record = record_of(stack_id, folder)
        if record is None:
            raise KastellanError(
                f"The stack of {host} has no network on this machine.",
                details=f"No record {_path(stack_id, folder)}.",
                resolution="Let Pulumi look and make it again: pulumi up --refresh.",
            )
        if record.hosts.get(host) != address:
            write(replace(record, hosts={**record.hosts, host: address}), folder)


def remove_host(stack_id: str, host: str, folder: Path = MACHINE_DIR) -> None:
    with machine_lock(folder):
        record = record_of(stack_id, folder)
        if record and host in record.hosts:
            write(replace(record, hosts={name: kept for name, kept in record.hosts.items() if name != host}), folder)


def _path(stack_id: str, folder: Path) -> Path:
    return folder / "stacks" / f"{stack_id}.json"


def _read(path: Path) -> StackRecord:
    content = json.loads(path.read_text(encoding="utf-8"))
    if content.get("version") != VERSION:
        raise KastellanError(
            f"{path} was written by another version of Kastellan.",
            details=f"It has version {content.get('version')}, this is {VERSION}.",
            resolution="Take the stack down with the version that made it, or remove the file if nothing of it runs.",
        )
    return StackRecord(**content)
