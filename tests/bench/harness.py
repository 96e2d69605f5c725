"""Ratios of two ways to do the same, measured in turn within one run: the machine is shared and noisy."""

from __future__ import annotations

import json
import platform
import re
import statistics
import subprocess
import time
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

RESULTS = Path(__file__).resolve().parents[2] / ".kastellan" / "bench"
PAIRS = 5


@dataclass(frozen=True)
class Ratio:
    name: str
    ours_s: list[float]
    other_s: list[float]
    ratio: float
    goal: float | None
    """None: told for comparison, and nobody is held to it."""
    unit: str = "s"

    @property
    def reached(self) -> bool:
        return self.goal is None or self.ratio <= self.goal


def timed(work: Callable[[], object]) -> float:
    began_s = time.monotonic()
    work()
    return time.monotonic() - began_s


def compare(
    name: str, *, ours: Callable[[], float], other: Callable[[], float], goal: float | None, pairs: int = PAIRS
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
    mine, theirs = (spread(times, result.unit) for times in (result.ours_s, result.other_s))
    goal = "no goal" if result.goal is None else f"goal {result.goal}"
    print(f"{mark} {result.name}: {result.ratio:.2f} ({goal}); ours {mine}, other {theirs}", flush=True)


def spread(times: list[float], unit: str) -> str:
    return f"{statistics.median(times):.2f} {unit} [{min(times):.2f}..{max(times):.2f}]"


def table(results: list[Ratio], count: int) -> str:
    """For the documents: speeds instead of seconds, of `count` things in each run, with the slowest and the quickest."""
    lines = ["| what | ours, records/s | other, records/s | ours \u00f7 other | goal |", "|---|---|---|---|---|"]
    for one in results:
        ours, other = (
            f"{count / statistics.median(times):,.0f} [{count / max(times):,.0f}..{count / min(times):,.0f}]"
            for times in (one.ours_s, one.other_s)
        )
        goal = f"\u2265 {1 / one.goal:.2f}, {'reached' if one.reached else 'missed'}" if one.goal else "none"
        lines.append(f"| {one.name} | {ours} | {other} | {1 / one.ratio:.2f} | {goal} |")
    lines.append(
        f"\n{count:,} records, medians of {len(results[0].ours_s)} pairs in turn [slowest..quickest]; {taken(machine())}."
    )
    return "\n".join(lines)


def taken(facts: dict[str, Any]) -> str:
    """When, and on what."""
    return (
        f"{facts['date'][:10]}, {facts['cores']} cores ({facts['cpu']}), {facts['memory_mib']:,} MiB, "
        f"kernel {facts['kernel']}, Java {facts['java']}"
    )


def machine() -> dict[str, Any]:
    """What a figure is worth nothing without."""
    return {
        "date": f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}",
        "kernel": platform.release(),
        "cores": _cores(),
        "cpu": _first("/proc/cpuinfo", "model name", "unknown"),
        "memory_mib": int(_first("/proc/meminfo", "MemTotal", "0 kB").split()[0]) // 1024,
        "python": platform.python_version(),
        "java": _java(),
    }


def _first(file: str, name: str, otherwise: str) -> str:
    lines = Path(file).read_text(encoding="utf-8").splitlines()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith(name)), otherwise)


def _java() -> str:
    try:
        done = subprocess.run(["java", "-version"], capture_output=True, text=True, timeout=60, check=False)
    except OSError:
        return "none"
    words = re.findall(r'"([^"]+)"', done.stderr)
    return words[0] if words else "unknown"


def write(name: str, results: list[Ratio]) -> int:
    """One JSON file a benchmark; the exit code says whether all goals were reached. Figures that are there are replaced
    by others, never by none.
    """
    if not results:
        print(f"Nothing was measured: {RESULTS / name}.json stays as it is.")
        return 1
    RESULTS.mkdir(parents=True, exist_ok=True)
    facts = machine()
    content = {**facts, "ratios": [asdict(result) for result in results]}
    (RESULTS / f"{name}.json").write_text(json.dumps(content, indent=1), encoding="utf-8")
    print(f"Written: {RESULTS / name}.json")
    return 0 if all(result.reached for result in results) else 1


def run(name: str, measured: Iterable[Ratio]) -> int:
    """What there is is written, also where the last part of a long run fails."""
    results: list[Ratio] = []
    try:
        results.extend(measured)
    finally:
        code = write(name, results)
    return code


def side_by_side(names: Sequence[str]) -> str:
    """What benchmarks with the same ratios wrote last, for the documents; empty if one of them wrote nothing yet."""
    paths = [RESULTS / f"{name}.json" for name in names]
    if not all(path.is_file() for path in paths):
        return ""
    written = [json.loads(path.read_text(encoding="utf-8")) for path in paths]
    heads = [f"{name}, {content['date'][:10]}" for name, content in zip(names, written, strict=True)]
    lines = [f"| what | {' | '.join(heads)} | goal |", "|---" * (len(names) + 2) + "|"]
    ratios = [{one["name"]: one for one in content["ratios"]} for content in written]
    for what, first in ratios[0].items():
        told = [f"{found[what]['ratio']:.2f}" if what in found else "-" for found in ratios]
        lines.append(f"| {what} | {' | '.join(told)} | {first['goal'] or 'none'} |")
    return "\n".join(lines)


def _cores() -> int:
    return Path("/proc/cpuinfo").read_text(encoding="utf-8").count("processor\t")
