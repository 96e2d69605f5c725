"""A cluster whose metadata nobody keeps: a change must be refused, in time, and must go again afterwards."""

from __future__ import annotations

import contextlib
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import pytest

from common.errors import UsageError
from tests.unit.validate.test_zookeeper import beside
from validate import scenario as scenarios
from validate.quorum import ClusterSilent
from validate.run import changes, one, story
from validate.run.expected import Forecast
from validate.run.folder import Entry

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from validate.run.context import Context
    from validate.workplace import Workplace

SILENT = ClusterSilent("The cluster refuses Create of topic t.", details="_TIMED_OUT: timed out")


class Place:
    """In place of the workplace: refuses so many tries, each of which takes so long by a clock of its own."""

    def __init__(self, refusals: int, takes_s: float, monkeypatch: pytest.MonkeyPatch) -> None:
        self.refusals, self.takes_s, self.now_s, self.asked = refusals, takes_s, 0.0, 0
        monkeypatch.setattr(changes, "time", SimpleNamespace(monotonic=lambda: self.now_s))  # whoever waits has his own

    def make(self, topics: list[scenarios.Topic]) -> list[str]:
        assert topics == [changes.PROBE]
        self.asked += 1
        self.now_s += self.takes_s
        if self.asked <= self.refusals:
            raise SILENT
        return [changes.PROBE.name]

    @property
    def like_one(self) -> Workplace:
        return cast("Workplace", self)


@pytest.mark.parametrize(
    ("refusals", "takes_s", "told"),
    [
        (1, 10, []),
        (1, 60, ["that no topic could be made was told only after 60 s"]),
        (0, 1, ["a topic was made while nobody kept the cluster's metadata"]),
    ],
    ids=["in time", "too late", "not refused"],
)
def test_a_change_is_refused_in_time(
    refusals: int, takes_s: float, told: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    place = Place(refusals, takes_s, monkeypatch)
    notes: list[str] = []
    assert changes.refused(place.like_one, notes) == told
    assert place.asked == 1  # a broker keeps a thread busy with each
    assert [note for note in notes if "_TIMED_OUT" in note] == notes


def test_a_missing_right_is_no_refusal_of_a_change(monkeypatch: pytest.MonkeyPatch) -> None:
    place = Place(0, 1, monkeypatch)
    monkeypatch.setattr(place, "make", lambda _: (_ for _ in ()).throw(UsageError("no right")))
    with pytest.raises(UsageError):
        changes.refused(place.like_one, [])


def test_healed_it_goes_again_or_the_scenario_has_failed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(changes, "EVERY_S", 0.01)
    notes: list[str] = []
    place = Place(2, 1, monkeypatch)
    assert changes.possible_again(place.like_one, 5, notes) == []
    assert (place.asked, notes) == (3, ["Topics could be made again 3.0 s after all was whole."])
    never = Place(10**6, 0, monkeypatch)
    assert changes.possible_again(never.like_one, 0.05, []) == [
        "no topic could be made 0 s after healing: _TIMED_OUT: timed out"
    ]


def test_a_scenario_without_a_fault_cannot_expect_it() -> None:
    good: dict[str, Any] = {
        "title": "t", "teaches": "t", "explanation": "e", "suites": ["untried"], "workload": {"kind": "paced"},
        "topics": {"kastellan-one": {"partitions": 1, "replication": 1}}, "expect": {"unchangeable": True},
    }  # fmt: skip
    with pytest.raises(UsageError, match="can never be met"):
        scenarios.parse("x", good, place="x.yaml")
    assert scenarios.parse("x", {**good, "faults": [{"fault": "kill"}]}, place="x.yaml").expect.unchangeable


def test_it_is_tried_while_the_fault_lasts_and_again_behind_it(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[str] = []

    @contextlib.contextmanager
    def broken(*_: object, **__: object) -> Iterator[SimpleNamespace]:
        told.append("broken")
        yield SimpleNamespace(last_at=None)
        told.append("healed")

    def looks(what: str) -> Callable[..., list[str]]:
        return lambda *_: [told.append(what) or f"not {what}"]  # type: ignore[func-returns-value]

    monkeypatch.setattr(story, "broken", broken)
    monkeypatch.setattr(story, "choose", lambda *_: [])
    monkeypatch.setattr(story, "forecast", lambda *_: Forecast(frozenset(), frozenset()))
    monkeypatch.setattr(changes, "refused", looks("refused"))
    monkeypatch.setattr(changes, "possible_again", looks("possible again"))
    for name in ("_hold", "_tell", "_say", "await_whole"):
        monkeypatch.setattr(story.Story, name, lambda *_: None)
    monkeypatch.setattr(story.Story, "_partitions", lambda _: [])
    load = SimpleNamespace(place=None, caught=None, mark=lambda: (0.0, {}), note=lambda *_: None)
    nothing = SimpleNamespace(
        folder=SimpleNamespace(seed=1), admin=SimpleNamespace(controller=lambda: 1), cluster=None, record=None,
        clock=SimpleNamespace(now=lambda: None),
    )  # fmt: skip
    expectation = SimpleNamespace(group="g", add=lambda *_: None)
    entry = Entry("x", "t", "t", ["failover"], "e", "r", {})
    scenario = scenarios.load("kill-two-zookeepers")
    story.Story(*cast("Any", (nothing, scenario, entry, load, None, expectation))).play()
    assert told == ["broken", "refused", "healed", "possible again"]
    assert (entry.verdict, entry.reasons) == ("failed", ["not refused", "not possible again"])


@pytest.mark.parametrize(("keepers", "applies"), [(3, True), (1, False), (0, False)])
def test_an_ensemble_that_cannot_spare_one_is_not_broken(tmp_path: Path, keepers: int, *, applies: bool) -> None:
    """The small shape of textbooks, and an ensemble of others."""
    context = cast("Context", type("At", (), {"cluster": beside(tmp_path, keepers)})())
    entry = Entry("x", "t", "t", ["failover"], "e", "r", {})
    assert one._applies(context, scenarios.load("stop-one-zookeeper"), entry) is applies
    assert (entry.verdict == "not-applicable") is not applies


@pytest.mark.parametrize("name", ["kill-one-zookeeper", "isolate-one-zookeeper", "kill-two-zookeepers"])
def test_whatever_happens_to_the_ensemble_writers_must_not_notice(name: str) -> None:
    found = scenarios.load(name)
    assert (found.modes, found.hits_zookeeper) == (("zookeeper",), True)
    assert found.expect.outage == {"fresh_s": 2, "running_s": 2}
    assert found.expect.anomalies == {"lost": {"count": 0}, "duplicated": {"count": 0}}
    (step,) = found.steps
    assert step.hold_s(18.0) > 18.0, "no session that could be lost is given the time"


def test_a_session_is_given_the_time_to_expire() -> None:
    (step,) = scenarios.load("expire-session").steps
    assert step.options["cut"] == "controller"
    assert step.hold_s(18.0) > 18.0 + 2 * 2.0, "ZooKeeper looks for ended sessions once a tick"
