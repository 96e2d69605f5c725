"""Makes run folders as `run` leaves them: a cluster of four, paced load, faults, probes, in-sync sets, judgements.

The ledgers are real Parquet with the contract's columns; the judgements are written down, not judged, so that a report
can be made of them in a second. Nothing here knows how the report is made.
"""

from __future__ import annotations

import json
import random
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import yaml

from tests.spark.histories.columns import schema

if TYPE_CHECKING:
    from pathlib import Path

RUN_ID = "20261118T070000Z-s42"
START = datetime(2026, 11, 18, 7, tzinfo=UTC)
TOPICS = {"Topic_One": 1, "Topic_Three": 3, "Topic_Four": 4}
HOSTS = [f"broker-{n}" for n in range(1, 5)]
ROLES = ["kafka_broker", "kafka_controller"]
FINDING = pa.schema(
    [("anomaly", pa.string()), ("verdict", pa.string()), ("topic", pa.string()), ("partition", pa.int32()),
     ("producer", pa.string()), ("seq", pa.int64()), ("attempt", pa.int32()), ("offset", pa.int64()),
     ("detail", pa.string()), ("note", pa.string())]
)  # fmt: skip
Row = dict[str, Any]


def iso(at: datetime) -> str:
    return at.isoformat(timespec="milliseconds").replace("+00:00", "Z")


@dataclass
class Lived:
    """One scenario as it went: what is served when, what breaks, what the judge says."""

    id: str
    title: str
    verdict: str
    begin_s: float = 0.0
    length_s: float = 40.0
    per_s: int = 50  # records per second and partition
    stalls: dict[tuple[str, int], tuple[float, float]] = field(default_factory=dict)
    refusing: set[tuple[str, int]] = field(default_factory=set)
    faults: list[tuple[str, str, float, float, float | None]] = field(default_factory=list)
    ends_s: float | None = None  # when the workload died
    findings: list[Row] = field(default_factory=list)
    reasons: list[str] = field(default_factory=list)
    lost: int = 0
    expect: Row = field(default_factory=dict)
    probed: bool = True
    explanation: str = ""
    more: Row = field(default_factory=dict)
    repeated: int = 0

    def at(self, second: float) -> datetime:
        return START + timedelta(seconds=self.begin_s + second)


def sent(one: Lived, chance: random.Random) -> list[Row]:
    rows = []
    for topic, partitions in TOPICS.items():
        for partition in range(partitions):
            stall = one.stalls.get((topic, partition))
            for seq in range(int(one.per_s * (one.ends_s or one.length_s))):
                at = seq / one.per_s
                done, outcome = at + 0.004 + chance.expovariate(300), "acked"
                if stall and stall[0] <= at < stall[1]:
                    refused = (topic, partition) in one.refusing
                    done, outcome = (at + 0.01, "refused") if refused else (stall[1] + chance.random() * 0.4, "acked")
                if one.ends_s and done > one.ends_s - 0.01:
                    outcome = "unknown"
                rows.append(_sent(one, topic, partition, seq, at, done, outcome))
    return rows


def _sent(one: Lived, topic: str, partition: int, seq: int, at: float, done: float, outcome: str) -> Row:
    return {
        "run_id": RUN_ID, "producer": "load-0", "topic": topic, "partition": partition, "seq": seq, "attempt": 0,
        "value_null": False, "value_crc": seq, "random_int": 3 * seq, "acks": "all", "idempotent": True,
        "max_in_flight": 5, "invoked_at": one.at(at), "done_at": None if outcome == "unknown" else one.at(done),
        "outcome": outcome, "error": "_QUEUE_FULL" if outcome == "refused" else None,
        "acked_offset": seq if outcome == "acked" else None, "clock": "controller",
    }  # fmt: skip


def probes(one: Lived) -> list[Row]:
    rows = []
    for witness, every in (("fresh", 0.5), ("running", 0.25)):
        for kind in ("write", "read"):
            for topic, partitions in TOPICS.items():
                for partition in range(partitions):
                    stall = one.stalls.get((topic, partition)) if kind == "write" else None
                    for i in range(int(one.length_s / every)):
                        at = i * every
                        down = stall is not None and stall[0] <= at < stall[1]
                        rows.append({
                            "witness": witness, "kind": kind, "topic": topic, "partition": partition,
                            "invoked_at": one.at(at), "done_at": one.at(at + (0.2 if down else 0.02)),
                            "outcome": "failed" if down else "ok", "clock": "controller",
                            "error": "NOT_ENOUGH_REPLICAS" if down else None,
                        })  # fmt: skip
    return rows


def isr(one: Lived) -> list[Row]:
    rows = []
    for topic, partitions in TOPICS.items():
        for partition in range(partitions):
            replicas = [(partition + i) % 4 + 1 for i in range(3 if topic == "Topic_Four" else 2)]
            base = {"topic": topic, "partition": partition, "replicas": replicas}
            rows.append({**base, "at": iso(one.at(0)), "leader": replicas[0], "isr": replicas})
            for _fault, target, begin, _bit, healed in one.faults:
                node = HOSTS.index(target) + 1 if target in HOSTS else 0
                left = [x for x in replicas if x != node]
                if node in replicas and left:
                    rows.append({**base, "at": iso(one.at(begin + 0.6)), "leader": left[0], "isr": left})
                    if healed is not None:
                        rows.append({**base, "at": iso(one.at(healed + 1.4)), "leader": left[0], "isr": replicas})
                        rows.append({**base, "at": iso(one.at(healed + 4)), "leader": replicas[0], "isr": replicas})
    return rows


def fault_rows(one: Lived) -> list[Row]:
    rows = []
    for fault, target, begin, bit, healed in one.faults:
        for phase, at in (("begin", begin), ("bit", bit), ("healed", healed)):
            if at is not None:
                detail = "port 9092 closed" if phase == "bit" else ""
                rows.append({"fault": fault, "target": target, "phase": phase, "at": iso(one.at(at)), "detail": detail})
    return rows


def summary(one: Lived, rows: list[Row], folder: Path) -> Row:
    outcomes = {name: sum(x["outcome"] == name for x in rows) for name in ("acked", "refused", "unknown")}
    counts: dict[str, dict[str, int]] = {"lost": dict.fromkeys(("violation", "expected", "allowed"), 0)}
    for finding in one.findings:
        of = counts.setdefault(finding["anomaly"], dict.fromkeys(("violation", "expected", "allowed"), 0))
        of[finding["verdict"]] += 1
    found = outcomes["acked"] - one.lost
    judged = "failed" if any(x["violation"] for x in counts.values()) else "passed"
    return {
        "verdict": judged,
        "checked": {"sent": len(rows), **outcomes, "log": found + one.repeated, "foreign": 0, "delivered": 0},
        "acked": {"found": found, "expired": 0, "withdrawn": 0, "undecided": 0, "lost": one.lost},
        "counts": counts,
        "sums": {topic: {"acked": 1, "found_once": 1, "read": 1} for topic in TOPICS},
        "uncompared": 0,
        "reasons": [],
        "problems": [],
        "findings": sorted(one.findings, key=lambda x: ("violation", "expected", "allowed").index(x["verdict"]))[:1000],
        "findings_path": str(folder / "findings" / one.id),
    }


def _rates(one: Lived, rows: list[Row]) -> list[Row]:
    edges = [0.0, *([one.faults[0][2], one.faults[-1][4] or one.length_s] if one.faults else []), one.length_s]
    names = ("before", "during", "after") if one.faults else ("run",)
    phases = []
    for name, since, until in zip(names, edges, edges[1:], strict=False):
        acked: dict[str, int] = {f"{t}-{p}": 0 for t, n in TOPICS.items() for p in range(n)}
        for row in rows:
            if row["outcome"] == "acked" and one.at(since) <= row["done_at"] < one.at(until):
                acked[f"{row['topic']}-{row['partition']}"] += 1
        phases.append(
            {"name": name, "began_at": iso(one.at(since)), "ended_at": iso(one.at(until)), "acked_per_partition": acked}
        )
    return phases


def write(folder: Path, lives: list[Lived], *, ended: bool = True, **more: Any) -> Path:
    """The whole folder of a run; `more` goes into run.json."""
    entries = [_write_one(folder, one) for one in lives]
    last = max((one.begin_s + one.length_s for one in lives), default=0) + 8
    run = {
        "run_id": RUN_ID, "seed": 42, "suite": "failover", "started_at": iso(START),
        "ended_at": iso(START + timedelta(seconds=last)) if ended else None, "kastellan": "0.1.0",
        "command": ["python", "-m", "validate", "run", "--suite", "failover", "--seed", "42"],
        "cluster": {
            "stack": "local", "mode": "kraft", "kafka_version": "4.3.1", "cluster_id": "MkU3OEVBNTcwNTJENDM2Qg",
            "brokers": 4, "voters": 4,
            "hosts": [{"name": x, "node_id": i + 1, "roles": ROLES, "rack": None} for i, x in enumerate(HOSTS)],
        },
        "machine": {"cores": 2, "memory_bytes": 23 * 2**30, "kernel": "6.1.0", "python": "3.11.2", "spark": "4.0.1",
                    "librdkafka": "2.11.0"},
        "scenarios": entries,
    } | more  # fmt: skip
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "run.json").write_text(json.dumps(run), encoding="utf-8")
    return folder


def _write_one(folder: Path, one: Lived) -> Row:
    entry = {
        "id": one.id, "title": one.title, "teaches": "", "suites": ["failover"], "verdict": one.verdict,
        "reasons": one.reasons, "started_at": iso(one.at(-2)), "ended_at": iso(one.at(one.length_s + 5)), "phases": [],
        "explanation": one.explanation, "bounds": one.expect.get("outage", {}),
        "reproduce": f"python -m validate run --scenario {one.id} --seed 42",
    } | one.more  # fmt: skip
    if one.verdict == "not-applicable":
        return entry | {"started_at": None, "ended_at": None}
    ledger = folder / "ledger" / one.id
    rows = sent(one, random.Random(one.id))
    tables = {"sent": rows, "probes": probes(one) if one.probed else []}
    for name, content in tables.items():
        (ledger / name).mkdir(parents=True)
        pq.write_table(pa.Table.from_pylist(content, schema=schema(name)), ledger / name / "part-0.parquet")
    for name, lines in (("faults", fault_rows(one)), ("isr", isr(one))):
        (ledger / f"{name}.jsonl").write_text("".join(json.dumps(x) + "\n" for x in lines), encoding="utf-8")
    (ledger / "EXPECT.yml").write_text(yaml.safe_dump(one.expect), encoding="utf-8")
    findings = folder / "findings" / one.id
    findings.mkdir(parents=True)
    pq.write_table(pa.Table.from_pylist(one.findings, schema=FINDING), findings / "part-0.parquet")
    (folder / "verdicts").mkdir(exist_ok=True)
    verdict = json.dumps(summary(one, rows, folder))
    (folder / "verdicts" / f"{one.id}.json").write_text(verdict, encoding="utf-8")
    return entry | {"phases": _rates(one, rows)}


def finding(anomaly: str, verdict: str, topic: str, partition: int, **more: Any) -> Row:
    base = {"producer": None, "seq": None, "attempt": None, "offset": None, "detail": None, "note": None}
    return {"anomaly": anomaly, "verdict": verdict, "topic": topic, "partition": partition, **base, **more}
