"""What a run itself takes of the machine it judges on: its processes, Spark's JVM among them, and swap."""

from __future__ import annotations

from pathlib import Path

PROC = Path("/proc")
MIB = 1024


def own(pid: int, proc: Path = PROC) -> list[int]:
    """The process and all that it has started, and those theirs."""
    parents: dict[int, list[int]] = {}
    for stat in proc.glob("[0-9]*/stat"):
        try:
            parent = int(stat.read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()[1])
        except (OSError, ValueError, IndexError):
            continue  # it ended meanwhile
        parents.setdefault(parent, []).append(int(stat.parent.name))
    found, left = [], [pid]
    while left:
        found.append(left.pop())
        left += parents.get(found[-1], [])
    return found


def driver(pid: int, proc: Path = PROC) -> tuple[int, int]:
    """MiB: the most that each of them ever had in memory, together; and what lies in swap of them now."""
    peak = swapped = 0
    for one in own(pid, proc):
        try:
            lines = (proc / str(one) / "status").read_text(encoding="utf-8", errors="replace").splitlines()
        except OSError:
            continue
        facts = {name: value.split()[0] for name, _, value in (line.partition(":") for line in lines) if value.split()}
        peak += int(facts.get("VmHWM", 0))
        swapped += int(facts.get("VmSwap", 0))
    return peak // MIB, swapped // MIB
