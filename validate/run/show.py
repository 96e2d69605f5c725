"""The end of a run on the terminal: one line a scenario, the verdict last, where the eye is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Console
from rich.markup import escape
from rich.table import Table

if TYPE_CHECKING:
    from validate.run.folder import RunFolder

COLOUR = {"passed": "green", "failed": "red", "unknown": "yellow", "not-applicable": "dim", "waived": "magenta"}

MOST = 140  # letters of a reason; the report has it whole


def show(folder: RunFolder) -> None:
    out = Console(highlight=False, soft_wrap=True)
    table = Table(box=None, pad_edge=False, show_header=False)
    for entry in folder.entries:
        verdict = entry.verdict or "unknown"
        table.add_row(
            f"[{COLOUR[verdict]}]{verdict}[/]", entry.id, escape(_short(entry.reasons[0]) if entry.reasons else "")
        )
    for check in folder.checks:
        verdict = check["verdict"]
        if verdict != "passed":
            told = escape(_short(f"{check['title']}: {check['seen'][0]}"))
            table.add_row(f"[{COLOUR[verdict]}]{verdict}[/]", f"security {check['number']}", told)
    if folder.checks:
        well = sum(check["verdict"] == "passed" for check in folder.checks)
        table.add_row("", "security", f"{well} of {len(folder.checks)} checks passed")
    out.print(table)
    out.print(f"[bold {COLOUR[folder.verdict]}]{folder.verdict}[/]  {escape(str(folder.path))}")


def _short(text: str) -> str:
    return text if len(text) <= MOST else f"{text[: MOST - 1]}\u2026"
