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
