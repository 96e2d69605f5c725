"""The page: one HTML file that needs nothing else, drawn from report.json alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from validate.report.page.findings import findings
from validate.report.page.markup import Html, el
from validate.report.page.scenario import scenario
from validate.report.page.security import security
from validate.report.page.top import machine, overview, top

_HERE = Path(__file__).parent
# How finely pictures are drawn. With many scenarios they are coarser, so that a page stays below two megabytes.
_COLUMNS, _COLUMNS_OF_MANY, _MANY = 900, 450, 12
# Nothing may be loaded from anywhere, whatever stands in the page.
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:; form-action 'none'"


def html(report: dict[str, Any]) -> str:
    columns = _COLUMNS if len(report["scenarios"]) <= _MANY else _COLUMNS_OF_MANY
    head = el(
        "head",
        el("meta", charset="utf-8"),
        el("meta", http_equiv="Content-Security-Policy", content=_POLICY),
        el("meta", name="viewport", content="width=device-width, initial-scale=1"),
        el("meta", name="color-scheme", content="light dark"),
        el("title", f"{report['verdict']}: {report['run']['suite'] or 'scenarios'}, {report['run']['run_id']}"),
        el("link", rel="icon", href="data:,"),
        Html(f"<style>{_beside('style.css')}</style>"),
    )
    body = el(
        "body",
        el("a", "Skip to the scenarios", href="#scenarios", class_="skip"),
        Html(_beside("patterns.svg")),
        top(report),
        el(
            "main",
            overview(report),
            security(report),
            [scenario(one, columns) for one in report["scenarios"]],
            findings(report),
            machine(report),
        ),
        el("footer", el("p", f"Made from report.json of run {report['run']['run_id']} by Kastellan.")),
        Html(f"<script>{_beside('page.js')}</script>"),
    )
    return f'<!doctype html>\n<html lang="en">{head}{body}</html>\n'


def _beside(name: str) -> str:
    return (_HERE / name).read_text(encoding="utf-8")
