"""A check that may fail because somebody said why: told as waived, counted as that, and never as passed."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from common.errors import UsageError
from tests.unit.validate.control import cluster
from tests.unit.validate.security.test_report import one, reported
from validate.run.folder import RunFolder
from validate.security import run
from validate.security.registry import CHECKS, Check, Evidence
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


def ran(monkeypatch: pytest.MonkeyPatch, folder: Path, does: Callable[[Any, Evidence], None]) -> dict[str, Any]:
    """Check 64 does this instead, and is waived."""
    described = cluster(folder, security_waivers=[{"check": 64, "reason": REASON}])
    scene = SimpleNamespace(cluster=described, touched=False, close=lambda: "", leave_behind=lambda _: None)
    monkeypatch.setitem(CHECKS, 64, Check(**{**CHECKS[64].__dict__, "run": does}))
    monkeypatch.setattr(run, "Scene", lambda _: scene)
    results: list[dict[str, Any]] = []
    run.run_checks(described, [64], results, intrusive=False, say=lambda _: None)
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
