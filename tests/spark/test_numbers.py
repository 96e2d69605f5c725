"""Numbers of the summary that no finding shows: pairs of two clocks, and the least a run must have done."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.spark.histories.clocks import UNCOMPARED, two_clocks
from tests.spark.histories.writer import History
from validate import first_pass, tally
from validate.expect import parse
from validate.judge import judge, judge_ledger

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


EXTREMES = (2**63 - 1, 2**63 - 1, -(2**63), 2**63 - 2, 2**32 - 1, 2**31, -1, 0, 2**24, -(2**48) - 1)


@pytest.mark.parametrize("sums_first", [True, False])
def test_sums_beyond_64_bits_are_exact(spark: SparkSession, sums_first: bool, tmp_path: Path) -> None:
    h = History()
    for seq, number in enumerate(EXTREMES):
        h.acked("orders", 0, seq, seq, random_int=number)
        h.in_log("orders", 0, seq, seq, random_int=number)
    ledger = str(h.write(tmp_path / "ledger"))
    found = judge(spark, ledger, parse(h.expect), str(tmp_path / "findings"), sums_first=sums_first).to_json()
    assert found["sums"] == {"orders": dict.fromkeys(("acked", "found_once", "read"), sum(EXTREMES))}
    assert found["verdict"] == "passed"


def test_blocks_of_more_than_64_bits_are_summed(spark: SparkSession) -> None:
    """As many records as no test can write: their blocks' sums alone."""
    count, each = 4, 2**62
    blocks = spark.range(count).selectExpr(
        "xxhash64(xxhash64('orders'), 0L) AS place", "1L AS source", "0L AS d", "id AS block", "1L AS clock",
        "64L AS n", "-1L AS bits", "0L AS mixed", "64L AS log_n", "-1L AS log_bits", "0L AS log_mixed",
        "0L AS last_invoked", "0L AS first_done", "0L AS first_invoked", "0L AS invokes", "0L AS weighed",
        f"{each}L AS high", f"{each}L AS low",
    )  # fmt: skip
    bounds = spark.sql(
        f"SELECT 'orders' AS topic, 0L AS partition, 0L AS start_offset, {64 * count}L AS end_offset,"
        " CAST(NULL AS BIGINT) AS read_to"
    )
    (row,) = first_pass._partitions(blocks, bounds).collect()
    assert (row["dirty"], row["n"], row["high"], row["low"]) == (False, 64 * count, each * count, each * count)


def test_what_is_summed_of_a_joined_row_is_small(spark: SparkSession) -> None:
    """24 bits and a sign: 2^39 rows of that fit 64 bits, which no test can write."""
    numbers = spark.createDataFrame([(number,) for number in set(EXTREMES)], "random_int long")
    for row in numbers.groupBy("random_int").agg(*tally._parts("total", "random_int", "true")).collect():
        assert tally._joined(row, "total") == row["random_int"]
        assert max(abs(row[f"total_{part}"]) for part in tally._PARTS) < 2**24


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
