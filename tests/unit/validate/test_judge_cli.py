"""The command line before Spark starts: exit codes and messages of wrong calls."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from common.errors import EXIT_UNKNOWN, EXIT_USAGE
from validate.__main__ import main
from validate.verbs import judge

if TYPE_CHECKING:
    import argparse
    from pathlib import Path


@pytest.mark.parametrize("argv", [[], ["jugde", "x"], ["judge"], ["judge", "a", "--color"], ["judge", "a", "--expect"]])
def test_a_wrong_call_is_64(argv: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(argv) == EXIT_USAGE
    said = capsys.readouterr()
    assert "--help" in said.err
    assert said.out == ""


def test_no_such_folder_is_64(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["judge", str(tmp_path / "nowhere")]) == EXIT_USAGE
    assert "There is no ledger folder" in capsys.readouterr().err


def test_a_wrong_expectation_is_64(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    expect = tmp_path / "e.yml"
    for content, what, instead in (
        ("anomaly: {}", "'anomaly' was unexpected", "Keys there: anomalies, groups,"),
        ("anomalies: {lost: {count: some}}", "anomalies/lost/count", ">N and >=N are the least"),
        ("[]", "at the top", "What may stand there"),
        ("1: {}", "the key 1 is no text", "What may stand there"),
    ):
        expect.write_text(content, encoding="utf-8")
        assert main(["judge", str(tmp_path), "--expect", str(expect)]) == EXIT_USAGE
        said = capsys.readouterr().err
        assert what in said
        assert instead in said
        assert "validate/expect.schema.json" in said


def test_a_crash_is_unknown(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def crash(args: argparse.Namespace) -> int:
        raise ZeroDivisionError(str(args.ledger))

    monkeypatch.setattr(judge, "run", crash)
    assert main(["judge", "somewhere"]) == EXIT_UNKNOWN
    assert "the verdict is unknown" in capsys.readouterr().err


@pytest.mark.parametrize("argv", [["--help"], ["judge", "--help"]])
def test_help_names_the_exit_codes(argv: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        main(argv)
    assert left.value.code == 0
    assert "0 passed, 1 failed, 2 unknown, 64" in " ".join(capsys.readouterr().out.split())
