"""The list of checks, how a verdict comes about, and what happens to a check that crashes, hangs or does not apply."""

from __future__ import annotations

import contextlib
import json
import threading
from dataclasses import replace
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from common.wait import wait_until
from tests.unit.validate.control import cluster
from validate.__main__ import main
from validate.run.folder import ROOT
from validate.security import run
from validate.security.registry import CHECKS, FAMILIES, Evidence, NotApplicable
from validate.security.scene import NoWay, Scene
from validate.security.stage import NoStage, Stage
from validate.security.wire import NoAnswer

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

ABOUT_LOGINS = (17, 18, 19, 20, 22, 23, 24, 25, 27)
NEED_A_LOGIN = (3, 21, 29, 32, 37, 42, 43, 44, 46, 47, 48, 49)


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[Scene]:
    made = Scene(cluster(tmp_path))
    yield made
    made.close()


def checked(scene: Scene, does: Any, *, consent: bool = True, **more: Any) -> tuple[str, list[str]]:
    result = run.run_check(replace(CHECKS[17], run=does, **more), scene, consent=consent)
    return result["verdict"], result["seen"]


def test_there_are_67_and_each_says_all_that_a_report_shows() -> None:
    assert sorted(CHECKS) == list(range(1, 68))
    for one in CHECKS.values():
        assert one.family in FAMILIES
        assert all((one.title, one.tried, one.where, one.expected, one.fix))
    assert set(run.SMOKE) == {2, 17, 21, 29, 57}
    assert len(run.numbers_of("all")) == len(run.numbers_of("security")) == 67
    assert run.numbers_of("failover") == ()


@pytest.mark.parametrize(
    ("good", "bad", "unsure", "verdict"),
    [
        (["a"], [], [], "passed"),
        ([], [], [], "unknown"),
        (["a"], [], ["b"], "unknown"),
        (["a"], ["b"], ["c"], "failed"),
    ],
)
def test_the_worst_that_was_seen_decides(good: list[str], bad: list[str], unsure: list[str], verdict: str) -> None:
    assert Evidence(good, bad, unsure).verdict == verdict


def test_a_refusal_without_its_twin_is_unknown() -> None:
    see = Evidence()
    see.expect(True, "refused")  # noqa: FBT003
    see.twin(False, "nobody answers")  # noqa: FBT003
    assert see.verdict == "unknown"
    assert see.lines[0] == "the positive twin failed: nobody answers"


def test_failures_come_first_and_a_long_list_is_cut() -> None:
    see = Evidence(good=[f"good {n}" for n in range(30)], bad=["bad"])
    assert see.lines[0] == "bad"
    assert see.lines[-1].startswith("... and 19 more")


def test_a_crash_is_unknown_with_its_place(scene: Scene) -> None:
    def crash(_scene: Scene, see: Evidence) -> None:
        see.fine("something was well")
        raise KeyError("x")

    verdict, seen = checked(scene, crash)
    assert verdict == "unknown"
    assert "KeyError" in seen[0]
    assert "crash:" in seen[0]


@pytest.mark.parametrize(
    ("why", "said"),
    [
        (NoWay("There is no way to log in: the listener for clients has no SCRAM."),
         "There is no way to log in: the listener for clients has no SCRAM."),
        (NoStage("The proof could not make its users.", details="denied"), "The proof could not make its users. denied"),
        (NoAnswer("silent until the time was over"), "silent until the time was over"),
        (ConnectionRefusedError(111, "Connection refused"), "nobody was reached: [Errno 111] Connection refused"),
    ],
)  # fmt: skip
def test_where_there_is_no_way_to_look_the_reason_is_told_and_nothing_crashed(
    scene: Scene, why: Exception, said: str
) -> None:
    def give_up(_scene: Scene, see: Evidence) -> None:
        see.fine("so far")
        raise why

    verdict, seen = checked(scene, give_up)
    assert (verdict, seen[0]) == ("unknown", said)
    assert "crash" not in " ".join(seen)


def test_what_was_seen_to_be_wrong_before_a_crash_stays_wrong(scene: Scene) -> None:
    def crash(_scene: Scene, see: Evidence) -> None:
        see.wrong("let in")
        raise KeyError("x")

    assert checked(scene, crash)[0] == "failed"


def test_a_check_without_end_is_left_behind(scene: Scene) -> None:
    ended = threading.Event()

    def hang(_scene: Scene, see: Evidence) -> None:
        see.fine("so far")
        ended.wait(30)

    verdict, seen = checked(scene, hang, bound_s=0.1)
    ended.set()
    assert (verdict, seen[-1]) == ("unknown", "it had no end after 0 s")


def test_a_check_that_was_left_behind_shares_no_connection(scene: Scene) -> None:
    ended, told = threading.Event(), []
    kept: Any = SimpleNamespace(alive=lambda: True, close=lambda: None)
    scene._admins[None] = kept

    def hang(scene: Scene, see: Evidence) -> None:
        see.expect(scene.admin() is kept, "its connection")
        ended.wait(30)
        with pytest.raises(NoWay):
            scene.admin()
        told.append("refused")

    assert checked(scene, hang, bound_s=0.1)[0] == "unknown"
    assert scene._admins == {}
    ended.set()
    assert wait_until(lambda: bool(told), timeout_s=5)


@pytest.mark.parametrize(("bad", "verdict"), [(False, "unknown"), (True, "failed")])
def test_what_is_left_in_the_cluster_is_told_with_who_first_needed_it(
    bad: bool, verdict: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def staged(scene: Scene, see: Evidence) -> None:
        see.expect(bool(scene.stage) and not bad, "something")

    def stays(_stage: Stage) -> None:
        raise NoStage("It stays.")

    monkeypatch.setattr(Stage, "build", lambda _: None)
    monkeypatch.setitem(CHECKS, 2, replace(CHECKS[2], run=lambda _, see: see.fine("x")))
    monkeypatch.setitem(CHECKS, 17, replace(CHECKS[17], run=staged))
    monkeypatch.setitem(CHECKS, 21, replace(CHECKS[21], run=staged))
    told: dict[str, list[dict[str, Any]]] = {"gone": [], "stays": []}
    for name, clear in (("gone", lambda _: None), ("stays", stays)):
        monkeypatch.setattr(Stage, "clear", clear)
        run.run_checks(cluster(tmp_path), (2, 17, 21), told[name], intrusive=False, say=print)
    well = "failed" if bad else "passed"
    assert [one["verdict"] for one in told["gone"]] == ["passed", well, well]
    assert [one["verdict"] for one in told["stays"]] == ["passed", verdict, well]
    assert "what the proof made was not all cleared away: It stays." in told["stays"][1]["seen"]


def test_what_cannot_be_removed_keeps_nothing_else(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    removed = []

    def stays(_stage: Stage) -> None:
        raise NoStage("It stays.")

    monkeypatch.setattr(Stage, "_clear_acls", stays)
    monkeypatch.setattr(Stage, "_clear_users", lambda _: removed.append("users"))
    monkeypatch.setattr(Stage, "_clear_topics", lambda _: removed.append("topics"))
    with pytest.raises(NoStage, match=r"It stays\."):
        Stage(scene).clear()
    assert removed == ["users", "topics"]


@pytest.mark.parametrize(("code", "stays"), [(0, False), (91, False), (31, True)])
def test_a_user_that_is_gone_already_is_no_refusal(
    code: int, stays: bool, scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = SimpleNamespace(user="kastellan-sec-x", credential_infos=[SimpleNamespace(mechanism=2)])
    answers = iter([[known], [SimpleNamespace(error_code=code, error_message="")]])
    admin = SimpleNamespace(ask=lambda *_: SimpleNamespace(results=next(answers)))
    monkeypatch.setattr(Stage, "admin", admin)
    with pytest.raises(NoStage) if stays else contextlib.nullcontext():
        Stage(scene).remove_users(["kastellan-sec-x"])


def test_what_does_not_apply_says_why(scene: Scene) -> None:
    def nothing(_scene: Scene, see: Evidence) -> None:
        see.fine("x")

    def refuse(_scene: Scene, _see: Evidence) -> None:
        raise NotApplicable("no such listener")

    assert checked(scene, refuse) == ("not-applicable", ["no such listener"])
    assert checked(scene, nothing, modes=("zookeeper",)) == (
        "not-applicable", ["it is for mode zookeeper, this is kraft"],
    )  # fmt: skip
    assert checked(scene, nothing, intrusive=True, consent=False) == ("not-applicable", [run.NO_CONSENT])
    assert checked(scene, nothing, intrusive=True)[0] == "passed"


def test_what_could_not_be_seen_counts_though_the_rest_does_not_apply(scene: Scene) -> None:
    def refuse(_scene: Scene, see: Evidence) -> None:
        see.twin(False, "silent")  # noqa: FBT003
        raise NotApplicable("no such listener")

    assert checked(scene, refuse) == ("unknown", ["the positive twin failed: silent"])


@pytest.mark.parametrize("mechanisms", [None, [], ["PLAIN"]])
def test_without_logins_only_checks_about_logins_do_not_apply(
    mechanisms: list[str] | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    client, *others = cluster(tmp_path).content["listeners"]
    listeners = others if mechanisms is None else [client | {"mechanisms": mechanisms}, *others]
    at_hand = cluster(tmp_path, listeners=listeners)
    bundle = at_hand.clients_dir / at_hand.admin_user
    bundle.mkdir(parents=True)
    (bundle / "librdkafka.json").write_text('{"sasl.password": "x"}')

    def nobody(*_: Any, **__: Any) -> Any:
        raise NoAnswer("closed")

    monkeypatch.setattr(Scene, "session", nobody)
    with contextlib.closing(Scene(at_hand)) as scene:
        found = {n: run.run_check(CHECKS[n], scene, consent=True)["verdict"] for n in (*ABOUT_LOGINS, *NEED_A_LOGIN)}
    assert {n for n in found if found[n] == "not-applicable"} == set(ABOUT_LOGINS)
    assert {found[n] for n in NEED_A_LOGIN} == {"unknown"}


def test_what_an_interruption_leaves_out_is_unknown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(run, "run_check", interrupted)
    results: list[dict[str, Any]] = []
    with pytest.raises(KeyboardInterrupt):
        run.run_checks(cluster(tmp_path), (2, 17), results, intrusive=False, say=print)
    assert [(one["number"], one["verdict"]) for one in results] == [(2, "unknown"), (17, "unknown")]


def test_without_a_cluster_nothing_is_passed(tmp_path: Path) -> None:
    """Nobody answers at a documentation address, and there is no bundle: no check may take that for a refusal."""
    nowhere = [{**host, "address": "127.0.0.1", "ssh": None} for host in json_hosts(tmp_path)]
    results: list[dict[str, Any]] = []
    at_hand = cluster(tmp_path, hosts=nowhere, listeners=closed_listeners(tmp_path))
    run.run_checks(at_hand, run.numbers_of("security"), results, intrusive=True, say=lambda _: None)
    passed = [one["number"] for one in results if one["verdict"] == "passed"]
    assert passed == []


def json_hosts(tmp_path: Path) -> list[dict[str, Any]]:
    return list(cluster(tmp_path).content["hosts"])


def closed_listeners(tmp_path: Path) -> list[dict[str, Any]]:
    """Ports where nobody listens."""
    return [{**one, "port": number} for number, one in enumerate(cluster(tmp_path).content["listeners"], start=2)]


@pytest.mark.parametrize("number", ["0", "68"])
def test_a_check_that_is_not_there_is_a_wrong_call(number: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "--check", number]) == 64
    assert f"There is no security check {number}." in capsys.readouterr().err


def test_list_shows_the_checks(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list", "--json"]) == 0
    rows = {row["id"]: row for row in json.loads(capsys.readouterr().out)}
    assert rows["security-17"]["suites"] == ["smoke", "security"]
    assert rows["security-16"]["breaks"] is True


def test_the_reference_lists_every_check_as_it_is() -> None:
    page = (ROOT / "docs/reference/security.md").read_text(encoding="utf-8")
    rows = [f"| {n} | {c.family} | {c.title} | {c.tried} | {c.expected} |" for n, c in sorted(CHECKS.items())]
    assert [row for row in rows if row not in page] == []
