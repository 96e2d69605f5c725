"""What a load that broke off leaves: all that it may have sent is unknown, and nothing in the log is a phantom."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pytest

from tests.spark.histories.writer import History
from validate.judge import judge_ledger
from validate.workload import bulk
from validate.workload.spec import ProducerSpec

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


def left(tmp_path: Path, *, reserved: int) -> Path:
    """Five records are in the log, of as many as were reserved; no task lived to tell of them."""
    h = History()
    if reserved:
        h.reserve("orders", 0, 0, reserved)
    for number in range(5):
        h.in_log("orders", 0, number, number)
    h.bounds("orders", 0)
    ledger = h.write(tmp_path / "ledger")
    shutil.rmtree(ledger / "sent", ignore_errors=True)
    topics = [{"name": "orders", "partitions": 1}]
    given = {"run_id": "r", "name": "loader", "ledger": str(ledger), "client": {}, "topics": topics, "count": 9}
    bulk._seal_nothing(ProducerSpec.parse(given))
    return ledger


def test_what_was_reserved_is_of_unknown_outcome_and_no_phantom(spark: SparkSession, tmp_path: Path) -> None:
    summary = judge_ledger(spark, left(tmp_path, reserved=9), {}, tmp_path / "findings")
    assert summary.problems == []
    assert summary.checked["acked"] == 0
    assert summary.counts["unacked-read"]["allowed"] == 5
    assert summary.counts["phantom"]["violation"] == 0


def test_what_nobody_reserved_still_is_one(spark: SparkSession, tmp_path: Path) -> None:
    summary = judge_ledger(spark, left(tmp_path, reserved=3), {}, tmp_path / "findings")
    assert (summary.verdict, summary.counts["phantom"]["violation"]) == ("failed", 2)
    assert summary.counts["unacked-read"]["allowed"] == 3
