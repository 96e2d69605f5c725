"""A cluster that needs no cluster: its description, partitions as they might be, and a shell that only remembers."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from validate.admin import Partition
from validate.cluster import Cluster, load
from validate.faults.errors import FaultError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from validate.cluster import Host

GOOD: dict[str, Any] = json.loads(Path(__file__).with_name("cluster.json").read_text(encoding="utf-8"))


def described(folder: Path, brokers: int = 4, **changes: Any) -> Path:
    content = {**GOOD, "hosts": [dict(GOOD["hosts"][n]) for n in range(brokers)], **changes}
    path = folder / "cluster.json"
    path.write_text(json.dumps(content), encoding="utf-8")
    return path


def cluster(folder: Path, brokers: int = 4, **changes: Any) -> Cluster:
    return load(described(folder, brokers, **changes))


def partitions(shapes: dict[str, tuple[int, int, int]], brokers: int) -> list[Partition]:
    """topic -> partitions, replication, min.insync.replicas; replicas dealt in turn, all in sync."""
    found = []
    for topic, (count, replication, least) in shapes.items():
        for index in range(count):
            replicas = tuple((index + step) % brokers + 1 for step in range(replication))
            found.append(Partition(topic, index, replicas[0], replicas, replicas, least))
    return found


@dataclass
class Remembering:
    """In place of ssh. `refuse` holds pieces of scripts that fail."""

    scripts: list[tuple[str, str]] = field(default_factory=list)
    refuse: Sequence[str] = ()

    def __call__(self, host: Host, script: str, *, timeout_s: float) -> str:
        assert timeout_s > 0
        self.scripts.append((host.name, script))
        if any(piece in script for piece in self.refuse):
            raise FaultError(f"{host.name}: refused")
        return "seen"
