"""Pictures that a workload left in its ledger: taken into the report, never as markup."""

from __future__ import annotations

from typing import TYPE_CHECKING

from validate.workload.plot import FOLDER

if TYPE_CHECKING:
    from pathlib import Path

MOST_BYTES = 200_000  # of one: the page has to stay small
MOST = 8


def read(ledger: Path) -> tuple[list[dict[str, str]], list[str]]:
    """Each with its name, and what could not be shown."""
    found: list[dict[str, str]] = []
    problems: list[str] = []
    for path in sorted((ledger / FOLDER).glob("*.svg")):
        try:
            text = path.read_text(encoding="utf-8")
        except (OSError, ValueError) as error:
            problems.append(f"{path.name}: not readable ({str(error).splitlines()[0][:200]})")
            continue
        if len(text) > MOST_BYTES or len(found) == MOST:
            problems.append(f"{path.name}: not shown, for there is no room for it")
        else:
            found.append({"name": path.stem, "svg": text})
    return found, problems
