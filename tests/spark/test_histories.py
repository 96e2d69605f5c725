"""Every history of the book is judged: most of them together in one ledger, the rest one by one.

KASTELLAN_HISTORIES=single judges every one alone, which tells a check that looks beyond its own records.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq
import pytest

from tests.spark.histories import load_book
from tests.spark.histories.batch import share, together, wanted_totals
from tests.spark.histories.book import (
    Story,
    complaints_about_counts,
    complaints_about_findings,
    complaints_about_numbers,
    complaints_about_run,
    report,
)

if TYPE_CHECKING:
    from pathlib import Path

    from tests.spark.histories.book import History

pytestmark = pytest.mark.spark

BOOK = load_book()
ALL = sorted(BOOK.values(), key=lambda story: story.id)
TOGETHER = [story for story in ALL if story.batchable()]
SINGLE = os.environ.get("KASTELLAN_HISTORIES") == "single"

Judged = tuple[dict[str, Any], list[dict[str, Any]]]


def judge(spark: Any, h: History, directory: Path, **how: Any) -> Judged:
    """The summary and every finding, of which the summary shows only the first."""
    from validate.judge import judge_ledger  # noqa: PLC0415 -- so that the book can be listed without a judge

    ledger = h.write(directory / "ledger", **how)
    summary = judge_ledger(spark, ledger, h.expect or None, directory / "findings").to_json()
    return summary, pq.read_table(summary["findings_path"]).to_pylist()


def alone() -> list[Any]:
    """One judgement each is a long matrix, but for those that cannot be judged in any other way."""
    long = [pytest.mark.long]
    return [pytest.param(s, id=s.id, marks=long if s.batchable() and not SINGLE else []) for s in ALL]


@pytest.mark.parametrize("story", alone())
def test_history_alone(spark: Any, story: Story, tmp_path: Path) -> None:
    summary, findings = judge(spark, story.history(), tmp_path)
    complaints = complaints_about_run(story, summary, findings)
    assert not complaints, report(story, complaints)


@pytest.fixture(scope="module")
def batch(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> Judged:
    whole = together(story.history(story.prefix) for story in TOGETHER)
    return judge(spark, whole, tmp_path_factory.mktemp("batch"))


@pytest.mark.skipif(SINGLE, reason="KASTELLAN_HISTORIES=single judges every history alone")
@pytest.mark.parametrize("story", [pytest.param(s, id=s.id) for s in TOGETHER])
def test_history_among_others(batch: Judged, story: Story) -> None:
    complaints = complaints_about_findings(story, share(story, batch[1]), story.prefix)
    assert not complaints, report(story, complaints)


def test_batch_adds_up(batch: Judged) -> None:
    summary, findings = batch
    classes, checked = wanted_totals(TOGETHER)
    complaints = complaints_about_numbers(summary["acked"], classes, "acked")
    complaints += complaints_about_numbers(summary["checked"], checked, "checked")
    complaints += complaints_about_counts(summary, findings)
    strangers = [f for f in findings if not any(share(story, [f]) for story in TOGETHER)]
    assert not complaints, "\n  ".join(["all histories in one ledger", *complaints])
    assert not strangers, f"findings about no history's topic: {strangers[:10]}"
    assert summary["verdict"] == "failed"


def test_order_and_files_do_not_matter(spark: Any, batch: Judged, tmp_path: Path) -> None:
    """The same rows in another order and in many small files have the same findings."""
    whole = together(story.history(story.prefix) for story in TOGETHER)
    summary, findings = judge(spark, whole, tmp_path, shuffle=7, files=5)
    assert summary["counts"] == batch[0]["counts"]
    assert summary["acked"] == batch[0]["acked"]
    for story in TOGETHER:
        complaints = complaints_about_findings(story, share(story, findings), story.prefix)
        assert not complaints, report(story, complaints)
