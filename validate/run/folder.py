"""The run folder: where everything of a run lies, and run.json, rewritten whole whenever something is known."""

from __future__ import annotations

import contextlib
import json
import os
import platform
import stat
import threading
import tomllib
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from common.files import write_whole
from validate.aloud import aloud
from validate.faults.ledger import iso, now

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from validate.cluster import Cluster
    from validate.scenario import Scenario

ROOT = Path(__file__).resolve().parents[2]
SHARED = ("ledger", "findings")  # what Spark's executors read and write
NOT_APPLICABLE = "not-applicable"
# Of security checks alone: failed, with a reason why it may.
WAIVED = "waived"
ORDER = (NOT_APPLICABLE, "passed", "unknown", "failed")


def worst(verdicts: list[str]) -> str:
    """failed, then unknown, then passed; what does not apply says nothing."""
    return max(verdicts, key=ORDER.index, default="unknown")


def _make_for_group(folder: Path) -> None:
    """Executors are another user, of the group that the shared folder hands down."""
    folder.mkdir(parents=True, exist_ok=True)
    folder.chmod(stat.S_IMODE(folder.stat().st_mode) | 0o775)


@dataclass
class Phase:
    name: str
    began_at: str
    ended_at: str
    acked_per_partition: dict[str, int]


@dataclass
class Entry:
    """One scenario in run.json."""

    id: str
    title: str
    teaches: str
    suites: list[str]
    explanation: str
    reproduce: str
    bounds: dict[str, Any]
    verdict: str | None = None
    reasons: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    configured: dict[str, Any] = field(default_factory=dict)
    started_at: str | None = None
    ended_at: str | None = None
    phases: list[Phase] = field(default_factory=list)
    unhealed: bool = False
    """Whether the cluster did not come back after it."""

    def settle(self, verdict: str, reason: str = "") -> None:
        """A worse verdict replaces a better one, never the other way round."""
        self.verdict = verdict if self.verdict is None else worst([self.verdict, verdict])
        if reason and reason not in self.reasons:
            self.reasons.append(reason)


class RunFolder:
    def __init__(
        self,
        path: Path,
        *,
        run_id: str,
        seed: int,
        suite: str | None,
        command: list[str],
        shared: Path | None = None,
        clock: Callable[[], datetime] = now,
    ) -> None:
        """`shared`: a folder that Spark's executors see as well; what they read and write lies there.
        `clock`: the run's own, which does not jump with the wall's."""
        self._clock = clock
        self.path, self.run_id, self.seed = path, run_id, seed
        self._shared = None if shared is None else shared.absolute() / run_id
        self.entries: list[Entry] = []
        self.checks: list[dict[str, Any]] = []
        """The security checks, each as validate.security.run tells it."""
        self._head: dict[str, Any] = {
            "run_id": run_id,
            "seed": seed,
            "suite": suite,
            "started_at": iso(self._clock()),
            "ended_at": None,
            "kastellan": _own_version(),
            "command": command,
            "reasons": [],
        }
        path.mkdir(parents=True)
        if self._shared is not None:
            _make_for_group(self._shared)
            for kind in SHARED:
                _make_for_group(self._shared / kind)
                (path / kind).symlink_to(self._shared / kind)
        self._lock = threading.Lock()
        self._log = (path / "run.log").open("a", encoding="utf-8")

    def describe(self, cluster: Cluster) -> None:
        self._head["cluster"] = {
            "stack": cluster.stack,
            "mode": cluster.mode,
            "kafka_version": cluster.kafka_version,
            "cluster_id": cluster.cluster_id,
            "brokers": len(cluster.brokers),
            "voters": len(cluster.voters),
            "service": cluster.service,
            "data_dirs": list(cluster.data_dirs),
            "hosts": [
                {"name": h.name, "address": h.address, "node_id": h.node_id, "roles": list(h.roles), "rack": h.rack}
                for h in cluster.hosts
            ],
        }
        self._head["machine"] = _machine()

    def enter(self, scenario: Scenario, reproduce: str) -> Entry:
        entry = Entry(
            scenario.id, scenario.title, scenario.teaches.strip(), list(scenario.suites), scenario.explanation,
            reproduce, {**scenario.bounds, **{f"least_{key}": value for key, value in scenario.progress.items()}},
        )  # fmt: skip
        self.entries.append(entry)
        return entry

    def folder(self, kind: str, scenario: str = "") -> Path:
        made = self.place(kind, scenario)
        if self._shared is not None and kind in SHARED:
            _make_for_group(made)
        else:
            made.mkdir(parents=True, exist_ok=True)
        return made

    def place(self, kind: str, scenario: str = "") -> Path:
        """As the executors know it, where it is shared."""
        if self._shared is not None and kind in SHARED:
            return self._shared / kind / scenario
        return (self.path / kind).resolve() / scenario

    def say(self, text: str, *, quiet: bool = False) -> None:
        """To run.log with its time, and to the terminal unless it is detail.

        A full disk, a closed terminal or a reader that went away stops neither a run nor, least of all, a healing.
        """
        with self._lock, contextlib.suppress(OSError):
            self._log.write(f"{iso(self._clock())} {text}\n")
            self._log.flush()
        if not quiet:
            aloud(text)

    def save(self, *, ended: bool = False, reason: str = "") -> None:
        if ended:
            self._head["ended_at"] = iso(self._clock())
        if reason:
            self._head["reasons"].append(reason)
        content = {**self._head, "scenarios": [asdict(entry) for entry in self.entries], "security": self.checks}
        write_whole(self.path / "run.json", json.dumps(content, indent=1) + "\n")

    @property
    def verdict(self) -> str:
        """Of the whole run; a run in which nothing applied has shown nothing."""
        told = [entry.verdict or "unknown" for entry in self.entries] + [check["verdict"] for check in self.checks]
        found = [verdict for verdict in told if verdict not in {NOT_APPLICABLE, WAIVED}]
        return worst(found) if found else "unknown"


def _own_version() -> str:
    with (ROOT / "pyproject.toml").open("rb") as file:
        return str(tomllib.load(file)["project"]["version"])


def _machine() -> dict[str, Any]:
    import confluent_kafka  # noqa: PLC0415
    import pyspark  # noqa: PLC0415

    return {
        "cores": os.cpu_count(),
        "memory_bytes": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        "kernel": platform.release(),
        "python": platform.python_version(),
        "spark": pyspark.__version__,
        "librdkafka": confluent_kafka.libversion()[0],
    }
