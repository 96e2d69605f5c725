"""Pictures that workloads left: shown, never run, and told where they cannot be."""

from __future__ import annotations

import base64
import json
import re
from typing import TYPE_CHECKING

import pytest

from tests.unit.validate.report import lives, runs
from validate import report, sample
from validate.report.pictures import MOST, MOST_BYTES
from validate.workload import plot

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = runs.write(
        tmp_path / "run", [lives.baseline(more={"notes": ["b had 6 partitions 7.1 s after a was gone."]})]
    )
    plot.write("iris", sample.rows("iris", 0, None), made / "ledger" / "baseline", "everything")
    return made


def test_a_picture_is_in_the_report_as_an_image(folder: Path) -> None:
    made = report.write(folder)
    told = json.loads(made.json.read_text(encoding="utf-8"))["scenarios"][0]
    assert [picture["name"] for picture in told["pictures"]] == ["everything"]
    page = made.html.read_text(encoding="utf-8")
    (found,) = re.findall(r'<img src="data:image/svg\+xml;base64,([^"]+)"', page)
    assert base64.b64decode(found).decode() == told["pictures"][0]["svg"]
    assert "Drawn by everything" in page


def test_what_stands_in_a_picture_is_never_markup(folder: Path) -> None:
    path = folder / "ledger" / "baseline" / plot.FOLDER / "bad.svg"
    path.write_text("<svg onload='alert(1)'><script>alert(2)</script></svg>", encoding="utf-8")
    assert "alert(" not in report.write(folder).html.read_text(encoding="utf-8")


def test_what_cannot_be_shown_is_told(folder: Path) -> None:
    pictures = folder / "ledger" / "baseline" / plot.FOLDER
    (pictures / "big.svg").write_text("x" * (MOST_BYTES + 1), encoding="utf-8")
    (pictures / "broken.svg").write_bytes(b"\xff\xfe")
    for number in range(MOST):
        (pictures / f"more-{number}.svg").write_text("<svg/>", encoding="utf-8")
    told = json.loads(report.write(folder).json.read_text(encoding="utf-8"))["scenarios"][0]
    assert len(told["pictures"]) == MOST
    for name in ("big.svg: not shown", "broken.svg: not readable", f"more-{MOST - 1}.svg: not shown"):
        assert any(note.startswith(name) for note in told["notes"])


def test_what_the_runner_noted_is_in_the_report(folder: Path) -> None:
    made = report.write(folder)
    assert "b had 6 partitions 7.1 s after a was gone." in made.html.read_text(encoding="utf-8")
