"""A wall clock that is set while a run goes on: no time in the ledger is its, and that it jumped is told."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from tests.unit.validate.control import cluster
from tests.unit.validate.mock_brokers import mock_brokers
from validate import scenario
from validate.faults.ledger import FaultLedger
from validate.run import one
from validate.run.context import Context
from validate.run.folder import Entry, RunFolder
from validate.workload.clock import Clock
from validate.workload.seal import seal

ROOT = Path(__file__).resolve().parents[3]
# In place of the machine's clock, which no test may set: the wall's jumps to and fro, the other goes on.
JUMPING = """
import sys, time
true_ns, began_s = time.time_ns, time.monotonic()
def jumping():
    return true_ns() + ({hours} * 3600 * 10**9 if time.monotonic() - began_s > 0.5 else 0)
time.time_ns = jumping
time.time = lambda: jumping() / 1e9
from validate.workload import __main__ as door
sys.exit(door.main(sys.argv[1:]))
"""


@pytest.mark.parametrize("hours", [-24, 5])
@pytest.mark.parametrize(
    ("kind", "more"), [("producer", {"count": 300}), ("probe", {"witness": "fresh", "interval_ms": 100})]
)
def test_a_ledger_keeps_its_time_while_the_wall_clock_jumps(
    kind: str, more: dict[str, Any], hours: int, tmp_path: Path
) -> None:
    script = tmp_path / "jumping.py"
    script.write_text(JUMPING.format(hours=hours))
    clock = Clock()
    with mock_brokers(1) as brokers:
        brokers.make_topic("t")
        spec = {
            "run_id": "r", "name": "w", "ledger": str(tmp_path), "clock": "here", "clock_offset_ns": clock.offset,
            "client": {"bootstrap.servers": brokers.bootstrap}, "topics": [{"name": "t", "partitions": 1}],
            **({"records_per_s": 150} if kind == "producer" else {}), **more,
        }  # fmt: skip
        path = tmp_path / "spec.json"
        path.write_text(json.dumps(spec))
        began = clock.now()
        process = subprocess.Popen(
            [sys.executable, str(script), kind, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            text=True, env={**os.environ, "PYTHONPATH": str(ROOT)},
        )  # fmt: skip
        assert process.stdin is not None
        if kind == "probe":
            time.sleep(2.5)  # a while before the jump and a while behind it
            process.terminate()
        told, _ = process.communicate(timeout=60)
    ended = clock.now()
    seal(tmp_path)
    last = json.loads(told.splitlines()[-1])
    assert last["event"] == "done", told
    assert last["drift_us"] / 1e6 == pytest.approx(hours * 3600, abs=30)
    rows = [
        row
        for table in ("sent", "probes")
        if (tmp_path / table).is_dir()
        for row in pq.read_table(tmp_path / table).to_pylist()
    ]
    spent = timedelta()
    for row in rows:
        assert began <= row["invoked_at"] <= (row["done_at"] or ended) <= ended
        spent = max(spent, row["invoked_at"] - began)
    assert len(rows) >= 10
    assert spent > timedelta(seconds=1), "nothing was written after the jump: the test shows nothing"


def test_a_run_says_that_the_wall_clock_jumped_and_keeps_its_own_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = Clock()
    folder = RunFolder(tmp_path / "run", run_id="r", seed=1, suite="smoke", command=[], clock=clock.now)
    ledger = FaultLedger(tmp_path, clock.now)
    wall = time.time_ns()

    def jumps(*_: Any) -> None:
        ledger.write("stop", "broker-1", "begin")
        monkeypatch.setattr(time, "time_ns", lambda: wall - 3_600_000_000_000)
        ledger.write("stop", "broker-1", "healed")

    nothing: Any = None
    context = Context(cluster(tmp_path), nothing, folder, nothing, allow_faults=True, large=False, clock=clock)
    entry = Entry("baseline", "t", "t", ["load"], "e", "r", {})
    monkeypatch.setattr(one, "_run", jumps)
    one.run_one(context, scenario.load("baseline"), entry)
    (note,) = entry.notes
    assert note.startswith("The wall clock jumped by -3600")
    folder.save(ended=True)
    told = json.loads((tmp_path / "run" / "run.json").read_text())
    faults = [json.loads(line)["at"] for line in (tmp_path / "faults.jsonl").read_text().splitlines()]
    times = [told["started_at"], entry.started_at, *faults, entry.ended_at, told["ended_at"]]
    assert times == sorted(times)
    assert datetime.fromisoformat(str(times[-1])) - datetime.fromisoformat(str(times[0])) < timedelta(seconds=60)


def test_a_quiet_wall_clock_is_not_worth_a_word(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = RunFolder(tmp_path / "run", run_id="r", seed=1, suite="smoke", command=[])
    nothing: Any = None
    context = Context(cluster(tmp_path), nothing, folder, nothing, allow_faults=True, large=False)
    entry = Entry("baseline", "t", "t", ["load"], "e", "r", {})
    monkeypatch.setattr(one, "_run", lambda *_: None)
    one.run_one(context, scenario.load("baseline"), entry)
    assert entry.notes == []
