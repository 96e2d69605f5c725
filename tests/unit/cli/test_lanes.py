"""How `./kastellan test` spreads the tests: none is left out, and what runs beside the others is heard."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from cli import test as tiers

ROOT = Path(__file__).resolve().parents[3]


def runs_of(name: str, lane: tuple[str, ...]) -> bool:
    """As pytest takes its words: folders, less those that are ignored."""
    left_out = [word.removeprefix("--ignore=") for word in lane if word.startswith("--ignore=")]
    folders = [word for word in lane if not word.startswith("--")]
    return under(name, folders) and not under(name, left_out)


def under(name: str, folders: list[str]) -> bool:
    return any(name.startswith(f"{folder}/") for folder in folders)


FILES = sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / "tests").rglob("test_*.py"))


@pytest.mark.parametrize("name", FILES)
def test_every_test_runs_in_exactly_one_place(name: str) -> None:
    assert sum(runs_of(name, lane) for lane in (*tiers.SPARK_LANES, tiers.AFTER)) == 1


@pytest.mark.parametrize("name", FILES)
def test_every_test_that_may_be_fast_runs_once_in_the_fast_tier(name: str) -> None:
    """Hosts and a session of Spark are in none; the histories' own form is looked at without one."""
    slow = under(name, ["tests/system", "tests/spark"]) and not under(name, ["tests/spark/histories"])
    assert sum(runs_of(name, lane) for lane in tiers.FAST_LANES) == (0 if slow else 1)


@pytest.mark.parametrize(("code", "word"), [(0, "passed"), (3, "FAILED")])
def test_what_runs_beside_is_shown_with_its_end(code: int, word: str, capfd: pytest.CaptureFixture[str]) -> None:
    with tiers.beside([sys.executable, "-c", f"import sys; print('heard'); sys.exit({code})"]) as lane:
        pass
    assert lane.returncode == code
    out = capfd.readouterr().out
    assert "heard" in out
    assert word in out
