"""Watches who leads and who is in sync, and writes down every change."""

from __future__ import annotations

import json
import threading
from typing import TYPE_CHECKING, Self

from common.errors import KastellanError
from validate.admin import Admin
from validate.faults.ledger import iso

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import datetime
    from pathlib import Path

    from validate.cluster import Cluster

EVERY_S = 0.5
ANSWER_S = 3.0
ISR_FILE = "isr.jsonl"


class IsrWatcher:
    """Begins with the state of every partition, so that a shrink can be told from one that was never whole."""

    def __init__(self, cluster: Cluster, topics: Sequence[str], ledger: Path, clock: Callable[[], datetime]) -> None:
        self._admin, self._topics, self._clock = Admin(cluster), list(topics), clock
        self._path = ledger / ISR_FILE
        self._stop = threading.Event()
        self._seen: dict[str, tuple[int, tuple[int, ...], tuple[int, ...]]] = {}
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> Self:
        self._look()
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join(ANSWER_S + EVERY_S + 1)

    def _watch(self) -> None:
        while not self._stop.wait(EVERY_S):
            self._look()

    def _look(self) -> None:
        try:
            found = self._admin.partitions(self._topics, timeout_s=ANSWER_S)
        except KastellanError:
            return  # nobody answers: that shows in the probes, not here
        lines = []
        for p in found:
            state = (p.leader, p.replicas, tuple(sorted(p.in_sync)))
            if self._seen.get(p.name) != state:
                self._seen[p.name] = state
                row = {
                    "at": iso(self._clock()), "topic": p.topic, "partition": p.index, "leader": p.leader,
                    "replicas": list(p.replicas), "isr": list(p.in_sync),
                }  # fmt: skip
                lines.append(json.dumps(row))
        if lines:
            with self._path.open("a", encoding="utf-8") as file:
                file.write("\n".join(lines) + "\n")
