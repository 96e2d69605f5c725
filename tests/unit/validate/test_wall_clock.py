"""A wall clock that is set while a run goes on: no time in the ledger is its, and that it jumped is told."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
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
# In place of the machine's clock, which no test may set: the wall's jumps once a file is there, the other goes on.
JUMPING = """
import os, sys, time
true_ns, (sign, told) = time.time_ns, sys.argv[1:3]
def jumping():
    return true_ns() + ({hours} * 3600 * 10**9 if os.path.exists(sign) else 0)
time.time_ns = jumping
time.time = lambda: jumping() / 1e9
from validate.workload import __main__ as door
code = door.main(sys.argv[3:])
open(told, "w").write(str(time.time()))
sys.exit(code)
"""
EITHER_SIDE = 10  # records or probes, before the jump and behind it
PROBE = {"witness": "fresh", "interval_ms": 100, "timeout_ms": 500}
PROBES_AT_ONCE = 14  # of two kinds, as many as fit into the timeout and two more
BOUND_S = 60.0


@pytest.mark.parametrize("hours", [-24, 5])
@pytest.mark.parametrize(("kind", "more"), [("producer", {"records_per_s": 150}), ("probe", PROBE)])
def test_a_ledger_keeps_its_time_while_the_wall_clock_jumps(
    kind: str, more: dict[str, Any], hours: int, tmp_path: Path
) -> None:
    script, sign, told, path = (tmp_path / name for name in ("jumping.py", "sign", "told", "spec.json"))
    script.write_text(JUMPING.format(hours=hours))
    clock = Clock()
    with mock_brokers(1) as brokers:
        brokers.make_topic("t")
        spec = {
            "run_id": "r", "name": "w", "ledger": str(tmp_path), "clock": "here", "clock_offset_ns": clock.offset,
            "client": {"bootstrap.servers": brokers.bootstrap}, "topics": [{"name": "t", "partitions": 1}], **more,
        }  # fmt: skip
        path.write_text(json.dumps(spec))
        began = clock.now()
        process = subprocess.Popen(
            [sys.executable, str(script), str(sign), str(told), kind, str(path)], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": str(ROOT)},
        )  # fmt: skip
        hangs = threading.Timer(BOUND_S, process.kill)
        hangs.start()
        try:
            await_progress(process, EITHER_SIDE, since=began)
            sign.touch()
            jumped = clock.now()
            begun = await_progress(process, 0, since=jumped)
            await_progress(process, begun + EITHER_SIDE, since=jumped)
            process.terminate()
            said, _ = process.communicate(timeout=BOUND_S)
        finally:
            hangs.cancel()
            process.kill()
    ended = clock.now()
    assert json.loads(said.splitlines()[-1])["event"] == "done", said
    assert float(told.read_text()) - time.time() == pytest.approx(hours * 3600, abs=BOUND_S), "no wall clock jumped"
    seal(tmp_path)
    rows = [
        row
        for table in ("sent", "probes")
        if (tmp_path / table).is_dir()
        for row in pq.read_table(tmp_path / table).to_pylist()
    ]
    for row in rows:
        assert began <= row["invoked_at"] <= (row["done_at"] or ended) <= ended
    behind = sum(row["invoked_at"] > jumped for row in rows)
    assert behind >= EITHER_SIDE
    assert len(rows) - behind >= EITHER_SIDE


def await_progress(process: subprocess.Popen[str], least: int, *, since: datetime) -> int:
    """Until the workload says, after that moment, that it has done so many; returns how many it had begun then."""
    assert process.stdout is not None
    for line in process.stdout:
        facts = json.loads(line)
        done = sum(count for kind in facts.values() if isinstance(kind, dict) for count in kind.values())
        if facts["event"] == "progress" and datetime.fromisoformat(facts["at"]) > since and done >= least:
            return int(done + facts.get("in_flight", PROBES_AT_ONCE))
    raise AssertionError(f"it ended before it had done {least}")


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
