"""Outages: every stretch in which a witness got nothing through, and what the judge said of the longest."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from validate.ledger.files import parquet_files
from validate.report.moments import SECOND_US, iso, micros
from validate.report.series import micros_of

if TYPE_CHECKING:
    from pathlib import Path

MOST_SPANS = 50  # of one witness, kind and partition: more is noise in a picture; the number of them stays exact
_KEY = ("witness", "kind", "topic", "partition")
_SAID = re.compile(r"(running|fresh) (write|read) \[([\d.]+) s, ([\d.]+) s\] ?(.*)", re.DOTALL)

Key = tuple[str, str, str, int]


@dataclass(frozen=True)
class Span:
    """From the last ok before to the first ok after (open: to the last sign of life); low is what is certain."""

    since_us: int
    until_us: int
    low_s: float
    open: bool

    @property
    def high_s(self) -> float:
        return (self.until_us - self.since_us) / SECOND_US


@dataclass
class _Probes:
    """The probes of one series. Oks are moments, the others (invoked, done or None)."""

    oks: list[int] = field(default_factory=list)
    bad: list[tuple[int, int | None]] = field(default_factory=list)
    first: int = 2**63
    last: int = -(2**63)

    def add(self, invoked: int, done: int | None, outcome: str) -> None:
        self.first, self.last = min(self.first, invoked), max(self.last, invoked if done is None else done)
        if outcome == "ok":
            self.oks.append(invoked if done is None else done)
        else:
            self.bad.append((invoked, done))


def spans(probes: list[tuple[int, int | None, str]]) -> list[Span]:
    """Every outage in one series of (invoked, done, outcome), in order of time. The judge's own rule in plain words:
    between two oks there was a probe outstanding that did not end ok."""
    seen = _Probes()
    for one in probes:
        seen.add(*one)
    if not seen.bad:
        return []
    points = sorted({*seen.oks, seen.first})
    edges: dict[int, list[int]] = {}
    for invoked, done in seen.bad:
        for i in _held(points, invoked, done):
            until = points[i + 1] if i + 1 < len(points) else seen.last
            ended = min(invoked if done is None else done, until)
            edge = edges.setdefault(i, [invoked, ended])
            edge[0], edge[1] = min(edge[0], invoked), max(edge[1], ended)
    return [_span(points, seen.last, i, *edges[i]) for i in sorted(edges)]


def _held(points: list[int], invoked: int, done: int | None) -> range:
    """The intervals in which this probe was outstanding; one that never came back counts where it was sent."""
    start = bisect_right(points, invoked) - 1
    return range(start, start + 1 if done is None else bisect_left(points, done))


def _span(points: list[int], last: int, i: int, bad_from: int, bad_to: int) -> Span:
    since = points[i]
    is_open = i + 1 == len(points)
    until = last if is_open else points[i + 1]
    low = max(0, min(bad_to, until) - max(bad_from, since))
    return Span(since, until, low / SECOND_US, is_open)


def read_probes(folder: Path) -> tuple[dict[Key, list[Span]], list[str]]:
    """Outages of every series that `probes/` holds; a clock of its own makes a series of its own."""
    rows: dict[tuple[Any, ...], list[tuple[int, int | None, str]]] = {}
    problems = []
    for path in parquet_files(folder):
        try:
            table = pq.read_table(path, partitioning=None)
            for key, *probe in _rows(table):
                rows.setdefault(key, []).append((probe[0], probe[1], probe[2]))
        except (OSError, KeyError, pa.ArrowException) as error:
            problems.append(f"probes/{path.name}: not readable ({str(error).splitlines()[0][:160]})")
    found: dict[Key, list[Span]] = {}
    for (*key, _clock), probes in rows.items():
        found.setdefault((key[0], key[1], key[2], key[3]), []).extend(spans(probes))
    return found, problems


def _rows(table: pa.Table) -> Any:
    clocks = table["clock"].to_pylist() if "clock" in table.column_names else [None] * table.num_rows
    keys = zip(*(table[name].to_pylist() for name in _KEY), clocks, strict=True)
    invoked = micros_of(table["invoked_at"]).to_pylist()
    done = micros_of(table["done_at"]).to_pylist() if "done_at" in table.column_names else [None] * table.num_rows
    return zip(keys, invoked, done, table["outcome"].to_pylist(), strict=True)


def read_findings(folder: Path) -> dict[Key, dict[str, Any]]:
    """What the judge wrote of each series: its longest outage, the verdict on it, the faults of that time."""
    said: dict[Key, dict[str, Any]] = {}
    for path in parquet_files(folder):
        try:
            table = pq.read_table(path, columns=["anomaly", "verdict", "topic", "partition", "detail"])
        except (OSError, KeyError, pa.ArrowException):
            continue  # the judge's summary, which is shown beside it, says the same in numbers
        for row in table.filter(pc.equal(table["anomaly"], "outage")).to_pylist():
            words = _SAID.fullmatch(row["detail"] or "")
            if words is None:
                continue
            witness, kind, low, high, faults = words.groups()
            said[witness, kind, row["topic"], row["partition"]] = {
                "low_s": float(low),
                "high_s": float(high),
                "verdict": row["verdict"],
                "faults": faults,
            }
    return said


def table(
    found: dict[Key, list[Span]],
    said: dict[Key, dict[str, Any]],
    expect: dict[str, Any],
    faults: list[dict[str, Any]],
) -> list[dict[str, Any]]:
    """One row per series with an outage, the longest first. Where the judge spoke, its numbers are taken."""
    rows = []
    for key in found.keys() | said.keys():
        each = sorted(found.get(key, []), key=lambda x: x.high_s, reverse=True)
        if not each and key not in said:
            continue
        row: dict[str, Any] = dict(zip(_KEY, key, strict=True))
        worst = each[0] if each else None
        row |= {
            "low_s": round(worst.low_s, 3) if worst else None,
            "high_s": round(worst.high_s, 3) if worst else None,
            "verdict": None,
            "faults": _during(worst, faults) if worst else "",
            **said.get(key, {}),
            "bound_s": bound(expect, *key[:3]),
            "times": len(each),
            "since": iso(worst.since_us) if worst else None,
            "until": iso(worst.until_us) if worst else None,
            "open": bool(worst and worst.open),
            "spans": [_told(x) for x in sorted(each[:MOST_SPANS], key=lambda x: x.since_us)],
        }
        rows.append(row)
    return sorted(rows, key=lambda r: (-(r["high_s"] or 0), *(r[name] for name in _KEY)))


def _during(one: Span, faults: list[dict[str, Any]]) -> str:
    """The faults of that time, for outages that nobody has judged yet."""
    names = []
    for fault in faults:
        begin, healed = micros(fault["begin"] or fault["bit"]), micros(fault["healed"])
        if begin is not None and begin <= one.until_us and (healed is None or healed >= one.since_us):
            names.append(f"{fault['fault']} {fault['target']}")
    return ", ".join(dict.fromkeys(names))


def _told(one: Span) -> dict[str, Any]:
    return {"since": iso(one.since_us), "until": iso(one.until_us), "high_s": round(one.high_s, 3), "open": one.open}


def bound(expect: dict[str, Any], witness: str, kind: str, topic: str) -> float | None:
    """The longest outage that the expectation lets this witness see in this topic."""
    outage = expect.get("outage")
    if not isinstance(outage, dict) or topic not in (outage.get("topics") or [topic]):
        return None
    value = (outage.get(witness) or {}).get(f"{kind}_s")
    return float(value) if isinstance(value, (int, float)) else None
