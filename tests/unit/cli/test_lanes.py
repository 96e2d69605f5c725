"""How `./kastellan test` spreads the tests: none is left out, and what runs beside the others is heard."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from cli import test as tiers

ROOT = Path(__file__).resolve().parents[3]


def test_every_test_runs_in_exactly_one_place() -> None:
    apart = [word.removeprefix("--ignore=") for word in tiers.LANE if word.startswith("--")]
    places = [word for word in (*tiers.LANE, *tiers.BESIDE, *tiers.AFTER) if not word.startswith("--")]
    for path in (ROOT / "tests").rglob("test_*.py"):
        name = path.relative_to(ROOT).as_posix()
        runs = [place for place in places if name.startswith(f"{place}/")]
        if any(name.startswith(f"{one}/") for one in apart):
            runs.remove(tiers.LANE[0])
        assert len(runs) == 1, name


@pytest.mark.parametrize(("code", "word"), [(0, "passed"), (3, "FAILED")])
def test_what_runs_beside_is_shown_with_its_end(code: int, word: str, capfd: pytest.CaptureFixture[str]) -> None:
    with tiers.beside([sys.executable, "-c", f"import sys; print('heard'); sys.exit({code})"]) as lane:
        pass
    assert lane.returncode == code
    out = capfd.readouterr().out
    assert "heard" in out
    assert word in out
