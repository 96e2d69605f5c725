"""The report of a run: report.json, one self-contained page, junit.xml."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from common.errors import EXIT_FAILED, EXIT_UNKNOWN, UnreadableError
from common.files import write_whole
from validate.report import build, junit, words
from validate.report.page import html

if TYPE_CHECKING:
    from pathlib import Path

_EXIT = {words.PASSED: 0, words.FAILED: EXIT_FAILED}


@dataclass(frozen=True)
class Report:
    """What was written, and what it says."""

    verdict: str
    sentence: str
    html: Path
    json: Path
    junit: Path

    @property
    def exit_code(self) -> int:
        return _EXIT.get(self.verdict, EXIT_UNKNOWN)


def write(run_folder: Path) -> Report:
    """Write report.json, report.html and junit.xml into the run's folder, from what lies in it."""
    content = build.build(run_folder)
    made = Report(
        verdict=content["verdict"],
        sentence=content["sentence"],
        html=run_folder / "report.html",
        json=run_folder / "report.json",
        junit=run_folder / "junit.xml",
    )
    for path, text in ((made.json, _dumped(content)), (made.junit, junit.xml(content)), (made.html, html(content))):
        try:
            write_whole(path, text)
        except OSError as error:
            raise UnreadableError(
                f"The report cannot be written: {path}.",
                details=str(error),
                resolution="Free some space or mend the folder's rights, then: python -m validate report RUN.",
            ) from error
    return made


def _dumped(content: dict[str, Any]) -> str:
    return json.dumps(content, separators=(",", ":"), ensure_ascii=False, default=str) + "\n"
