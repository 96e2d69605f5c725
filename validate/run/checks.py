"""What the runner looks up in the sealed ledger besides the judge: silence where nothing may be acked, and refusals."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import TYPE_CHECKING

import pyarrow.compute as pc
import pyarrow.dataset as ds

from validate.faults.ledger import iso
from validate.run.isr import ISR_FILE

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from validate.run.story import Window

# What was replicated before the bite may be reported just after it.
SETTLE = timedelta(seconds=2)
REFUSAL = "NOT_ENOUGH_REPLICAS"


def broke_silence(ledger: Path, windows: Sequence[Window]) -> list[str]:
    """Partitions that acked although too few replicas were left for that: the promise of min.insync.replicas broken."""
    if not (ledger / "sent").is_dir():
        return []
    sent = ds.dataset(ledger / "sent")
    told: list[str] = []
    for window in windows:
        since, until = window.since + SETTLE, window.until
        if since >= until or not window.foreseen.silent:
            continue
        during = (pc.field("outcome") == "acked") & (pc.field("done_at") > since) & (pc.field("done_at") < until)
        found = sent.to_table(columns=["topic", "partition"], filter=during).group_by(["topic", "partition"])
        told += [
            f"{row['topic']}/{row['partition']} acked {row['count_all']} records while it had too few replicas for that"
            for row in found.aggregate([([], "count_all")]).to_pylist()
            if (row["topic"], row["partition"]) in window.foreseen.silent
        ]
    return told


def not_refused(ledger: Path, windows: Sequence[Window]) -> list[str]:
    """Partitions in which no single-shot write was told not-enough-replicas, where one should have been."""
    if not (ledger / "probes").is_dir():
        return ["there are no probes, so no refusal was seen"]
    probes = ds.dataset(ledger / "probes")
    told: list[str] = []
    for window in windows:
        during = (
            (pc.field("kind") == "write")
            & (pc.field("invoked_at") > window.since)
            & (pc.field("done_at") < window.until)
            & pc.match_substring(pc.field("error"), REFUSAL)
        )
        rows = probes.to_table(columns=["topic", "partition"], filter=during).to_pylist()
        refused = {(row["topic"], row["partition"]) for row in rows}
        told += [
            f"no single-shot write to {topic}/{partition} was told {REFUSAL} while it had too few replicas"
            for topic, partition in sorted((window.foreseen.silent & window.alive) - refused)
        ]
    return told


def not_moved(ledger: Path, windows: Sequence[Window], notes: list[str]) -> list[str]:
    """Partitions that at the end of a fault were still led by who was hit, or counted it as in sync."""
    path = ledger / ISR_FILE
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] if path.is_file() else []
    told: list[str] = []
    for window in windows:
        since, until = iso(window.since), iso(window.until)
        before = {(r["topic"], r["partition"]): r for r in rows if r["at"] <= since}
        then = {(r["topic"], r["partition"]): r for r in rows if r["at"] <= until}
        hit = {key for key, row in before.items() if window.down & {row["leader"], *row["isr"]}}
        stuck = sorted(key for key in hit if window.down & {then[key]["leader"], *then[key]["isr"]})
        told += [f"{t}-{p}: leader {then[t, p]['leader']}, in sync {then[t, p]['isr']}" for t, p in stuck]
        led = sum(before[key]["leader"] in window.down for key in hit)
        notes.append(f"{led} of {len(before)} partitions got another leader, {len(hit)} another in-sync set.")
        told += [] if led else ["who was hit led no partition"]
    return told or ([] if windows else ["there was no fault"])


def never_leaderless(ledger: Path) -> list[str]:
    """Empty if some partition was seen without a leader."""
    path = ledger / ISR_FILE
    lines = path.read_text(encoding="utf-8").splitlines() if path.is_file() else []
    if any(json.loads(line)["leader"] < 0 for line in lines):
        return []
    return ["no partition was seen without a leader"]
