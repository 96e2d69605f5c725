"""When a cluster loses and repeats, on a live one: the count is that of the settings, and the safe twin gives none."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.system.cluster.test_proof import CHOSEN, SEED, newest, told, validate
from tests.system.cluster.workloads import drop_topics

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.system.kafka_cluster import Cluster

pytestmark = [pytest.mark.system, pytest.mark.spark]

HAND = "kastellan-hand-test"


@pytest.fixture(scope="module")
def delivered(cluster: Cluster) -> tuple[Any, Path]:
    done = validate(cluster, "run", "--scenario", *CHOSEN, "--seed", SEED)
    return done, newest(cluster)


def counts(folder: Path, name: str) -> dict[str, int]:
    summary = json.loads((folder / "verdicts" / f"{name}.json").read_text(encoding="utf-8"))
    return {anomaly: sum(found.values()) for anomaly, found in summary["counts"].items() if sum(found.values())}


def test_the_chosen_scenarios_give_what_they_say(delivered: tuple[Any, Path]) -> None:
    done, folder = delivered
    verdicts = {name: (entry["verdict"], entry["reasons"]) for name, entry in told(folder).items()}
    assert verdicts == dict.fromkeys(CHOSEN, ("passed", [])), done.stdout


def test_what_was_committed_and_not_done_is_counted_exactly(delivered: tuple[Any, Path]) -> None:
    """The crash comes after 1025 records, commits are for 50 at a time: 25 lie between."""
    assert counts(delivered[1], "commit-before-work").get("lost-in-delivery") == 25
    assert counts(delivered[1], "commit-after-work").get("redelivered") == 25


@pytest.fixture
def hand(cluster: Cluster) -> Iterator[Path]:
    yield cluster.lab.state() / "hand" / HAND
    drop_topics(cluster.bundle("validator"), [HAND])


def test_what_was_done_by_hand_is_judged(cluster: Cluster, hand: Path) -> None:
    where = ("--topic", HAND)
    made = validate(
        cluster, "produce", *where, "--make", "3:3", "--rolls", "2", "--records", "1500", "--wait-roll", "100"
    )
    assert made.returncode == 0, made.stderr
    assert "3,000 acked" in made.stdout
    group = ("--group", "kastellan-hand-test")
    first = validate(cluster, "consume", *where, *group, "--commit-every", "100", "--count", "1000")
    assert (first.returncode, "delivered" in first.stdout) == (0, True), first.stderr
    said = validate(cluster, "produce", *where, "--say", "crash")
    assert said.returncode == 0, said.stderr
    second = validate(cluster, "consume", *where, *group, "--obey", "--wait-record", "0.1")
    assert (second.returncode, "died by SIGKILL" in second.stdout) == (0, True), second.stdout + second.stderr
    judged = validate(cluster, "judge", str(hand), "--read-back", "--json")
    summary = json.loads(judged.stdout)
    assert (judged.returncode, summary["verdict"]) == (0, "passed"), judged.stderr
    assert (summary["checked"]["acked"], summary["acked"]["found"], summary["checked"]["foreign"]) == (3000, 3000, 3)
    denied = validate(cluster, "produce", "--topic", "Topic_One")
    assert (denied.returncode, "Topic_One" in denied.stderr) == (64, True), denied.stderr
