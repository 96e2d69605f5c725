"""What cannot be judged is unknown and says why; what can be read is read, however others write it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from common.errors import KastellanError
from tests.spark.histories.broken import BAD_EXPECTATIONS, BROKEN, as_others_write, sound

pytestmark = pytest.mark.spark

ROOT = Path(__file__).parents[3]
BY_HAND = ["no outcome", "log truncated", "no such folder"]  # a process of its own costs seconds: a few are enough


def judge(spark: Any, ledger: Path, expect: dict[str, Any] | None = None) -> dict[str, Any]:
    from validate.judge import judge_ledger  # noqa: PLC0415 -- so that the rest can be collected without a judge

    summary: dict[str, Any] = judge_ledger(spark, ledger, expect, ledger.parent / "findings").to_json()
    return summary


def call(ledger: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "validate", "judge", str(ledger)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)


@pytest.mark.parametrize("name", BROKEN)
def test_broken_is_unknown(spark: Any, name: str, tmp_path: Path) -> None:
    damage, words = BROKEN[name]
    ledger = sound().write(tmp_path / "ledger")
    damage(ledger)
    refusal = None
    try:
        verdict = judge(spark, ledger)["verdict"]
    except KastellanError as error:
        verdict = {2: "unknown", 64: "unknown" if name == "no such folder" else "usage"}[error.exit_code]
        refusal = str(error)
    assert verdict == "unknown"
    unsaid = [word for word in words if refusal is not None and word not in refusal]
    assert not unsaid, f"{name}: the message does not say {unsaid}: {refusal}"


@pytest.mark.parametrize("name", BY_HAND)
def test_broken_exits_2(name: str, tmp_path: Path) -> None:
    damage, words = BROKEN[name]
    ledger = sound().write(tmp_path / "ledger")
    damage(ledger)
    done = call(ledger)
    said = done.stdout + done.stderr
    assert done.returncode in ({2, 64} if name == "no such folder" else {2}), said
    assert not [word for word in words if word not in said], said
    assert "Traceback" not in said


def test_sound_exits_0_and_violated_1(tmp_path: Path) -> None:
    h = sound()
    assert call(h.write(tmp_path / "sound")).returncode == 0
    h.acked("orders", 0, seq=2, offset=2)
    assert call(h.write(tmp_path / "lost")).returncode == 1


@pytest.mark.parametrize("name", BAD_EXPECTATIONS)
def test_bad_expectation_is_an_error(spark: Any, name: str, tmp_path: Path) -> None:
    ledger = sound().write(tmp_path / "ledger")
    with pytest.raises(KastellanError) as caught:
        judge(spark, ledger, BAD_EXPECTATIONS[name])
    assert caught.value.exit_code in {2, 64}


def test_other_shapes_are_read(spark: Any, tmp_path: Path) -> None:
    """Nothing is lost by these casts and no column is missing that must be there."""
    ledger = sound().write(tmp_path / "ledger")
    as_others_write(ledger)
    summary = judge(spark, ledger)
    assert summary["verdict"] == "passed", summary
    assert summary["acked"]["found"] == 2
