"""One run folder with its report, made once: tests that change something copy it."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.unit.validate.report import lives, runs
from validate import report


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The evening's run, reported."""
    folder = runs.write(tmp_path_factory.mktemp("runs") / runs.RUN_ID, lives.evening())
    report.write(folder)
    return folder


@pytest.fixture(scope="session")
def told(made: Path) -> Any:
    """Its report.json."""
    return json.loads((made / "report.json").read_text(encoding="utf-8"))


@pytest.fixture
def own(made: Path, tmp_path: Path) -> Path:
    """A copy of the run that a test may damage."""
    return Path(shutil.copytree(made, tmp_path / runs.RUN_ID))
