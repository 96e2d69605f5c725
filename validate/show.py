"""A judgement for the eye: the verdict first, then counts, then the first findings of each kind."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from validate.checks.finding import VERDICTS
from validate.checks.table import MEANING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from validate.summary import Summary

EACH = 3  # findings shown of each kind; all are in the findings folder
_COLOUR = {"passed": "green", "failed": "red", "unknown": "yellow"}


def show(summary: Summary, console: Console | None = None) -> None:
    out = console or Console(highlight=False, soft_wrap=True)
    colour = _COLOUR[summary.verdict]
    out.print(f"[bold {colour}]{summary.verdict}[/]  " + escape(_in_words(summary)))
    for problem in summary.problems:
        out.print(f"[yellow]not readable[/] {escape(problem)}")
    for reason in summary.reasons:
        out.print(f"[yellow]because[/] {escape(reason)}")
    out.print(f"checked: {_numbers(summary.checked)}")
    out.print(f"of the acked: {_numbers(summary.acked)}")
    if any(sum(verdicts.values()) for verdicts in summary.counts.values()):
        out.print(_counts(summary))
        _examples(summary, out)
    out.print(f"all findings: {escape(summary.findings_path)}")


def _in_words(summary: Summary) -> str:
    violations = sum(verdicts["violation"] for verdicts in summary.counts.values())
    if summary.problems:
        return f"the ledger is not complete, which proves nothing ({counted(violations)} in its readable part)"
    if summary.verdict == "passed":
        return "every acknowledged record is accounted for"
    return counted(violations)


def counted(violations: int) -> str:
    return f"{violations:,} violation{'' if violations == 1 else 's'}"


def _numbers(counts: Mapping[str, int]) -> str:
    """In words, which wrap where a table would be cut."""
    return ", ".join(f"{count:,} {name.replace('_', ' ')}" for name, count in counts.items())


def _counts(summary: Summary) -> Table:
    table = Table(box=None, pad_edge=False)
    table.add_column("anomaly")
    for verdict in VERDICTS:
        table.add_column(verdict, justify="right")
    table.add_column("what it means")
    for anomaly, verdicts in summary.counts.items():
        if sum(verdicts.values()):
            style = "red" if verdicts["violation"] else None
            table.add_row(anomaly, *(f"{verdicts[v]:,}" for v in VERDICTS), MEANING[anomaly], style=style)
    return table


def _examples(summary: Summary, out: Console) -> None:
    shown: dict[str, int] = {}
    for finding in summary.findings:
        anomaly = finding["anomaly"]
        shown[anomaly] = shown.get(anomaly, 0) + 1
        if shown[anomaly] <= EACH:
            out.print(f"  {anomaly} ({finding['verdict']}): {escape(_place(finding))}")


def _place(finding: dict[str, Any]) -> str:
    words = [f"{finding['topic']}/{finding['partition']}"]
    numbered = ("offset", "producer", "seq", "attempt")
    words.extend(f"{name} {finding[name]}" for name in numbered if finding[name] is not None)
    words += [str(finding[name]) for name in ("detail", "note") if finding[name]]
    return ", ".join(words)
