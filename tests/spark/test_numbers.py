"""Numbers of the summary that no finding shows: pairs of two clocks, and the least a run must have done."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.spark.histories.clocks import UNCOMPARED, two_clocks
from tests.spark.histories.writer import History
from validate.judge import judge_ledger

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


def judged(spark: SparkSession, h: History, where: Path) -> dict[str, Any]:
    return judge_ledger(spark, h.write(where / "ledger"), h.expect, where / "findings").to_json()


def test_pairs_of_two_clocks_are_counted(spark: SparkSession, tmp_path: Path) -> None:
    summary = judged(spark, two_clocks(), tmp_path)
    assert summary["uncompared"] == UNCOMPARED
    assert summary["verdict"] == "passed"


def test_one_clock_leaves_nothing_uncompared(spark: SparkSession, tmp_path: Path) -> None:
    h = History()
    h.kept("orders", 0, 3, clock="a")
    assert judged(spark, h, tmp_path)["uncompared"] == 0


def fault_amid(h: History) -> None:
    """A hundred records in each of a second before, during and after a fault; two are in flight when it bites."""
    for second in range(3):
        for i in range(100):
            h.keep("orders", 0, 100 * second + i, 100 * second + i, at=1000 * second + 10 * i)
    for late in (98, 99):
        h.rows["sent"][late]["done_at"] = h.rows["sent"][101]["done_at"]
    h.fault(begin=990, bit=995, healed=2000)


LIVELY = {"acked_per_partition": 98, "phase_s": 0.9, "in_flight_at_bite": 2}


@pytest.mark.parametrize(
    ("least", "missed"),
    [
        (LIVELY, []),
        (LIVELY | {"acked_per_partition": 103}, ["before", "during", "after"]),
        (LIVELY | {"phase_s": 1.003}, ["before", "after"]),
        (LIVELY | {"in_flight_at_bite": 3}, ["in flight"]),
        (LIVELY | {"acked_per_partition": 103, "serving": {"orders": []}}, ["before", "after"]),
    ],
)
def test_too_little_progress_is_unknown(
    spark: SparkSession, least: dict[str, Any], missed: list[str], tmp_path: Path
) -> None:
    h = History()
    fault_amid(h)
    h.expect = {"progress": least}
    summary = judged(spark, h, tmp_path)
    told = [reason for reason in summary["reasons"] if reason.startswith("progress")]
    assert len(told) == len(missed), told
    assert all(word in reason for word, reason in zip(missed, told, strict=True))
    assert summary["verdict"] == ("unknown" if missed else "passed")
