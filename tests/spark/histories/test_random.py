"""Random clean histories have no violation; with one planted, exactly that one is found."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq
import pytest

from tests.spark.histories.inject import INJECTORS, inject
from tests.spark.histories.random_clean import random_clean

if TYPE_CHECKING:
    from pathlib import Path

    from tests.spark.histories.writer import History

pytestmark = pytest.mark.spark

FEW, MANY = 2, 40


def seeds(few: int, many: int) -> list[Any]:
    """A few seeds always, many in the long matrix."""
    return [pytest.param(seed, marks=[pytest.mark.long] if seed >= few else []) for seed in range(many)]


def planted() -> list[Any]:
    """Each kind of anomaly with one seed only in the long matrix but for three, which differ most in their paths."""
    always = {"lost", "torn-transaction", "lost-in-delivery"}
    return [
        pytest.param(kind, seed, marks=[] if kind in always and seed == 0 else [pytest.mark.long], id=f"{kind}-{seed}")
        for kind in INJECTORS
        for seed in range(5)
    ]


def judge(spark: Any, h: History, directory: Path) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    from validate.judge import judge_ledger  # noqa: PLC0415 -- so that the rest can be collected without a judge

    ledger = h.write(directory / "ledger")
    summary = judge_ledger(spark, ledger, h.expect, directory / "findings").to_json()
    findings = pq.read_table(summary["findings_path"]).to_pylist()
    return summary, [finding for finding in findings if finding["verdict"] == "violation"]


@pytest.mark.parametrize("seed", seeds(FEW, MANY))
def test_random_clean_history_passes(spark: Any, seed: int, tmp_path: Path) -> None:
    h = random_clean(seed)
    summary, violations = judge(spark, h, tmp_path)
    assert violations == [], f"seed {seed}"
    assert summary["verdict"] == "passed", f"seed {seed}: {summary['acked']}"
    acked = [row for row in h.rows["sent"] if row["outcome"] == "acked"]
    assert sum(summary["acked"].values()) == summary["checked"]["acked"] == len(acked)
    assert (summary["acked"]["lost"], summary["acked"]["undecided"]) == (0, 0)


@pytest.mark.parametrize(("kind", "seed"), planted())
def test_planted_anomaly_is_found_alone(spark: Any, kind: str, seed: int, tmp_path: Path) -> None:
    h = random_clean(seed)
    place = inject(h, kind, seed)
    if place is None:
        pytest.skip(f"seed {seed} has no place for {kind}")
    summary, violations = judge(spark, h, tmp_path)
    assert [finding["anomaly"] for finding in violations] == [kind], f"seed {seed}, planted at {place}: {violations}"
    seen = {name: violations[0][name] for name in place}
    assert seen == place, f"seed {seed}: the right anomaly at the wrong place"
    assert summary["verdict"] == "failed"
