"""The book of histories: each is a function that writes rows, with what a judge must make of them beside it.

    @history("what lies below the start is expired, not lost", allowed("expired", seq=0, offset=0))
    def below_start(h: History) -> None: ...

The verdict, the classes of acked attempts and the counts of the summary follow from the findings named and are
compared too; every anomaly that is not named must not be found at all.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tests.spark.histories.writer import History

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["BOOK", "Finding", "History", "Story", "allowed", "expected", "history", "report", "violation"]

ABSENT_CLASSES = ("expired", "withdrawn", "lost")
PREFIXED = ("topic", "producer")
BATCHABLE_EXPECTATIONS = {"groups", "unclean"}  # they name topics, so histories cannot disturb each other


@dataclass(frozen=True)
class Finding:
    """A finding that must be there, `times` times; only the columns that the contract fixes are named."""

    anomaly: str
    verdict: str
    times: int | None = 1  # None: any number
    columns: dict[str, Any] = field(default_factory=dict)

    def fits(self, seen: dict[str, Any], prefix: str) -> bool:
        if (seen["anomaly"], seen["verdict"]) != (self.anomaly, self.verdict):
            return False
        return all(self._same(name, wanted, seen, prefix) for name, wanted in self.columns.items())

    @staticmethod
    def _same(name: str, wanted: Any, seen: dict[str, Any], prefix: str) -> bool:
        """`detail` holds a word, `named` a name that was prefixed, inside the detail; all else is equal."""
        detail = str(seen.get("detail") or "")
        if name == "detail":
            return re.search(rf"(?<![\w-]){re.escape(str(wanted))}(?![\w-])", detail) is not None
        if name == "named":
            return prefix + wanted in detail
        return bool(seen[name] == (prefix + wanted if name in PREFIXED else wanted))

    def __str__(self) -> str:
        columns = ", ".join(f"{name}={value!r}" for name, value in self.columns.items())
        return f"{self.anomaly} {self.verdict} x{'any' if self.times is None else self.times} ({columns})"


def violation(anomaly: str, times: int | None = 1, **columns: Any) -> Finding:
    return Finding(anomaly, "violation", times, columns)


def expected(anomaly: str, times: int | None = 1, **columns: Any) -> Finding:
    return Finding(anomaly, "expected", times, columns)


def allowed(anomaly: str, times: int | None = 1, **columns: Any) -> Finding:
    return Finding(anomaly, "allowed", times, columns)


@dataclass(frozen=True)
class Story:
    """One history with what must come out of it."""

    id: str
    why: str
    write: Callable[[History], None]
    findings: tuple[Finding, ...]
    undecided: int = 0
    foreign: int = 0
    verdict: str | None = None  # None: follows from the findings
    sums: dict[str, dict[str, int]] | None = None
    alone: bool = False  # about the whole verdict: not to be judged together with others

    def history(self, prefix: str = "") -> History:
        h = History(prefix)
        self.write(h)
        return h

    @property
    def prefix(self) -> str:
        """Every id has one dot, so none of these begins another."""
        return self.id + "."

    def batchable(self) -> bool:
        h = self.history()
        return not (self.alone or h.faults or h.expect.keys() - BATCHABLE_EXPECTATIONS or self.verdict or self.sums)

    def wanted_verdict(self) -> str:
        if self.verdict:
            return self.verdict
        if any(f.verdict == "violation" for f in self.findings):
            return "failed"
        return "unknown" if self.undecided else "passed"


BOOK: dict[str, Story] = {}


def history(
    why: str, *findings: Finding, **more: Any
) -> Callable[[Callable[[History], None]], Callable[[History], None]]:
    """Put a history into the book. Its id is <file>.<function>."""

    def register(write: Callable[[History], None]) -> Callable[[History], None]:
        story_id = f"{write.__module__.rsplit('.', 1)[-1]}.{write.__name__}"
        if story_id in BOOK:
            raise ValueError(f"two histories are called {story_id}")
        BOOK[story_id] = Story(story_id, why, write, findings, **more)
        return write

    return register


# -- comparing -----------------------------------------------------------------------------------------------------


def complaints_about_findings(story: Story, seen: list[dict[str, Any]], prefix: str) -> list[str]:
    """Pairs every finding seen with one that was asked for; the most exactly described ones choose first."""
    left, complaints = list(seen), []
    for wanted in sorted(story.findings, key=lambda f: (f.times is None, -len(f.columns))):
        fitting = [finding for finding in left if wanted.fits(finding, prefix)]
        if wanted.times is not None and len(fitting) < wanted.times:
            complaints.append(f"missing: {wanted}, seen {len(fitting)} of them")
        for finding in fitting[: wanted.times]:
            left.remove(finding)
    return complaints + [f"not asked for: {finding}" for finding in left]


def wanted_classes(story: Story, h: History) -> dict[str, int]:
    """Lost, expired and withdrawn are exactly the findings of that name, found is what is left."""
    classes = {name: sum(f.times or 0 for f in story.findings if f.anomaly == name) for name in ABSENT_CLASSES}
    classes["undecided"] = story.undecided
    acked = sum(row["outcome"] == "acked" for row in h.rows["sent"])
    return {**classes, "found": acked - sum(classes.values())}


def wanted_checked(story: Story, h: History) -> dict[str, int]:
    outcomes = Counter(row["outcome"] for row in h.rows["sent"])
    return {
        "sent": len(h.rows["sent"]),
        **{name: outcomes[name] for name in ("acked", "refused", "unknown")},
        "log": len(h.rows["log"]),
        "foreign": story.foreign,
        "delivered": len(h.rows["delivered"]),
    }


def counted(findings: list[dict[str, Any]]) -> dict[tuple[str, str], int]:
    return dict(Counter((f["anomaly"], f["verdict"]) for f in findings))


def complaints_about_counts(summary: dict[str, Any], findings: list[dict[str, Any]]) -> list[str]:
    """The summary counts exactly what the findings list; what it leaves out is zero."""
    said = {(a, v): n for a, by_verdict in summary["counts"].items() for v, n in by_verdict.items() if n}
    there = counted(findings)
    differ = sorted(k for k in said.keys() | there.keys() if said.get(k, 0) != there.get(k, 0))
    return [f"counts of {a} {v}: summary {said.get((a, v), 0)}, listed {there.get((a, v), 0)}" for a, v in differ]


def complaints_about_numbers(said: dict[str, int], wanted: dict[str, int], what: str) -> list[str]:
    return [
        f"{what}.{name}: expected {number}, seen {said.get(name)}"
        for name, number in sorted(wanted.items())
        if said.get(name) != number
    ]


def complaints_about_run(story: Story, summary: dict[str, Any], findings: list[dict[str, Any]]) -> list[str]:
    """Everything about a history that was judged alone."""
    h = story.history()
    found = complaints_about_findings(story, findings, "") + complaints_about_counts(summary, findings)
    found += complaints_about_numbers(summary["acked"], wanted_classes(story, h), "acked")
    found += complaints_about_numbers(summary["checked"], wanted_checked(story, h), "checked")
    for topic, sums in (story.sums or {}).items():
        found += complaints_about_numbers(summary["sums"][topic], sums, f"sums.{topic}")
    if summary["verdict"] != story.wanted_verdict():
        found.insert(0, f"verdict: expected {story.wanted_verdict()}, seen {summary['verdict']}")
    return found


def report(story: Story, complaints: list[str]) -> str:
    return "\n  ".join([f"{story.id}: {story.why}", *complaints])
