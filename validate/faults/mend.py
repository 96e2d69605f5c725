"""What a run that died left broken: by the record on this machine, and by the marks on the hosts."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from common.errors import KastellanError
from validate.faults.inject import Field, answers, heal_one
from validate.faults.kinds import KINDS, MARKS
from validate.faults.ledger import FaultLedger
from validate.faults.record import OpenFault, Record
from validate.faults.shell import Shell, over_ssh

if TYPE_CHECKING:
    from collections.abc import Callable

    from validate.cluster import Cluster, Host

LOOK = f"ls -1 {MARKS} 2>/dev/null | grep -v '[.]' || true\n"
LOOK_BOUND_S = 30.0


def mend(
    cluster: Cluster, *, shell: Shell = over_ssh, port_answers: Callable[[Host, int], bool] = answers
) -> tuple[list[str], list[KastellanError]]:
    """Heal all that is open; returns what was done, and what could not be."""
    record = Record(cluster.state_dir)
    place = Field(cluster, FaultLedger(cluster.state_dir), record, shell, port_answers)
    done: list[str] = []
    failed: list[KastellanError] = []
    known = {host.name for host in cluster.hosts}
    for entry in record.all():
        if entry.host not in known:
            record.close(entry)
            done.append(f"{entry.fault} {entry.host}: the host is not of this cluster any more, forgotten")
            continue
        _mend_one(place, entry, done, failed)
    for host in cluster.hosts:
        if host.login is not None:
            for entry in _marked(host, shell, failed):
                _mend_one(place, entry, done, failed)
    return done, failed


def _marked(host: Host, shell: Shell, failed: list[KastellanError]) -> list[OpenFault]:
    try:
        seen = shell(host, LOOK, timeout_s=LOOK_BOUND_S).split()
    except KastellanError as error:
        failed.append(error)
        return []
    return [OpenFault(name, host.name) for name in seen if name in KINDS]


def _mend_one(place: Field, entry: OpenFault, done: list[str], failed: list[KastellanError]) -> None:
    folder = Path(entry.ledger) if entry.ledger else None
    waits = folder is not None and folder.is_dir()
    mine = replace(place, ledger=FaultLedger(folder)) if folder and waits else place
    try:
        seen = heal_one(mine, entry, begun=waits)
    except KastellanError as error:
        failed.append(error)
    else:
        done.append(f"{entry.fault} {entry.host}: {seen}")
