"""A check that may fail because somebody said why: told as waived, counted as that, and never as passed."""

from __future__ import annotations

import threading
from dataclasses import replace
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from common.errors import UsageError
from tests.unit.validate.control import cluster, described
from tests.unit.validate.security.test_report import one, reported
from validate.__main__ import main
from validate.run.folder import RunFolder
from validate.security import run
from validate.security.registry import CHECKS, Check, Evidence, NotApplicable
from validate.security.waivers import waivers

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

REASON = "the jump host needs passwords until spring"


@pytest.mark.parametrize(
    ("entries", "said"),
    [
        ([{"check": 68, "reason": REASON}], "There is no security check 68 to waive."),
        ([{"check": 0, "reason": REASON}], "There is no security check 0 to waive."),
        ([{"check": 64, "reason": "  "}], "Security check 64 is waived without a reason."),
        ([{"check": 64, "reason": ""}], "Security check 64 is waived without a reason."),
        ([{"check": 64, "reason": REASON}] * 2, "Security check 64 is waived twice."),
    ],
)
def test_a_waiver_that_cannot_be_meant_is_refused(entries: list[Any], said: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError) as told:
        waivers(cluster(tmp_path, security_waivers=entries))
    assert told.value.brief == said
    assert "kafka_security_waivers" in told.value.details


@pytest.mark.parametrize("entries", [[{"check": 64}], [{"check": "64", "reason": "x"}], ["64"], {"64": "x"}])
def test_a_waiver_of_another_form_is_refused_with_cluster_json(entries: Any, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="does not describe a cluster"):
        cluster(tmp_path, security_waivers=entries)


def test_without_waivers_there_are_none(tmp_path: Path) -> None:
    assert waivers(cluster(tmp_path)) == {}


def ran(
    monkeypatch: pytest.MonkeyPatch, folder: Path, does: Callable[[Any, Evidence], None], *, left: str = "",
    say: Callable[[str], None] = print,
) -> dict[str, Any]:  # fmt: skip
    """Check 64 does this instead, and is waived."""
    at_hand = cluster(folder, security_waivers=[{"check": 64, "reason": REASON}])
    scene = SimpleNamespace(cluster=at_hand, touched=bool(left), close=lambda: left, leave_behind=lambda _: None)
    monkeypatch.setitem(CHECKS, 64, Check(**{**CHECKS[64].__dict__, "run": does}))
    monkeypatch.setattr(run, "Scene", lambda _: scene)
    results: list[dict[str, Any]] = []
    run.run_checks(at_hand, [64], results, intrusive=False, say=say)
    return results[0]


def test_a_failure_is_waived_with_its_reason_first_and_what_was_seen_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    result = ran(monkeypatch, tmp_path, lambda _, see: see.wrong("a password was asked for"))
    assert result["verdict"] == "waived"
    assert result["seen"] == [f"waived: {REASON}", "a password was asked for"]


def test_what_is_unknown_is_not_waived(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    result = ran(monkeypatch, tmp_path, lambda _, see: see.unknown("nobody answered"))
    assert (result["verdict"], result["seen"]) == ("unknown", ["nobody answered"])


def test_what_does_not_apply_is_not_waived(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_scene: Any, _see: Evidence) -> None:
        raise NotApplicable("no such listener")

    result = ran(monkeypatch, tmp_path, refuse)
    assert (result["verdict"], result["seen"]) == ("not-applicable", ["no such listener"])


def test_a_check_that_failed_and_had_no_end_is_waived_with_both(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended = threading.Event()

    def hang(_scene: Any, see: Evidence) -> None:
        see.wrong("let in")
        ended.wait(30)

    monkeypatch.setitem(CHECKS, 64, replace(CHECKS[64], bound_s=0.1))
    result = ran(monkeypatch, tmp_path, hang)
    ended.set()
    assert (result["verdict"], result["seen"]) == ("waived", [f"waived: {REASON}", "let in", "it had no end after 0 s"])


def test_what_the_proof_left_behind_is_not_waived_with_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    result = ran(monkeypatch, tmp_path, lambda _, see: see.wrong("let in"), left="It stays.")
    assert result["verdict"] == "unknown"
    assert result["seen"][:2] == ["what the proof made was not all cleared away: It stays.", f"waived: {REASON}"]


def test_on_the_terminal_the_reason_stands_behind_the_verdict(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []
    ran(monkeypatch, tmp_path, lambda _, see: see.wrong("let in"), say=said.append)
    assert said[0].startswith("  64 waived ")
    assert said[1] == f"     because waived: {REASON}"


@pytest.mark.parametrize("entries", [[{"check": 68, "reason": REASON}], [{"check": 64, "reason": REASON}] * 2])
def test_a_slip_ends_a_run_before_anything_is_tried(
    entries: list[Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(run, "run_check", lambda *_, **__: pytest.fail("something was tried"))
    path = described(tmp_path, security_waivers=entries)
    assert main(["run", "--cluster", str(path), "--check", "64"]) == 64
    assert "ecurity check" in capsys.readouterr().err
    assert not (tmp_path / "runs").exists()


def test_a_waiver_that_is_not_needed_any_more_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    result = ran(monkeypatch, tmp_path, lambda _, see: see.fine("keys alone"))
    assert result["verdict"] == "passed"
    assert result["seen"][-1] == f"it needs no waiver any more, and has one: {REASON}"


def test_the_report_counts_it_as_waived_and_not_as_passed(tmp_path: Path) -> None:
    checks = [one(17, "passed"), one(64, "waived", f"waived: {REASON}", "a password was asked for")]
    told, page, junit = reported(tmp_path / "run", [], checks)
    assert told["verdict"] == "passed"
    assert told["sentence"] == "Of 2 security checks 1 passed, 1 waived (64)."
    assert told["totals"]["checks"] == {"passed": 1, "failed": 0, "unknown": 0, "not-applicable": 0, "waived": 1}
    assert REASON in page
    assert "mend 64" in page
    assert "1 of 2 passed" in page
    suite = junit[0]
    assert (suite.get("failures"), suite.get("skipped")) == ("0", "1")
    case = next(case for case in suite if case.get("name") == "64 title 64")
    assert (case[0].tag, case[0].get("message")) == ("skipped", f"waived: {REASON}")


def test_a_run_in_which_all_was_waived_has_shown_nothing(tmp_path: Path) -> None:
    told, _, _ = reported(tmp_path / "run", [], [one(64, "waived", f"waived: {REASON}")])
    assert told["verdict"] == "unknown"


@pytest.mark.parametrize(
    ("verdicts", "whole"),
    [(["passed", "waived"], "passed"), (["waived"], "unknown"), (["waived", "failed"], "failed"), (["waived", "unknown"], "unknown")],
)  # fmt: skip
def test_the_exit_code_goes_by_what_was_not_waived(verdicts: list[str], whole: str) -> None:
    folder = RunFolder.__new__(RunFolder)
    folder.entries, folder.checks = [], [one(number, verdict) for number, verdict in enumerate(verdicts, 1)]
    assert folder.verdict == whole
