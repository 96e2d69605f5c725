"""Every shipped scenario is sound, and a broken one is refused with the place of the mistake."""

from __future__ import annotations

import copy
import re
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from common.errors import UsageError
from tests.unit.validate.control import cluster, partitions
from validate import scenario as scenarios
from validate.admin import Admin, Partition
from validate.expect import parse as parse_expectation
from validate.groups import java_hash
from validate.quorum import ClusterSilent
from validate.run.expected import Expectation, blocked_groups, forecast, keeps_quorum
from validate.run.runner import Wish, chosen

if TYPE_CHECKING:
    from pathlib import Path

TABLE = {
    "load-million", "baseline", "stop-one-broker", "stop-two-brokers", "kill-leader", "kill-follower", "kill-controller",
    "kill-coordinator", "kill-supervised", "pause-leader", "isolate-leader", "isolate-minority", "isolate-client",
    "chase-the-leader", "restart-rolling", "kill-all", "fill-disk", "freeze-log-dir", "mixed-weather",
}  # fmt: skip
# Of an ensemble beside the brokers; not applicable to KRaft.
ZOOKEEPER = {
    "stop-one-zookeeper", "expire-session", "isolate-one-zookeeper", "kill-one-zookeeper", "kill-two-zookeepers",
}  # fmt: skip
DELIVERY = {
    "acks-all-one-copy", "acks-all-three-copies", "acks-all-two-copies", "acks-all-two-killed",
    "acks-none-one-copy", "acks-none-two-copies", "acks-one-two-killed", "clean-election", "commit-after-work",
    "commit-before-work", "commit-never", "compression", "consumer-failover", "duplicates-with-idempotence",
    "duplicates-without-idempotence", "exactly-once-database", "exactly-once-transactions",
    "lazy-commits-rebalance", "share-the-load", "too-few-replicas", "unclean-election",
}  # fmt: skip
LAB = {
    "compaction", "dangerous-driving", "dangerous-driving-killed", "interceptors-and-metrics", "iris",
    "iris-pipeline", "partitioner", "quotas", "retention", "seek-and-replay", "sticky-failover", "stock-windows",
    "three-broker-failover", "tombstones",
}  # fmt: skip
# Not yet seen to come out as they say.
UNTRIED = {"lazy-commits-half-second"}
SHAPED = {"load-shape"}
SHAPES = {"kastellan-one": (1, 2, 2), "kastellan-three": (3, 2, 2), "kastellan-four": (4, 3, 2)}
GOOD: dict[str, Any] = yaml.safe_load((scenarios.FOLDER / "kill-leader.yaml").read_text(encoding="utf-8"))


def changed(**changes: Any) -> dict[str, Any]:
    return {**copy.deepcopy(GOOD), **changes}


def test_all_of_the_table_and_the_sample_are_there() -> None:
    assert set(scenarios.ids()) == TABLE | ZOOKEEPER | DELIVERY | LAB | UNTRIED | SHAPED | {"load-sample"}


@pytest.mark.parametrize("name", scenarios.ids())
def test_a_shipped_scenario_is_sound(name: str) -> None:
    found = scenarios.load(name)
    assert re.fullmatch(r"[a-z]+(-[a-z]+)*", found.id)
    assert len(found.explanation) > 80
    assert found.suites


def test_suites_hold_what_was_promised() -> None:
    def ids(suite: str) -> list[str]:
        return [one.id for one in chosen(Wish(suite=suite, ids=()))]

    assert ids("smoke") == ["load-sample", "kill-leader", "stop-one-broker"]
    assert ids("load") == ["load-million", "baseline", "load-shape"]
    assert set(ids("failover")) == (TABLE | ZOOKEEPER) - {"load-million"}
    assert set(ids("delivery")) == DELIVERY
    assert set(ids("lab")) == LAB
    assert set(ids("untried")) == UNTRIED
    assert not UNTRIED & set(ids("all"))
    assert "load-million" not in ids("all")
    assert ids("failover")[0] == "baseline"


@pytest.mark.parametrize("brokers", [3, 4])
@pytest.mark.parametrize("name", sorted(TABLE - {"load-million"}))
def test_expectations_are_computed_for_three_and_four_brokers(name: str, brokers: int, tmp_path: Path) -> None:
    at_hand, found = cluster(tmp_path, brokers), scenarios.load(name)
    made = Expectation(found, at_hand, "kastellan-group")
    before = partitions(SHAPES, brokers)
    for step in found.all_steps:
        count = {"two-brokers": 2, "all": brokers}.get(step.target, 1)
        hosts = list(at_hand.hosts[:count])
        made.add(step, hosts, forecast(at_hand, step, hosts, before), 1)
    content = made.content()
    parse_expectation(content)
    assert content["groups"] == {"kastellan-group": {"topics": list(SHAPES), "from": "earliest"}}


def serving(name: str, brokers: int, hit: list[int], folder: Path, mode: str = "kraft") -> set[str]:
    at_hand = cluster(folder, brokers, mode=mode)
    step = scenarios.load(name).all_steps[0]
    found = forecast(at_hand, step, [at_hand.hosts[n - 1] for n in hit], partitions(SHAPES, brokers))
    everything = {(p.topic, p.index) for p in partitions(SHAPES, brokers)}
    assert found.serving | found.silent == everything
    assert not found.serving & found.silent
    return {f"{topic}-{index}" for topic, index in found.serving}


def test_one_stopped_of_four_leaves_what_has_a_spare_replica(tmp_path: Path) -> None:
    fours = {f"kastellan-four-{n}" for n in range(4)}
    assert serving("stop-one-broker", 4, [1], tmp_path) == fours | {"kastellan-three-1", "kastellan-three-2"}


def test_two_stopped_of_four_leave_partitions_that_lose_one_at_most(tmp_path: Path) -> None:
    # Replicas of kastellan-four: 123, 234, 341, 412; without 1 and 2 only 1 and 2 keep two.
    assert serving("stop-two-brokers", 4, [1, 2], tmp_path) == {
        "kastellan-four-1",
        "kastellan-four-2",
        "kastellan-three-2",
    }


def test_two_stopped_of_three_leave_nothing(tmp_path: Path) -> None:
    assert serving("stop-two-brokers", 3, [1, 2], tmp_path) == set()
    assert serving("stop-two-brokers", 3, [1, 2], tmp_path, mode="zookeeper") == set()


def test_without_a_quorum_a_killed_replica_stays_in_the_in_sync_set(tmp_path: Path) -> None:
    """Two of four killed at once: partitions that lose one cannot shrink, so only those that lose none go on."""
    at_hand = cluster(tmp_path)
    step = scenarios.Step("kill", None, target="two-brokers")
    found = forecast(at_hand, step, list(at_hand.hosts[:2]), partitions(SHAPES, 4))
    assert found.serving == {("kastellan-three", 2)}
    assert any("no quorum" in note for note in found.notes)


def test_a_cut_of_the_clients_costs_what_that_broker_leads(tmp_path: Path) -> None:
    left = serving("isolate-client", 4, [1], tmp_path)
    assert left == {
        "kastellan-three-1",
        "kastellan-three-2",
        "kastellan-four-1",
        "kastellan-four-2",
        "kastellan-four-3",
    }


@pytest.mark.parametrize(("brokers", "away", "kept"), [(4, 1, True), (4, 2, False), (3, 1, True), (3, 2, False)])
def test_a_majority_of_voters_is_needed(brokers: int, away: int, kept: bool, tmp_path: Path) -> None:
    at_hand = cluster(tmp_path, brokers)
    assert keeps_quorum(at_hand, at_hand.hosts[:away]) is kept
    assert keeps_quorum(cluster(tmp_path, brokers, mode="zookeeper"), at_hand.hosts[:away])


def test_what_a_dead_workload_left_in_the_air_is_its_own_doing_and_nothing_else_is(tmp_path: Path) -> None:
    made = Expectation(scenarios.load("baseline"), cluster(tmp_path), "g")
    alive = made.content()["anomalies"]
    made.workload_died = True
    assert alive.keys() - made.content()["anomalies"].keys() == {"unacked-read", "unacked-absent"}


def test_records_of_a_witness_may_overtake_each_other_and_nobody_elses(tmp_path: Path) -> None:
    probed = Expectation(scenarios.load("load-shape"), cluster(tmp_path), "g").content()["anomalies"]
    assert "reordered" not in probed
    alone = Expectation(scenarios.load("load-million"), cluster(tmp_path), "g").content()["anomalies"]
    assert alone.keys() - probed.keys() == {"reordered"}


def bound(name: str, controller: int, folder: Path, **changes: Any) -> dict[str, Any]:
    at_hand, found = cluster(folder, **changes), scenarios.load(name)
    made = Expectation(found, at_hand, "g")
    step = found.all_steps[0]
    made.add(step, [at_hand.hosts[0]], forecast(at_hand, step, [at_hand.hosts[0]], partitions(SHAPES, 4)), controller)
    outage: dict[str, Any] = made.content()["outage"]
    return outage


def test_the_bound_of_an_outage_is_the_time_to_notice(tmp_path: Path) -> None:
    plain = bound("kill-leader", 2, tmp_path)
    assert plain["fresh"] == {"write_s": 11.7, "read_s": 11.7}
    silent = bound("isolate-minority", 2, tmp_path)
    assert (silent["fresh"]["read_s"], silent["running"]["read_s"]) == (14.7, 21.0)  # a probe's own time-out more
    assert plain["running"] == {"write_s": 18.0, "read_s": 18.0}
    assert plain["topics"] == ["kastellan-four"]
    assert bound("kill-leader", 1, tmp_path)["fresh"]["write_s"] == 15.6  # it led the quorum as well: 1.3 x (9 + 2 + 1)


def test_zookeeper_notices_later(tmp_path: Path) -> None:
    timeouts = {
        "broker_session_ms": None,
        "quorum_fetch_ms": None,
        "quorum_election_ms": None,
        "zookeeper_session_ms": 18000,
    }
    assert bound("kill-leader", 2, tmp_path, mode="zookeeper", timeouts=timeouts)["fresh"]["write_s"] == 23.4


def test_groups_that_cannot_commit_are_named() -> None:
    home = java_hash("kastellan-x") % 4
    offsets = partitions({"__consumer_offsets": (4, 3, 2)}, 4)
    first, second, _ = offsets[home].replicas
    assert blocked_groups(["kastellan-x"], offsets, {first}) == []
    assert "kastellan-x can neither join nor commit" in blocked_groups(["kastellan-x"], offsets, {first, second})[0]


@pytest.mark.parametrize(("text", "value"), [("", 0), ("a", 97), ("kafka", 101807910), ("polygenelubricants", 0)])
def test_the_hash_of_a_group_is_javas_without_its_sign(text: str, value: int) -> None:
    assert java_hash(text) == value


@pytest.mark.parametrize(
    ("content", "what", "help_"),
    [
        (changed(explenation="x"), "unknown key 'explenation'", "Did you mean 'explanation'?"),
        (changed(faults=[{"fault": "kil", "hold": 15}]), "no fault 'kil'", "Did you mean 'kill'?"),
        (changed(faults=[{"falt": "kill"}]), "unknown key 'falt'", "Did you mean 'fault'?"),
        (changed(faults=[{"fault": "isolate", "options": {"cut": "moon"}}]), "no option cut=moon", ""),
        (changed(faults=[{"fault": "kill", "target": "leader", "of": "kastellan-four/9"}]), "no kastellan-four/9", "from 0"),
        (changed(faults=[{"fault": "kill", "target": "leader"}]), "leader of what", "TOPIC/PARTITION"),
        (changed(faults=[{"hold": 3}]), "either a fault or an operation", ""),
        (changed(faults=[{"fault": "kill", "target": "broker", "hold": 3}]), "can never be met", ""),
        (changed(faults=[]), "can never be met", ""),
        (changed(topics={"kastellan-one": {"partitions": 1, "replication": 2, "config": {"min.insync.replicas": 3}}}, faults=[]), "can never be met", ""),
        (changed(expect={"anomalies": {"lost": {"count": ">0", "verdict": "violation"}}}), "can never be met", ""),
        (changed(expect={"anomalies": {"losst": {}}}), "Wrong in", ""),
        (changed(workload={"kind": "bulk"}), "can never be met", ""),
        (changed(suites=["smoky"]), "suites/0", ""),
    ],
)  # fmt: skip
def test_a_broken_scenario_is_refused(content: dict[str, Any], what: str, help_: str) -> None:
    with pytest.raises(UsageError) as told:
        scenarios.parse("broken", content, place="broken.yaml")
    assert what in str(told.value)
    assert help_ in told.value.resolution


def test_a_scenario_that_is_not_there_names_the_nearest() -> None:
    with pytest.raises(UsageError, match="Did you mean 'kill-leader'"):
        scenarios.load("kil-leader")


def test_who_keeps_a_group_is_told_by_metadata_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """librdkafka's own question for it ends the process if a broker dies meanwhile."""
    homes = [Partition("__consumer_offsets", index, 1 + index % 3, (1, 2, 3), (1, 2, 3)) for index in range(50)]
    monkeypatch.setattr(Admin, "__init__", lambda *_: None)
    monkeypatch.setattr(Admin, "partitions", lambda _, topics: homes if topics == ["__consumer_offsets"] else [])
    for group in ("kastellan-x", "readers"):
        assert Admin(cluster(tmp_path)).coordinator(group) == 1 + java_hash(group) % 50 % 3
    homes.clear()
    with pytest.raises(ClusterSilent, match="no topic __consumer_offsets"):
        Admin(cluster(tmp_path)).coordinator("kastellan-x")
