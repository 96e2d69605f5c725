"""The report draws outages by plain Python, the judge finds them by Spark: both must mean the same."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.spark.histories.columns import schema
from validate.checks.outage import outages
from validate.report.outages import read_probes

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.spark
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
START = datetime(2026, 3, 1, 12, tzinfo=UTC)


def probes(chance: random.Random) -> list[dict[str, Any]]:
    """Short series of every shape: overlapping, without an end, at one moment, all bad, all well."""
    rows = []
    for partition in range(120):
        down = chance.random()
        for _ in range(chance.randrange(1, 9)):
            at = chance.randrange(12)
            done = None if chance.random() < 0.15 else START + timedelta(seconds=at + chance.randrange(6))
            outcome = chance.choice(("failed", "unknown")) if chance.random() < down else "ok"
            rows.append(
                {
                    "witness": "fresh", "kind": "write", "topic": "t", "partition": partition,
                    "invoked_at": START + timedelta(seconds=at), "done_at": done, "outcome": outcome,
                    "clock": chance.choice(("a", "b")) if partition % 10 == 0 else None,
                }
            )  # fmt: skip
    return rows


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_report_and_judge_see_the_same_outages(seed: int, spark: Any, tmp_path: Path) -> None:
    folder = tmp_path / "probes"
    folder.mkdir()
    rows = probes(random.Random(seed))
    pq.write_table(pa.Table.from_pylist(rows, schema=schema("probes")), folder / "part-0.parquet")
    low = "greatest(0, least(unix_micros(bad_to), unix_micros(until)) - greatest(unix_micros(bad_from), unix_micros(since)))"
    columns = ("partition", "unix_micros(since)", "unix_micros(until)", f"{low} / 1e6", "open")
    judged = sorted(map(tuple, outages(spark.read.parquet(str(folder))).selectExpr(*columns).collect()))
    found, problems = read_probes(folder)
    drawn = sorted((key[3], x.since_us, x.until_us, x.low_s, x.open) for key, spans in found.items() for x in spans)
    assert problems == []
    assert drawn == judged
    assert len(drawn) > 50
