"""The table of findings: a part of report.json's in the page, filtered and paged by a few lines of script."""

from __future__ import annotations

import json
from typing import Any

from validate.report import words
from validate.report.page.marks import of_finding
from validate.report.page.markup import Html, el, listed, table

# In the page; with about a hundred bytes each it stays below half a megabyte.
MOST = 4_000
FIRST_PAGE = 25
COLUMNS = ("verdict", "anomaly", "scenario", "topic", "partition", "offset", "producer", "seq", "attempt", "detail")
_RANK = {"violation": 0, "expected": 1, "allowed": 2}
_NUMBERS = {4, 5, 7, 8}


def chosen(report: dict[str, Any]) -> list[list[Any]]:
    """As many of each scenario as there is room for: first an equal share each, then what is left in their order."""
    lists = [[(i, _row(one["id"], x)) for i, x in _varied(of(one))] for one in report["scenarios"]]
    share = MOST // max(1, len([x for x in lists if x]))
    rows = [(n, i, row) for n, each in enumerate(lists) for i, row in each[:share]]
    rest = [(n, i, row) for n, each in enumerate(lists) for i, row in each[share:]]
    kept = sorted(rows + rest[: MOST - len(rows)], key=lambda x: (_RANK.get(x[2][0], 0), x[0], x[1]))
    return [row for _, _, row in kept]


def of(scenario: dict[str, Any]) -> list[dict[str, Any]]:
    """All that report.json lists of a scenario."""
    return [*((scenario["summary"] or {}).get("findings") or []), *scenario["more_findings"]]


def _varied(listed_ones: list[dict[str, Any]]) -> list[tuple[int, dict[str, Any]]]:
    """With their places: the first of each kind, then the second of each, so that a cut leaves some of every kind."""
    seen: dict[tuple[Any, Any], int] = {}
    turns = []
    for place, finding in enumerate(listed_ones):
        kind = (finding.get("anomaly"), finding.get("verdict"))
        seen[kind] = seen.get(kind, -1) + 1
        turns.append((seen[kind], place, finding))
    return [(place, finding) for _, place, finding in sorted(turns, key=lambda x: x[:2])]


def _row(scenario: str, finding: dict[str, Any]) -> list[Any]:
    detail = "; ".join(str(finding[name]) for name in ("detail", "note") if finding.get(name))
    if finding.get("inconclusive"):
        detail += " (inconclusive: the ledger is not complete)"
    of = {**finding, "scenario": scenario, "detail": detail}
    return [of.get(name) for name in COLUMNS]


def findings(report: dict[str, Any]) -> Html:
    rows = chosen(report)
    whole = sum(x["counts"]["findings"] for x in report["scenarios"])
    if not whole and not rows:
        return el("section", el("h2", "Findings", id="findings"), el("p", "No judgement found anything to tell."))
    first = [[of_finding(row[0]), *row[1:]] for row in rows[:FIRST_PAGE]]
    shown = table(
        list(COLUMNS), [[words.NOTHING if x is None else x for x in row] for row in first], numbers=_NUMBERS, id="found"
    )
    body = [
        el("h2", "Findings", id="findings", tabindex="-1"),
        el("p", _told(report, rows, whole)),
        _controls(rows),
        el("noscript", el("p", f"Without scripts only the first {FIRST_PAGE} are shown.")),
        shown,
        _where(report),
        _data(rows),
    ]
    return el("section", body)


def _told(report: dict[str, Any], rows: list[list[Any]], whole: int) -> str:
    said = f"{words.many(whole, 'finding')} in all"
    if len(rows) < whole:
        said += f"; the first {len(rows):,} are listed here, violations first"
    bad = report["totals"]["violations"]
    return (
        f"{said}. {words.many(bad, 'violation')}; what is expected or allowed fails nothing, and is shown all the same."
    )


def _controls(rows: list[list[Any]]) -> Html:
    def choice(label: str, column: int) -> Html:
        values = list(dict.fromkeys(str(row[column]) for row in rows))
        options = [el("option", f"every {label}", value=""), *(el("option", x, value=x) for x in values)]
        return el("label", f"{label} ", el("select", options, data_column=str(column)))

    text = el("label", "words ", el("input", type="search", id="words", placeholder="topic, producer, 4711 ..."))
    pages = [
        el("button", "first", type="button", data_go="first"), el("button", "previous", type="button", data_go="-1"),
        el("output", "", id="which", aria_live="polite"),
        el("button", "next", type="button", data_go="1"), el("button", "last", type="button", data_go="last"),
    ]  # fmt: skip
    choices = [choice("verdict", 0), choice("anomaly", 1), choice("scenario", 2), choice("topic", 3)]
    return el("form", el("p", choices, text), el("p", pages), id="filter", class_="controls", hidden=True)


def _where(report: dict[str, Any]) -> Html | None:
    """Where all of them are, for the scenarios of which the page holds a part only."""
    some = [
        f"All {x['counts']['findings']:,} of {x['id']}: findings/{x['id']}/ in the run's folder (Parquet)."
        for x in report["scenarios"]
        if x["counts"]["findings"] > len(of(x))
    ]
    return listed(some, class_="quiet")


def _data(rows: list[list[Any]]) -> Html:
    """JSON inside a script element: `<` is written so that no text in it can end the element."""
    dumped = json.dumps(rows, separators=(",", ":"), ensure_ascii=False, default=str)
    safe = dumped.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")
    return Html(f'<script type="application/json" id="rows">{safe}</script>')
