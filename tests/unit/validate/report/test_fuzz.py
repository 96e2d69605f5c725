"""Whatever lies in the folder of a run: a report comes of it, never better than what can be read, or a refusal."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.fuzz import answered, bounded, json_junk, spoiled, torn
from tests.unit.validate.report import lives, runs
from tests.unit.validate.security.test_report import one
from validate.report import junit
from validate.report.build import build
from validate.report.page import html

if TYPE_CHECKING:
    from pathlib import Path

Run = tuple["Path", str]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Run:
    folder = runs.write(tmp_path_factory.mktemp("run") / "run", [lives.baseline(per_s=1)])
    content = json.loads((folder / "run.json").read_text(encoding="utf-8"))
    content["security"] = [one(17, "passed"), one(18, "failed")]
    return folder, json.dumps(content)


def told(folder: Path, text: str) -> dict[str, Any] | None:
    (folder / "run.json").write_bytes(text.encode(errors="surrogatepass"))
    report = answered(lambda: build(folder))
    if report is not None:
        junit.xml(report)
        html(report)
    return report


@bounded
@given(data=st.data())
def test_a_spoiled_run(made: Run, data: st.DataObject) -> None:
    folder, text = made
    told(folder, json.dumps(data.draw(spoiled(json.loads(text), json_junk))))


@bounded
@given(data=st.data())
def test_a_torn_run(made: Run, data: st.DataObject) -> None:
    folder, text = made
    report = told(folder, data.draw(torn(text)))
    assert report is None or report["verdict"] in {"passed", "failed", "unknown"}


def test_a_run_nested_beyond_all_is_refused(made: Run) -> None:
    assert told(made[0], "[" * 5000) is None


@pytest.mark.parametrize("text", ["[" * 5000, "{", "7", '{"verdict": "passed", "counts": []}'])
def test_a_judgement_that_cannot_be_read_leaves_nothing_passed(made: Run, text: str) -> None:
    folder, run = made
    path = folder / "verdicts" / "baseline.json"
    truth = path.read_text(encoding="utf-8")
    path.write_text(text, encoding="utf-8")
    try:
        report = told(folder, run)
    finally:
        path.write_text(truth, encoding="utf-8")
    assert report is not None
    assert report["scenarios"][0]["verdict"] == "unknown"
    assert report["verdict"] == "failed", "of check 18"


@bounded
@given(content=json_junk)
@example(content=[])
@example(content={"scenarios": 7, "security": {}, "run": None})
def test_any_json_as_a_run_is_never_passed(made: Run, content: Any) -> None:
    report = told(made[0], json.dumps(content))
    assert report is None or report["verdict"] == "unknown"
