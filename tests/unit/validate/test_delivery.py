"""Scenarios about clients: twins differ in one setting, acts make sense, and what must be timed is timed by what is seen."""

from __future__ import annotations

import contextlib
import copy
import json
import random
import sys
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from common.errors import KastellanError, UsageError
from tests.unit.validate.control import cluster, partitions
from validate import scenario as scenarios
from validate.act import groups
from validate.run import story
from validate.run.acts import Acts, NotMade
from validate.run.checks import never_leaderless
from validate.run.expected import Expectation
from validate.run.folder import Entry
from validate.workload import consumer
from validate.workload.spec import ConsumerSpec

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

# What is told of it and who runs it when; the rest is what it does.
TOLD = ("title", "teaches", "explanation", "twin", "expect", "suites", "only_on_request")
# Settings by which Kafka itself lets records go.
AGING = ("retention.", "cleanup.", "delete.", "local.retention.", "segment.")
LOSING = [one.id for one in scenarios.load_all() if one.twin]


def content(name: str) -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((scenarios.FOLDER / f"{name}.yaml").read_text(encoding="utf-8"))
    return found


def flat(value: Any, place: str = "") -> dict[str, Any]:
    if isinstance(value, dict):
        return {k: v for key, item in value.items() for k, v in flat(item, f"{place}/{key}".lstrip("/")).items()}
    return {place: value}


def differing(one: dict[str, Any], other: dict[str, Any]) -> set[str]:
    mine, its = (flat({key: value for key, value in each.items() if key not in TOLD}) for each in (one, other))
    return {place for place in mine.keys() | its.keys() if mine.get(place) != its.get(place)}


@pytest.mark.parametrize("name", LOSING)
def test_a_losing_scenario_and_its_twin_differ_in_the_setting_of_the_title_alone(name: str) -> None:
    losing = scenarios.load(name)
    assert losing.twin is not None
    safe = scenarios.load(losing.twin.of)
    assert differing(content(name), content(safe.id)) == {losing.twin.setting}
    setting = losing.twin.setting.rpartition("/")[2].partition(".")[0][:6]
    assert setting in losing.title.lower()
    assert setting in safe.title.lower()


@pytest.mark.parametrize("name", LOSING)
def test_what_one_loses_the_other_forbids(name: str) -> None:
    losing = scenarios.load(name)
    assert losing.twin is not None
    safe = scenarios.load(losing.twin.of).expect.anomalies
    assert isinstance(losing.expect.anomalies, dict)
    assert isinstance(safe, dict)
    must = {anomaly for anomaly, rule in losing.expect.anomalies.items() if str(rule["count"]).startswith(">")}
    assert must
    assert all(safe[anomaly]["count"] == 0 for anomaly in must)


@pytest.mark.parametrize("name", LOSING)
def test_what_is_lost_is_lost_to_the_setting_and_not_to_age_or_deletion(name: str) -> None:
    losing = scenarios.load(name)
    assert losing.twin is not None
    for one in (losing, scenarios.load(losing.twin.of)):
        aging = {key for topic in one.topics for key in topic.config if key.startswith(AGING)}
        assert aging == set()
        assert isinstance(one.expect.anomalies, dict)
        assert one.expect.anomalies["expired"] == {"count": 0}


@pytest.mark.parametrize("name", ["share-the-load", "consumer-failover"])
def test_a_round_is_left_out_where_it_cannot_exist_and_that_is_said(name: str) -> None:
    one = scenarios.load(name)
    assert one.modes == ("kraft", "zookeeper")
    classic = ["range", "roundrobin", "cooperative"]
    assert groups(one.in_mode("kraft").acts) == [*classic, "uniform", "broker-range"]
    assert groups(one.in_mode("zookeeper").acts) == classic
    assert one.left_out("kraft") == []
    assert one.left_out("zookeeper") == [
        "Round uniform is for mode kraft; it was left out.",
        "Round broker-range is for mode kraft; it was left out.",
    ]
    spoken = {act.round: act.settings.get("protocol", "classic") for act in one.acts if act.verb == "start"}
    assert {way for way, protocol in spoken.items() if protocol == "consumer"} == {"uniform", "broker-range"}


def test_twins_of_which_two_settings_differ_are_told_apart() -> None:
    one = content("acks-none-one-copy")
    other = copy.deepcopy(one)
    other["workload"]["producer"]["acks"] = "all"
    other["topics"]["kastellan-single"]["replication"] = 2
    assert differing(one, other) == {"workload/producer/acks", "topics/kastellan-single/replication"}


def test_idempotence_brings_what_it_cannot_do_without() -> None:
    plain = scenarios.load("duplicates-without-idempotence").workload.sending
    sure = scenarios.load("duplicates-with-idempotence").workload.sending
    assert (plain["acks"], plain["max_in_flight"]) == ("1", 1000)
    assert (sure["acks"], sure["max_in_flight"], sure["linger_ms"]) == ("all", 1, 1000)


def clients(**changes: Any) -> dict[str, Any]:
    return {**content("commit-after-work"), **changes}


@pytest.mark.parametrize(("changes", "what"), [
    ({"acts": [{"start": "one"}, {"start": "one"}]}, "one was started before"),
    ({"acts": [{"start": "one"}, {"kill": "two"}]}, "two is not alive there"),
    ({"acts": [{"start": "one"}, {"kill": "one"}, {"await": "owns", "of": "one", "count": 1}]}, "one is not alive"),
    ({"acts": [{"start": "one"}, {"await": "owns", "of": "one", "count": 1, "since": "nobody"}]}, "there was no nobody"),
    ({"acts": [{"start": "one", "kill": "one"}]}, "acts/0"),
    ({"acts": [{"start": "one", "settings": {"instance_id": "i"}}, {"start": "two", "settings": {"instance_id": "i"}}]},
     "two has the instance id 'i' of one, which is alive"),
    ({"acts": [{"start": "one", "settings": {"comit": "never"}}]}, "unknown key 'comit'"),
    ({"workload": {"kind": "clients", "count": 5, "producer": {"acks": "2"}}}, "acks"),
    ({"acts": [{"start": "one", "kind": "transformer", "settings": {
        "sink": "kastellan-work", "transactional_id": "kastellan-x", "acks": "1"}}]},
     "acks and idempotent contradict transactions"),
    ({"workload": {"kind": "clients", "count": 5, "consumer": {"commit": "before", "batch": 50, "commit_every": 100}}},
     "commit_every is above the batch"),
    ({"rounds": {"each": {"a": {}}, "modes": {"b": ["kraft"]}, "acts": [{"start": "two"}]}}, "there is no round b"),
    ({"rounds": {"each": {"a": {}}, "modes": {"a": ["raft"]}, "acts": [{"start": "two"}]}}, "rounds/modes/a"),
    ({"workload": {"kind": "paced"}}, "can never be met"),
    ({"faults": [{"fault": "stop", "hold": 20}]}, "can never be met"),
])  # fmt: skip
def test_acts_that_make_no_sense_are_refused(changes: dict[str, Any], what: str) -> None:
    with pytest.raises(UsageError) as told:
        scenarios.parse("broken", clients(**changes), place="broken.yaml")
    assert what in str(told.value)


def test_a_static_members_id_passes_on_when_its_owner_has_ended() -> None:
    static = {"settings": {"instance_id": "i"}}
    acts = [{"start": "one", **static}, {"kill": "one"}, {"start": "two", **static}]
    apart = [{"start": "one", **static}, {"start": "two", "group": "other", **static}]
    for some in (acts, apart):
        assert scenarios.parse("static", clients(acts=some), place="static.yaml").acts


def test_a_last_step_overlaps_with_nothing() -> None:
    steps = [{"fault": "stop", "target": "broker", "overlaps": True}]
    with pytest.raises(UsageError, match="can never be met"):
        scenarios.parse("broken", {**content("too-few-replicas"), "faults": steps}, place="broken.yaml")


def test_every_group_of_the_acts_answers_for_what_it_read(tmp_path: Path) -> None:
    made = Expectation(scenarios.load("commit-never"), cluster(tmp_path), "kastellan-g")
    assert set(made.content()["groups"]) == {"kastellan-g", "kastellan-g-static"}
    assert made.content()["progress"] == {"acked_per_partition": 200}


@pytest.mark.parametrize(("leaders", "told"), [([1, -1, 2], 0), ([1, 2], 1), ([], 1)])
def test_a_partition_without_a_leader_is_looked_for(leaders: list[int], told: int, tmp_path: Path) -> None:
    lines = [json.dumps({"topic": "t", "partition": 0, "leader": leader}) for leader in leaders]
    (tmp_path / "isr.jsonl").write_text("\n".join(lines), encoding="utf-8")
    assert len(never_leaderless(tmp_path)) == told


class Message:
    def __init__(self, offset: int) -> None:
        self._offset = offset

    def topic(self) -> str:
        return "t"

    def partition(self) -> int:
        return 0

    def offset(self) -> int:
        return self._offset

    def value(self) -> bytes:
        return b""

    def error(self) -> None:
        return None


class Fetching:
    """In place of librdkafka's consumer: records without end."""

    def __init__(self, *_: Any, **__: Any) -> None:
        self.at, self.committed = 0, 0

    def subscribe(self, *_: Any, **__: Any) -> None:
        pass

    def poll(self, _: float) -> Message:
        self.at += 1
        return Message(self.at - 1)

    def commit(self, offsets: list[Any], **_: Any) -> list[Any]:
        self.committed = offsets[0].offset
        return [SimpleNamespace(topic="t", partition=0, error=None)]


class Died(BaseException):
    pass


def test_commits_behind_the_work_may_span_batches() -> None:
    """They are counted over batches, or come by time: rarely, and not never."""
    lazy = scenarios.load("lazy-commits-rebalance").workload.consumer
    assert (lazy["commit"], lazy["commit_every"] > lazy["batch"]) == ("after", True)


def crashed(monkeypatch: pytest.MonkeyPatch, commit: str) -> tuple[int, int]:
    """What was committed and what was taken up when it died."""

    def die(*_: Any) -> None:
        raise Died

    monkeypatch.setattr(consumer, "Consumer", Fetching)
    monkeypatch.setattr(consumer.os, "kill", die)  # type: ignore[attr-defined]
    spec = ConsumerSpec.parse(
        {
            "run_id": "r", "name": "c", "ledger": "l", "client": {}, "topics": [{"name": "t", "partitions": 1}],
            "group": "g", "commit": commit, "commit_every": 50, "commit_interval_ms": 60000, "crash_after": 525,
        }
    )  # fmt: skip
    home: Any = SimpleNamespace(
        journal=SimpleNamespace(append=lambda _: None), clock=SimpleNamespace(now_us=lambda: 0), signs=None
    )
    member = consumer.Member(spec, home)
    with pytest.raises(Died):
        member.run(lambda: False, lambda: None)
    committed: Any = member._consumer.committed
    return committed, sum(member.delivered.values())


def test_a_crash_ahead_of_the_work_leaves_committed_records_undone(monkeypatch: pytest.MonkeyPatch) -> None:
    assert crashed(monkeypatch, "before") == (550, 525)


def test_a_crash_behind_the_work_leaves_done_records_uncommitted(monkeypatch: pytest.MonkeyPatch) -> None:
    assert crashed(monkeypatch, "after") == (500, 525)


class Telling:
    """In place of a load: a hundred records more at every look."""

    def __init__(self, events: list[str], *, stuck: bool = False) -> None:
        self.events, self.stuck, self.count = events, stuck, 0
        self.workloads = self

    def mark(self) -> tuple[float, dict[str, int]]:
        return 0.0, {}

    def note(self, *_: Any) -> None:
        pass

    def check(self) -> None:
        pass

    def caught(self, _: float) -> bool:
        return True

    def acked(self) -> dict[str, int]:
        return {}

    def sent(self) -> int:
        self.count += 0 if self.stuck else 100
        self.events.append("look")
        return self.count


def played(folder: Path, monkeypatch: pytest.MonkeyPatch, *, stuck: bool = False, bound_s: float = 30) -> list[str]:
    events: list[str] = []
    found = scenarios.load("acks-one-two-killed")
    found.bounds["phase_s"] = bound_s
    at_hand = cluster(folder)

    @contextlib.contextmanager
    def broken(_: Any, fault: str, hosts: Any, *__: Any, **___: Any) -> Iterator[Any]:
        events.append(f"{fault} {hosts[0].name}")
        try:
            yield SimpleNamespace(last_at=datetime.now(UTC))
        finally:
            events.append(f"heal {fault}")

    monkeypatch.setattr(story, "broken", broken)
    admin: Any = SimpleNamespace(
        partitions=lambda _: partitions({"kastellan-pair": (1, 2, 1)}, 4),
        min_in_sync=lambda names: dict.fromkeys(names, 1),
        controller=lambda: 3,
    )
    context: Any = SimpleNamespace(
        admin=admin, cluster=at_hand, record=None, clock=SimpleNamespace(now=lambda: datetime.now(UTC)),
        folder=SimpleNamespace(say=lambda _: None, seed=1),
    )  # fmt: skip
    load: Any = Telling(events, stuck=stuck)
    tale = story.Story(
        context, found, Entry("x", "t", "t", [], "e", "r", {}), load, None, Expectation(found, at_hand, "g")  # type: ignore[arg-type]
    )  # fmt: skip
    first, second = (scenarios.Step(**{**step.__dict__, "hold": 0.0}) for step in found.steps)
    try:
        tale._both(first, second, random.Random(1))
    except KastellanError as error:
        events.append(error.brief)
    return events


def test_the_leader_is_killed_while_its_follower_stands_still_and_records_were_sent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    events = played(tmp_path, monkeypatch)
    looks = events.count("look")
    assert [one for one in events if one != "look"] == ["pause broker-2", "kill broker-1", "heal pause", "heal kill"]
    assert events.index("kill broker-1") == looks + 1, "the kill has to wait for the records"
    assert looks == 6


def test_without_records_the_second_fault_does_not_fall_and_the_first_heals(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    events = [one for one in played(tmp_path, monkeypatch, stuck=True, bound_s=0.2) if one != "look"]
    assert events == ["pause broker-2", "heal pause", "Fewer than 500 records were sent between the two faults."]


@pytest.mark.parametrize(("least_ms", "told"), [(6000, "Brokers allow no session below 6000 ms"), (500, "written")])
def test_sessions_that_brokers_forbid_leave_the_scenario_unknown(least_ms: int, told: str, tmp_path: Path) -> None:
    """Before the first record; sessions as brokers usually allow them are not asked for at all."""

    def least() -> int:
        asked.append(least_ms)
        return least_ms

    def write() -> None:
        raise NotMade("written")

    asked: list[int] = []
    context: Any = SimpleNamespace(
        folder=SimpleNamespace(folder=lambda _: tmp_path), admin=SimpleNamespace(least_session_ms=least),
        shared_spec=lambda client, topics: {"client": client, "topics": topics},
    )  # fmt: skip
    place: Any = SimpleNamespace(settings={})
    for name, words, count in (("lazy-commits-half-second", told, 1), ("lazy-commits-rebalance", "written", 0)):
        acts = Acts(context, scenarios.load(name), Entry("x", "t", "t", [], "e", "r", {}), place, tmp_path, "g")
        acts._write = write  # type: ignore[method-assign]
        asked.clear()
        with pytest.raises(NotMade, match=words):
            acts.play()
        assert len(asked) == count


def test_a_member_that_does_not_die_leaves_the_scenario_unknown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Processes that say they are ready and done, and live on."""
    saying = tmp_path / "saying"
    saying.write_text(
        '#!/bin/sh\necho \'{"event": "ready"}\'\necho \'{"event": "done", "acked": {}}\'\nexec sleep 60\n'
    )
    saying.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(saying))
    found = scenarios.load("commit-after-work")
    found.bounds["act_s"] = 0.3
    ledger = tmp_path / "ledger"
    ledger.mkdir()
    said: list[str] = []
    context: Any = SimpleNamespace(
        folder=SimpleNamespace(say=said.append, seed=1, folder=lambda _: tmp_path),
        shared_spec=lambda client, topics: {"client": client, "topics": topics},
    )
    place: Any = SimpleNamespace(settings={})
    acts = Acts(context, found, Entry("x", "t", "t", [], "e", "r", {}), place, ledger, "kastellan-g")
    try:
        with pytest.raises(NotMade, match="first died: not within"):
            acts.play()
    finally:
        acts.workloads.kill()
    assert NotMade.exit_code == 2
