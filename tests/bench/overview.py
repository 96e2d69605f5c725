"""All that was measured last, in one file and one table: `python -m tests.bench.overview`, and the end of every
`./kastellan bench` without a name. A benchmark that was never run here, or not to its end, is named as missing."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))  # run as a file: its own folder is first on the path, the rooms are not

from cli.bench import WITHIN, names  # noqa: E402
from tests.bench import harness  # noqa: E402

ALL = "all"


def gathered() -> dict[str, dict[str, Any]]:
    """What each benchmark wrote, by its name."""
    found = {name: harness.RESULTS / f"{name}.json" for name in names()}
    return {name: json.loads(path.read_text(encoding="utf-8")) for name, path in found.items() if path.is_file()}


def missing(found: dict[str, dict[str, Any]]) -> list[str]:
    """Those without a ratio, but for parts of one that has some."""
    measured = {name for name, content in found.items() if content["ratios"]}
    return [name for name in names() if not {name, WITHIN.get(name)} & measured]


def table(found: dict[str, dict[str, Any]]) -> str:
    lines = ["| benchmark | what | ours [least..most] | other [least..most] | ratio | goal |", "|---" * 6 + "|"]
    for name, content in found.items():
        for one in (harness.Ratio(**ratio) for ratio in content["ratios"]):
            ours, other = (harness.spread(times, one.unit) for times in (one.ours_s, one.other_s))
            goal = "none" if one.goal is None else f"\u2264 {one.goal:.3g}, {'reached' if one.reached else 'missed'}"
            lines.append(f"| {name} | {one.name} | {ours} | {other} | {one.ratio:.2f} | {goal} |")
    lines.append("")
    lines += [f"{name}: {harness.taken(content)}." for name, content in found.items()]
    return "\n".join(lines)


def main() -> int:
    found = gathered()
    harness.RESULTS.mkdir(parents=True, exist_ok=True)
    (harness.RESULTS / f"{ALL}.json").write_text(json.dumps(found, indent=1), encoding="utf-8")
    print(table(found))
    if rest := missing(found):
        print(f"Missing, never measured here or not to its end: {', '.join(rest)}.")
    print(f"Written: {harness.RESULTS / ALL}.json")
    return 0


if __name__ == "__main__":
    sys.exit(main())
