"""The report of a run with security checks: verdict, sentence, page, junit."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import jsonschema
import pytest

import validate
from tests.unit.validate.report import lives, runs
from validate import report
from validate.report.compare import compare, shown

SCHEMA = json.loads((Path(validate.__file__).parent / "report.schema.json").read_text(encoding="utf-8"))


def one(number: int, verdict: str, *seen: str) -> dict[str, Any]:
    return {
        "number": number, "family": "authentication", "title": f"title {number}", "verdict": verdict,
        "tried": "a login", "where": "this machine", "expected": "a refusal", "seen": list(seen) or ["refused"],
        "fix": f"mend {number}", "duration_s": 0.5,
    }  # fmt: skip


def reported(folder: Path, scenarios: list[Any], checks: Any) -> tuple[Any, str, ET.Element]:
    runs.write(folder, scenarios)
    content = json.loads((folder / "run.json").read_text(encoding="utf-8"))
    (folder / "run.json").write_text(json.dumps(content | {"security": checks}), encoding="utf-8")
    made = report.write(folder)
    told = json.loads(made.json.read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator(SCHEMA).validate(told)
    return told, made.html.read_text(encoding="utf-8"), ET.fromstring(made.junit.read_text(encoding="utf-8"))  # noqa: S314


def test_checks_alone_make_a_run(tmp_path: Path) -> None:
    told, page, junit = reported(tmp_path / "run", [], [one(17, "passed"), one(54, "not-applicable", "no ZooKeeper")])
    assert told["verdict"] == "passed"
    assert told["sentence"] == "Of 2 security checks 1 passed, 1 not applicable here (54)."
    assert "title 17" in page
    assert "mend 17" not in page
    suite = junit[0]
    assert (suite.get("tests"), suite.get("failures"), suite.get("skipped")) == ("2", "0", "1")


@pytest.mark.parametrize(("verdict", "tag"), [("failed", "failure"), ("unknown", "error")])
def test_a_check_that_is_not_passed_decides_the_run_and_says_what_to_change(
    verdict: str, tag: str, tmp_path: Path
) -> None:
    checks = [one(17, verdict, "<let in>"), one(18, "passed")]
    told, page, junit = reported(tmp_path / "run", [lives.baseline(per_s=5)], checks)
    assert told["verdict"] == verdict
    assert "The cluster kept what it promised" in told["sentence"]
    assert told["sentence"].endswith(f"Of 2 security checks 1 passed, 1 {verdict} (17).")
    assert told["totals"]["checks"][verdict] == 1
    assert "&lt;let in&gt;" in page
    assert "mend 17" in page
    case = next(case for case in junit[0] if case.get("name") == "17 title 17")
    assert case.find(tag) is not None
    assert "mend 17" in (case.find(tag).text or "")  # type: ignore[union-attr]


@pytest.mark.parametrize("checks", ["junk", [{"number": "x", "verdict": "fine", "seen": 3}, 7], None])
def test_what_is_no_check_is_never_passed(checks: Any, tmp_path: Path) -> None:
    told, _, _ = reported(tmp_path / "run", [], checks)
    assert told["verdict"] == "unknown"


def difference(tmp_path: Path, before: list[Any], after: list[Any]) -> tuple[dict[tuple[str, str], Any], list[str]]:
    told = [reported(tmp_path / name, [], checks)[0] for name, checks in (("before", before), ("after", after))]
    found = compare(*told)
    assert shown(found)
    return {(x["scenario"], x["what"]): (x["before"], x["after"]) for x in found["differences"]}, found["worse"]


@pytest.mark.parametrize(
    ("was", "now", "worse"),
    [
        ("passed", "failed", True), ("passed", "unknown", True), ("passed", "waived", True), ("unknown", "failed", True),
        ("waived", "failed", True), ("not-applicable", "failed", True), ("not-applicable", "passed", False),
        ("failed", "passed", False), ("failed", "waived", False), ("failed", "unknown", False),
        ("passed", "not-applicable", False),
    ],
)  # fmt: skip
def test_checks_of_two_runs_are_compared(was: str, now: str, worse: bool, tmp_path: Path) -> None:
    rows, told = difference(tmp_path, [one(17, was), one(18, "passed")], [one(17, now), one(18, "passed")])
    assert rows == {("security 17", "verdict"): (was, now)}
    assert told == (["security 17: verdict"] if worse else [])


def test_checks_that_one_run_alone_made_are_one_row_unless_they_failed(tmp_path: Path) -> None:
    rows, worse = difference(
        tmp_path, [one(1, "passed"), one(2, "failed"), one(3, "passed")], [one(3, "passed"), one(4, "failed")]
    )
    assert rows == {("security", "checks of one run alone"): ("1, 2", "4"), ("security 4", "verdict"): (None, "failed")}
    assert worse == ["security 4: verdict"]


def test_the_same_checks_do_not_differ(tmp_path: Path) -> None:
    assert difference(tmp_path, [one(17, "failed")], [one(17, "failed")]) == ({}, [])
