"""The runner's own judgement: the worst wins, a dead workload is unknown, consent is asked, silence is checked."""

from __future__ import annotations

import fcntl
import json
import sys
import time
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from common.errors import UsageError
from common.wait import wait_until
from tests.unit.validate.control import cluster, described
from validate import scenario
from validate.__main__ import main, parser
from validate.faults.errors import NotHealed
from validate.faults.record import OpenFault, Record
from validate.ledger.from_json import arrow_schema
from validate.run import one, own_topics, runner
from validate.run.checks import broke_silence, not_refused
from validate.run.context import Context
from validate.run.expected import Forecast
from validate.run.folder import Entry, RunFolder, worst
from validate.run.processes import WorkloadDied, Workloads
from validate.run.story import Window

if TYPE_CHECKING:
    from pathlib import Path

T0 = datetime(2026, 11, 18, 7, tzinfo=UTC)


def entry() -> Entry:
    return Entry("kill-leader", "t", "t", ["smoke"], "e", "r", {})


def folder(path: Path) -> RunFolder:
    return RunFolder(path / "run", run_id="20261118T070000Z-s1", seed=1, suite="smoke", command=["x"])


@pytest.mark.parametrize(
    ("verdicts", "expected"),
    [
        (["passed", "unknown"], "unknown"),
        (["unknown", "failed", "passed"], "failed"),
        (["passed", "not-applicable"], "passed"),
        ([], "unknown"),
    ],
)
def test_the_worst_verdict_wins(verdicts: list[str], expected: str) -> None:
    assert worst(verdicts) == expected


def test_a_later_good_verdict_does_not_mend_an_earlier_bad_one() -> None:
    found = entry()
    found.settle("failed", "lost 3")
    found.settle("passed")
    assert (found.verdict, found.reasons) == ("failed", ["lost 3"])


def test_a_run_in_which_nothing_applied_has_shown_nothing(tmp_path: Path) -> None:
    made = folder(tmp_path)
    made.entries.append(entry())
    made.entries[0].settle("not-applicable", "too few brokers")
    assert made.verdict == "unknown"


def test_run_json_is_there_whole_after_every_step(tmp_path: Path) -> None:
    made = folder(tmp_path)
    made.describe(cluster(tmp_path))
    made.save()
    first = json.loads((made.path / "run.json").read_text())
    made.save(ended=True, reason="ended early")
    last = json.loads((made.path / "run.json").read_text())
    assert (first["ended_at"], last["reasons"]) == (None, ["ended early"])
    assert last["ended_at"] > last["started_at"]
    assert last["cluster"]["voters"] == 4


@pytest.mark.parametrize(
    ("error", "verdict", "unhealed"),
    [(NotHealed("The cluster is not whole"), "failed", True), (WorkloadDied("A workload died"), "unknown", False)],
)
def test_what_hinders_is_unknown_and_what_does_not_heal_has_failed(error: Any, verdict: str, unhealed: bool) -> None:
    found = entry()
    one._settle(found, error)
    assert (found.verdict, found.unhealed) == (verdict, unhealed)


def workloads(path: Path) -> Workloads:
    path.mkdir(exist_ok=True)
    return Workloads(path, path, {"run_id": "r", "client": {"sasl.password": "canary"}, "topics": []})


def died(made: Workloads) -> str:
    deadline_s = time.monotonic() + 30
    while time.monotonic() < deadline_s:
        try:
            made.check()
        except WorkloadDied as error:
            return str(error)
    raise AssertionError("it lives")


def test_a_workload_that_dies_is_told_with_its_last_words(tmp_path: Path) -> None:
    made = workloads(tmp_path / "ledger")
    made.start("producer", "writer-1", recrods_per_s=5)
    told = died(made)
    assert "producer writer-1 died with exit code 64" in told
    assert "recrods_per_s" in told
    assert not list((tmp_path / "ledger").glob("spec-*")), "the spec holds a password and must be gone"


def test_what_a_producer_said_before_counts_for_no_bite(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sends of an outage before are no sign that the next one has been felt."""
    saying = tmp_path / "saying"
    saying.write_text('#!/bin/sh\necho \'{"event": "progress", "in_flight": 3000}\'\nexec sleep 60\n')
    saying.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(saying))
    made = workloads(tmp_path / "ledger")
    began_s = time.monotonic()
    made.start("producer", "writer-1")
    try:
        assert wait_until(lambda: made.in_flight(began_s) == 3000, timeout_s=10)
        assert made.in_flight(time.monotonic()) == 0
    finally:
        made.kill()


def test_a_workload_that_is_killed_is_told_with_the_signal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sleeping = tmp_path / "sleeping"
    sleeping.write_text("#!/bin/sh\nexec sleep 60\n")
    sleeping.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(sleeping))
    made = workloads(tmp_path / "ledger")
    started = made.start("producer", "writer-1")
    made.check()
    assert oct((tmp_path / "ledger" / "spec-ledger-writer-1.json").stat().st_mode)[-3:] == "600"
    started.process.kill()
    started.process.wait()
    assert "died with signal 9" in died(made)
    assert not made.all_well
    assert ["died with signal 9" in words for words in made.end(made.all)] == [True], "gone before it was asked"
    made.kill()
    assert not list((tmp_path / "ledger").glob("spec-*"))


def window(silent: set[tuple[str, int]], alive: set[tuple[str, int]] | None = None) -> Window:
    chosen = frozenset(silent)
    until = T0 + timedelta(seconds=20)
    return Window(T0, until, Forecast(frozenset(), chosen), frozenset(alive if alive is not None else silent))


def write(path: Path, table: str, rows: list[dict[str, Any]]) -> None:
    schema = arrow_schema(table)
    (path / table).mkdir(exist_ok=True)
    whole = [{name: row.get(name) for name in schema.names} for row in rows]
    pq.write_table(pa.Table.from_pylist(whole, schema=schema), path / table / "x.parquet")


@pytest.mark.parametrize(
    ("second", "outcome", "told"), [(1, "acked", 0), (10, "acked", 1), (10, "unknown", 0), (21, "acked", 0)]
)
def test_an_ack_of_a_partition_that_cannot_serve_breaks_the_promise(
    second: int, outcome: str, told: int, tmp_path: Path
) -> None:
    at = T0 + timedelta(seconds=second)
    row = {"run_id": "r", "producer": "p", "topic": "t", "partition": 0, "seq": 0, "attempt": 0, "acks": "all"}
    more = {"idempotent": True, "max_in_flight": 5, "invoked_at": T0, "done_at": at, "outcome": outcome}
    write(tmp_path, "sent", [{**row, **more}, {**row, **more, "topic": "other", "outcome": "acked"}])
    assert len(broke_silence(tmp_path, [window({("t", 0)})])) == told


@pytest.mark.parametrize(
    ("error", "alive", "told"),
    [("NOT_ENOUGH_REPLICAS", {("t", 0)}, 0), ("_MSG_TIMED_OUT", {("t", 0)}, 1), ("_MSG_TIMED_OUT", set(), 0)],
)
def test_a_single_shot_write_must_have_been_refused(error: str, alive: set[Any], told: int, tmp_path: Path) -> None:
    at = {"invoked_at": T0 + timedelta(seconds=3), "done_at": T0 + timedelta(seconds=4)}
    row = {"witness": "fresh", "kind": "write", "topic": "t", "partition": 0, "outcome": "failed", "error": error}
    write(tmp_path, "probes", [{**row, **at}])
    assert len(not_refused(tmp_path, [window({("t", 0)}, alive)])) == told


def wish(*ids: str, **more: Any) -> runner.Wish:
    return runner.Wish(suite=None, ids=ids, **more)


def test_faults_need_consent(tmp_path: Path) -> None:
    closed = cluster(tmp_path, faults_allowed=False)
    with pytest.raises(UsageError, match="Faults are not allowed") as told:
        runner.run(closed, wish("kill-leader", "baseline"))
    assert "kill-leader" in told.value.details
    assert "baseline" not in told.value.details
    assert "--allow-faults" in told.value.resolution


def test_nothing_begins_while_faults_are_open(tmp_path: Path) -> None:
    at_hand = cluster(tmp_path)
    Record(tmp_path).open(OpenFault("stop", "broker-2", since="2026-11-18T07:00:00Z"))
    with pytest.raises(UsageError, match="still open") as told:
        runner.run(at_hand, wish("baseline", where=("--stack", "x")))
    assert "stop on broker-2" in told.value.details
    assert told.value.resolution == "python -m validate heal --stack x"


@pytest.mark.parametrize(
    ("unhealed", "told", "why"),
    [
        (True, "kill-leader left the cluster broken;", "the cluster did not heal after kill-leader"),
        (False, "the healing of kill-leader could not be written down", "the healing of kill-leader could not be"),
    ],
)
def test_behind_an_open_fault_nothing_begins_and_a_healed_cluster_is_not_called_broken(
    unhealed: bool, told: str, why: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def leaves_it_open(context: Context, _: Any, found: Entry) -> None:
        context.record.open(OpenFault("stop", "broker-2"))
        found.unhealed = unhealed

    monkeypatch.setattr(runner, "run_one", leaves_it_open)
    nothing: Any = None
    context = Context(cluster(tmp_path), nothing, nothing, Record(tmp_path), allow_faults=True, large=False)
    first, second = entry(), entry()
    asked = [scenario.load(name) for name in ("kill-leader", "stop-one-broker")]
    reason = runner._all(context, list(zip(asked, (first, second), strict=True)))
    assert reason.startswith(told)
    assert reason.endswith("nothing further was begun")
    assert ("validate heal" in reason) != unhealed
    assert second.verdict == "unknown"
    assert second.reasons[0].startswith(f"not begun: {why}")


def test_two_runs_on_one_cluster_are_refused(tmp_path: Path) -> None:
    at_hand = cluster(tmp_path)
    with (tmp_path / "run.lock").open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        with pytest.raises(UsageError, match="Another run works"):
            runner.run(at_hand, wish("baseline"))


def test_heal_keeps_away_from_a_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = described(tmp_path)
    with (tmp_path / "run.lock").open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        assert main(["heal", "--cluster", str(path)]) == 64
    assert "Another run works" in capsys.readouterr().err


def test_topics_of_a_run_that_died_are_removed_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    removed: list[tuple[str, list[str]]] = []

    class Place:
        def __init__(self, _cluster: Any, user: str) -> None:
            self.user = user

        def remove(self, names: list[str]) -> None:
            removed.append((self.user, names))

    monkeypatch.setattr(own_topics, "Workplace", Place)
    own = own_topics.OwnTopics(cluster(tmp_path))
    assert own.remove() == []
    own.open("validator", ["kastellan-one"])
    assert own_topics.OwnTopics(cluster(tmp_path)).remove() == ["kastellan-one"]
    assert own.remove() == []
    assert removed == [("validator", ["kastellan-one"])]
    own.path.write_text("{")
    with pytest.raises(UsageError, match="is broken"):
        own.remove()


def test_without_ssh_a_scenario_with_faults_is_unknown_and_one_without_applies(tmp_path: Path) -> None:
    from tests.unit.validate.control import GOOD  # noqa: PLC0415

    hosts = [{**host, "ssh": None} for host in GOOD["hosts"]]
    nothing: Any = None
    context = Context(cluster(tmp_path, hosts=hosts), nothing, nothing, nothing, allow_faults=True, large=False)
    found = entry()
    assert not one._applies(context, scenario.load("kill-leader"), found)
    assert found.verdict == "unknown"
    assert "no ssh access to broker-1" in found.reasons[0]
    assert one._applies(context, scenario.load("baseline"), entry())
    few = Context(cluster(tmp_path, 2), nothing, nothing, nothing, allow_faults=True, large=False)
    found = entry()
    assert not one._applies(few, scenario.load("kill-leader"), found)
    assert found.verdict == "not-applicable"


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["run", "--suite", "smokee"], "Did you mean 'smoke'?"),
        (["run", "--scenario", "kil-leader", "--cluster", "{}"], "Did you mean 'kill-leader'?"),
        (["run", "--cluster", "{}x"], "cannot be read"),
        (["run", "--stack", "nowhere"], "There is no cluster of stack 'nowhere'"),
        (["heal", "--stack", "nowhere"], "There is no cluster of stack 'nowhere'"),
        (["run", "--suite", "load", "--scenario", "baseline"], "not allowed with"),
    ],
)
def test_a_wrong_call_ends_with_64(
    words: list[str], told: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = described(tmp_path)
    assert main([word.format(path) for word in words]) == 64
    assert told in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("--scenario kill-leader --scenario baseline all", ["kill-leader", "baseline", "all"]),
        ("--check 5 --check 7", [5, 7]),
    ],
)
def test_an_option_that_is_given_twice_counts_twice(words: str, told: list[Any]) -> None:
    given = parser().parse_args(["run", *words.split()])
    assert (given.scenario or given.check) == told


def test_list_shows_every_scenario(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert {"kill-leader", "load-million", "mixed-weather"} <= {row["id"] for row in rows}
