"""What cannot be judged is unknown and says why; what can be read is read, however others write it."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from common.errors import EXIT_FAILED, EXIT_UNKNOWN, EXIT_USAGE
from tests.spark.histories.broken import (
    BAD_EXPECTATIONS,
    BROKEN,
    TOGETHER,
    as_others_write,
    garbled,
    sound,
    truncated,
    with_values,
    without_column,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

pytestmark = pytest.mark.spark

ROOT = Path(__file__).parents[3]
BY_HAND = "log truncated"  # a process of its own costs seconds: one of each exit code is enough


class Kept:
    """The tests' session in a hand that cannot stop it."""

    def __init__(self, spark: Any) -> None:
        self.spark = spark

    def __getattr__(self, name: str) -> Any:
        return getattr(self.spark, name)

    def stop(self) -> None:
        pass


@pytest.fixture
def said(
    spark: Any, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Callable[..., tuple[int, str]]:
    """`python -m validate judge ...` in this process: its exit code and all it said."""

    def call(*words: Any) -> tuple[int, str]:
        from validate import session  # noqa: PLC0415 -- so that the rest can be collected without a judge
        from validate.__main__ import main  # noqa: PLC0415

        monkeypatch.setattr(session, "start", lambda **_: Kept(spark))
        monkeypatch.setenv("COLUMNS", "500")
        capfd.readouterr()
        code = main(["judge", *map(str, words)])
        out, err = capfd.readouterr()
        return code, out + err

    return call


def call(ledger: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "validate", "judge", str(ledger)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)


def alone() -> list[Any]:
    """A judgement for each is a long matrix, but for those that cannot share one."""
    shared = {name for names in TOGETHER for name in names}
    return [pytest.param(name, marks=[pytest.mark.long] if name in shared else []) for name in BROKEN]


def refused(code: int, text: str, wanted: int = EXIT_UNKNOWN) -> None:
    assert code == wanted, text
    assert re.search(r"Write|Name|Judge|Seal", text), f"nothing says what to do: {text}"
    assert "Traceback" not in text
    assert not re.search(r"^passed|^failed", text, re.MULTILINE)


def untold(text: str, ledger: Path, names: Iterable[str]) -> list[str]:
    """Damages whose words stand in no single line. The test's own name, in the ledger's path, says nothing."""
    lines = text.replace(str(ledger.parent), "").splitlines()
    return [name for name in names if not any(all(word in line for word in BROKEN[name][1]) for line in lines)]


@pytest.mark.parametrize("name", alone())
def test_broken_says_what_to_do(said: Callable[..., tuple[int, str]], name: str, tmp_path: Path) -> None:
    ledger = sound().write(tmp_path / "ledger")
    BROKEN[name][0](ledger)
    code, text = said(ledger)
    refused(code, text, EXIT_USAGE if name == "no such folder" else EXIT_UNKNOWN)
    assert not untold(text, ledger, [name]), text


@pytest.mark.parametrize("names", [pytest.param(names, id=f"{names[0]} ...") for names in TOGETHER])
def test_broken_in_many_places_tells_of_each(
    said: Callable[..., tuple[int, str]], names: tuple[str, ...], tmp_path: Path
) -> None:
    ledger = sound().write(tmp_path / "ledger")
    for name in names:
        BROKEN[name][0](ledger)
    code, text = said(ledger)
    refused(code, text)
    assert not untold(text, ledger, names), text


def test_each_exit_code_of_the_command(tmp_path: Path) -> None:
    h = sound()
    assert call(h.write(tmp_path / "sound")).returncode == 0
    damage, words = BROKEN[BY_HAND]
    ledger = h.write(tmp_path / "broken")
    damage(ledger)
    done = call(ledger)
    assert done.returncode == EXIT_UNKNOWN
    assert not [word for word in words if word not in done.stdout + done.stderr]
    assert done.stderr == ""
    # 1 is the example's, in test_example.py.


def test_violated_is_1(said: Callable[..., tuple[int, str]], tmp_path: Path) -> None:
    h = sound()
    h.acked("orders", 0, seq=2, offset=2)
    assert said(h.write(tmp_path / "lost"))[0] == EXIT_FAILED


@pytest.mark.parametrize("damage", [truncated("probes"), garbled("probes")], ids=["truncated", "garbled"])
def test_violations_beside_a_broken_file_are_inconclusive(
    spark: Any, damage: Callable[[Path], None], tmp_path: Path
) -> None:
    from validate.judge import judge_ledger  # noqa: PLC0415 -- so that the rest can be collected without a judge

    h = sound()
    h.acked("orders", 0, seq=2, offset=2)
    ledger = h.write(tmp_path / "ledger")
    damage(ledger)
    summary = judge_ledger(spark, ledger, None, tmp_path / "findings").to_json()
    assert summary["verdict"] == "unknown"
    assert [(x["anomaly"], x["seq"], x["inconclusive"]) for x in summary["findings"]] == [("lost", 2, True)]
    assert [problem for problem in summary["problems"] if "probes" in problem] == summary["problems"]


@pytest.mark.parametrize("name", BAD_EXPECTATIONS)
def test_bad_expectation_is_an_error(said: Callable[..., tuple[int, str]], name: str, tmp_path: Path) -> None:
    ledger = sound().write(tmp_path / "ledger")
    expect = tmp_path / "expect.yml"
    expect.write_text(json.dumps(BAD_EXPECTATIONS[name]), encoding="utf-8")
    code, text = said(ledger, "--expect", expect)
    assert code == EXIT_USAGE
    assert str(expect) in text


def test_what_spark_itself_lists_is_read_alike(spark: Any, tmp_path: Path) -> None:
    """Behind a URL there is no looking into footers: the same tables, and the same complaints."""
    from validate.ledger.read import _open_remote, open_ledger  # noqa: PLC0415 -- as above

    ledger = sound().write(tmp_path / "ledger")
    here, there = open_ledger(spark, str(ledger)), _open_remote(spark, str(ledger))
    assert there.problems == []
    assert {name: frame.schema for name, frame in there.tables.items()} == {
        name: frame.schema for name, frame in here.tables.items()
    }
    with_values("sent", "key", 0.5, kind=pa.float64())(ledger)
    without_column("log", "seq", "offset")(ledger)
    told = "\n".join(map(str, _open_remote(spark, str(ledger)).problems))
    assert "sent.key is no binary" in told
    assert "log has no column 'offset'" in told
    assert "seq" not in told


def test_other_shapes_are_read(spark: Any, tmp_path: Path) -> None:
    """Nothing is lost by these casts and no column is missing that must be there."""
    ledger = sound().write(tmp_path / "ledger")
    as_others_write(ledger)
    from validate.judge import judge_ledger  # noqa: PLC0415 -- so that the rest can be collected without a judge

    summary = judge_ledger(spark, ledger, None, tmp_path / "findings").to_json()
    assert summary["verdict"] == "passed", summary
    assert summary["acked"]["found"] == 2
