"""Acts of the labs: marks, quotas that are taken away whatever happens, topics that are waited for, groups that claim."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml

from common.errors import UsageError
from common.wait import wait_until
from tests.unit.validate.control import cluster
from validate import act, counting, quotas
from validate import scenario as scenarios
from validate.expect import parse
from validate.quorum import ClusterSilent
from validate.run import one
from validate.run.acts import Acts, NotMade
from validate.run.expected import Expectation
from validate.run.folder import Entry
from validate.run.processes import Workload, WorkloadDied
from validate.run.room import NoRoom
from validate.workload.clock import Clock

GROUP = "kastellan-g"


def content(name: str, **changes: Any) -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((scenarios.FOLDER / f"{name}.yaml").read_text(encoding="utf-8"))
    return {**found, **changes}


def players(found: scenarios.Scenario, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Acts:
    """Processes write down what they are told, say that they are ready and done, and end."""
    saying = folder / "saying"
    saying.write_text(
        '#!/bin/sh\ncp "$4" "$4.told"\necho \'{"event": "ready"}\'\necho \'{"event": "done", "acked": {}}\'\nexec sleep 60\n'
    )
    saying.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(saying))
    ledger = folder / "ledger"
    ledger.mkdir()
    context: Any = SimpleNamespace(
        folder=SimpleNamespace(say=lambda _: None, seed=1, folder=lambda _: folder),
        shared_spec=lambda client, topics: {"client": client, "topics": topics},
        clock=Clock(), cluster=SimpleNamespace(client=lambda user: {"user": user}, admin_user="admin"),
    )  # fmt: skip
    place: Any = SimpleNamespace(settings={"user": "validator"})
    return Acts(context, found, Entry("x", "t", "t", [], "e", "r", {}), place, ledger, GROUP)


def told(folder: Path, name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / f"spec-ledger-{name}.json.told").read_text(encoding="utf-8"))
    return found


def test_who_begins_at_a_mark_is_told_its_moment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = players(scenarios.load("seek-and-replay"), tmp_path, monkeypatch)
    try:
        made.play()
    finally:
        made.workloads.kill()
    moment = made._marks["noon"].timestamp() * 1000
    assert told(tmp_path, "afternoon")["begin_ms"] == int(moment)
    assert "begin_ms" not in told(tmp_path, "all")


def test_a_query_is_no_member_and_its_sink_nobodys_input(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = scenarios.load("dangerous-driving")
    made = players(found, tmp_path, monkeypatch)
    try:
        made.play()
    finally:
        made.workloads.kill()
    assert [topic["name"] for topic in told(tmp_path, "trucks")["topics"]] == ["kastellan-positions"]
    assert "group" not in told(tmp_path, "query")
    assert "groups" not in Expectation(found, cluster(tmp_path), GROUP).content()


def test_a_quota_goes_however_it_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = scenarios.load("quotas")
    found.bounds["act_s"] = 0.3
    asked: list[tuple[Any, str, float | None]] = []
    monkeypatch.setattr(quotas, "set_quota", lambda *words: asked.append(words))
    made = players(found, tmp_path, monkeypatch)
    monkeypatch.setattr(made, "_start", lambda _: (_ for _ in ()).throw(NotMade("it did not start")))
    try:
        with pytest.raises(NotMade):
            made.play()
    finally:
        made.undo()
        made.undo()
    admin = {"user": "admin"}
    assert asked == [(admin, "kastellan-slow", 200000.0), (admin, "kastellan-slow", None)]


@pytest.mark.parametrize(("bytes_per_s", "operation"), [(5.0, (5.0, False)), (None, (0.0, True))])
def test_the_message_of_a_quota(bytes_per_s: float | None, operation: tuple[float, bool]) -> None:
    """As a broker would read it."""
    asked = quotas.request("kastellan-slow", bytes_per_s)
    made = type(asked).decode(asked.encode(version=1), version=1)
    (entry,) = made.entries
    assert [(one.entity_type, one.entity_name) for one in entry.entity] == [("client-id", "kastellan-slow")]
    assert [(one.key, one.value, one.remove) for one in entry.ops] == [("producer_byte_rate", *operation)]
    assert made.validate_only is False


def test_a_refused_quota_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    refusal = SimpleNamespace(error_code=31, error_message="Cluster authorization failed.")
    client: Any = SimpleNamespace(
        _send_request_to_controller=None,
        _manager=SimpleNamespace(run=lambda *_: SimpleNamespace(entries=[refusal])),
    )
    monkeypatch.setattr("validate.quorum._ask", lambda _, __, question: question(client))
    with pytest.raises(ClusterSilent, match="error 31: Cluster authorization failed"):
        quotas.set_quota({}, "kastellan-slow", 5.0)


@pytest.mark.parametrize(
    ("what", "count", "met"), [("holds", 440, True), ("holds", 439, False), ("keys", 22, True), ("keys", 21, False)]
)
def test_a_topic_is_waited_for_by_what_can_be_read(
    what: str, count: int, met: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = scenarios.load("compaction")
    found.bounds["act_s"] = 0.2
    monkeypatch.setattr(counting, "holds", lambda *_: counting.Held(440, 22))
    made = players(found, tmp_path, monkeypatch)
    one = act.Act("await", "kastellan-compacted", what=what, count=count)
    if met:
        made._await(one)
    else:
        with pytest.raises(NotMade, match=f"kastellan-compacted {what} {count}: not within"):
            made._await(one)


@pytest.mark.parametrize(
    ("acts", "what"),
    [
        ([{"start": "one", "at": "noon", "settings": {"places": ["kastellan-replay/0"], "begin": "time"}}], "no mark noon"),
        ([{"quota": "somebody", "bytes_per_s": 5}], "acts/0"),
        ([{"quota": "kastellan-slow"}], "acts/0"),
        ([{"start": "one", "settings": {"places": ["kastellan-replay/3"]}}], "places"),
        ([{"start": "one", "kind": "pipeline", "settings": {"query": "iris"}}], "lacks"),
        ([{"start": "one", "kind": "producer", "settings": {"sample": "roses"}}], "sample"),
    ],
)  # fmt: skip
def test_acts_that_make_no_sense_are_refused(acts: list[dict[str, Any]], what: str) -> None:
    with pytest.raises(UsageError) as error:
        scenarios.parse("broken", content("seek-and-replay", acts=acts), place="broken.yaml")
    assert what in str(error.value)


def test_a_group_claims_everything_unless_somebody_in_it_chooses() -> None:
    made = act.parse(
        [{"start": "a"}, {"start": "b", "group": "own", "settings": {"places": ["t/0"]}}, {"start": "c", "kind": "producer"}],
        "x",
    )  # fmt: skip
    assert act.groups(made) == ["", "own"]
    assert act.claiming(made, {}) == [""]
    assert act.claiming(made, {"places": ["t/1"]}) == []


def test_rounds_leave_topics_their_names() -> None:
    made = act.repeated({"times": 1, "acts": [{"mark": "now"}, {"await": "holds", "of": "kastellan-t", "count": 1}]})
    assert made == [{"mark": "now-1"}, {"await": "holds", "of": "kastellan-t", "count": 1}]


def test_what_a_process_had_started_dies_with_it(tmp_path: Path) -> None:
    """Spark's query is a child of the process that is killed."""
    command = ["sh", "-c", "sleep 60 & echo $!; wait"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True)
    assert process.stdout
    child = Path(f"/proc/{process.stdout.readline().strip()}/stat")
    assert child.exists()
    made = Workload("pipeline", "query", process, tmp_path / "log")
    made.kill()
    assert made.killed
    assert wait_until(lambda: not child.exists() or child.read_text().split()[2] == "Z", timeout_s=5)
    made.kill()


@pytest.mark.parametrize("error", [NotMade("not made"), NoRoom(Path("ledger"), 1, 2), WorkloadDied("died"), None])
def test_acts_that_break_off_leave_no_group_to_answer_for_the_rest(
    error: Exception | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Members are killed then, wherever they are: what they have not read would count as unseen, which fails."""

    def play() -> None:
        if error:
            raise error

    acts = SimpleNamespace(
        play=play, finish=list, undo=list, workloads=SimpleNamespace(all_well=True, kill=lambda: None)
    )
    monkeypatch.setattr(one, "Acts", lambda *_: acts)
    found, entry = scenarios.load("consumer-failover"), Entry("x", "t", "t", [], "e", "r", {})
    made = Expectation(found, cluster(tmp_path), GROUP)
    one._clients(None, found, entry, None, tmp_path, made)  # type: ignore[arg-type]
    expected = made.content()
    assert entry.verdict == ("unknown" if error else None)
    assert ("groups" in expected, "unseen" in expected["anomalies"]) == (error is None, error is None)
    assert "lost" in expected["anomalies"]
    parse(expected)


def test_what_slow_readers_had_still_to_read_speaks_against_nobody(tmp_path: Path) -> None:
    made = Expectation(scenarios.load("baseline"), cluster(tmp_path), "g")
    assert "groups" in made.content()
    made.slow_readers = True
    expected = made.content()
    assert ("groups" in expected, "unseen" in expected["anomalies"]) == (False, False)
    assert {"unacked-read", "lost", "lost-in-delivery"} <= expected["anomalies"].keys()
    parse(expected)


def test_of_acts_that_break_off_no_producer_is_asked_for_what_was_in_the_air(tmp_path: Path) -> None:
    made = Expectation(scenarios.load("baseline"), cluster(tmp_path), "g")
    assert {"unacked-read", "unacked-absent", "unseen"} <= set(made.content()["anomalies"])
    made.broke_off = True
    assert not {"unacked-read", "unacked-absent", "unseen"} & set(made.content()["anomalies"])
