"""Ratios of two ways to do the same, measured in turn within one run: the machine is shared and noisy."""

from __future__ import annotations

import json
import platform
import statistics
import time
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

RESULTS = Path(__file__).resolve().parents[2] / ".kastellan" / "bench"
PAIRS = 5


@dataclass(frozen=True)
class Ratio:
    name: str
    ours_s: list[float]
    other_s: list[float]
    ratio: float
    goal: float
    unit: str = "s"

    @property
    def reached(self) -> bool:
        return self.ratio <= self.goal


def timed(work: Callable[[], object]) -> float:
    began_s = time.monotonic()
    work()
    return time.monotonic() - began_s


def compare(
    name: str, *, ours: Callable[[], float], other: Callable[[], float], goal: float, pairs: int = PAIRS
) -> Ratio:
    """Each callable does its work once and says how long the measured part took; the ratio is that of the medians."""
    mine, theirs = [], []
    for _ in range(pairs):
        mine.append(ours())
        theirs.append(other())
    result = Ratio(name, mine, theirs, statistics.median(mine) / statistics.median(theirs), goal)
    show(result)
    return result


def show(result: Ratio) -> None:
    mark = "ok " if result.reached else "OVER"
    mine, theirs = (
        f"{statistics.median(times):.2f} {result.unit} [{min(times):.2f}..{max(times):.2f}]"
        for times in (result.ours_s, result.other_s)
    )
    print(f"{mark} {result.name}: {result.ratio:.2f} (goal {result.goal}); ours {mine}, other {theirs}", flush=True)


def write(name: str, results: list[Ratio]) -> int:
    """One JSON file a benchmark; the exit code says whether all goals were reached."""
    RESULTS.mkdir(parents=True, exist_ok=True)
    facts = {"date": f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}", "kernel": platform.release(), "cores": _cores()}
    content = {**facts, "ratios": [asdict(result) for result in results]}
    (RESULTS / f"{name}.json").write_text(json.dumps(content, indent=1), encoding="utf-8")
    print(f"Written: {RESULTS / name}.json")
    return 0 if all(result.reached for result in results) else 1


def _cores() -> int:
    return Path("/proc/cpuinfo").read_text(encoding="utf-8").count("processor\t")
