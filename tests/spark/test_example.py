"""The smallest example gives its summary, by the helper that makes Parquet of it and by the command line."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from validate.checks.finding import FINDING
from validate.judge import judge_ledger
from validate.ledger.from_json import convert

pytestmark = pytest.mark.spark

ROOT = Path(__file__).parents[2]
EXAMPLE = Path(__file__).with_name("example")
WANTED = json.loads((EXAMPLE / "summary.json").read_text(encoding="utf-8"))


def agrees(summary: dict[str, Any]) -> None:
    assert summary["verdict"] == WANTED["verdict"]
    assert summary["checked"] == WANTED["checked"]
    assert summary["acked"] == WANTED["acked"]
    assert {name: n for name, n in summary["counts"].items() if any(n.values())} == WANTED["counts"]


def test_the_example_gives_its_summary(spark: Any, tmp_path: Path) -> None:
    convert(EXAMPLE, tmp_path / "ledger")
    summary = judge_ledger(spark, tmp_path / "ledger", None, tmp_path / "findings").to_json()
    agrees(summary)
    assert summary["sums"]["orders"] == {"acked": 45, "found_once": 33, "read": 51}
    found = pq.read_table(tmp_path / "findings")
    assert tuple(found.column_names) == FINDING
    assert found.num_rows == 6
    lost = [(x["topic"], x["offset"], x["detail"]) for x in summary["findings"] if x["anomaly"] == "lost"]
    assert sorted(lost) == [("loose", 9, "truncated"), ("orders", 4, "hole")]


def test_the_command_line_prints_json_and_nothing_else(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "validate.ledger.from_json", str(EXAMPLE), str(tmp_path / "ledger")]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True, timeout=60)
    command = [sys.executable, "-m", "validate", "judge", str(tmp_path / "ledger"), "--json"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 1
    assert done.stderr == ""
    summary = json.loads(done.stdout)
    agrees(summary)
    assert summary["findings_path"] == str((tmp_path / "findings").resolve())
