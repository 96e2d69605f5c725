"""The security checks, for an auditor: what was tried, from where, what was expected, what was seen, what to change."""

from __future__ import annotations

from typing import Any

from validate.report import words
from validate.report.page.marks import verdict
from validate.report.page.markup import Html, el, listed, table
from validate.report.security import sentence

_HEADS = ["verdict", "no.", "check", "tried, from where", "expected", "seen"]


def security(report: dict[str, Any]) -> Html | None:
    found = report["security"]
    if not found:
        return None
    families = list(dict.fromkeys(one["family"] for one in found))
    return el(
        "section",
        el("h2", "Security: what must be refused is refused", id="security"),
        el("p", sentence(found)),
        [_family(name, [one for one in found if one["family"] == name]) for name in families],
    )


def _family(name: str, found: list[dict[str, Any]]) -> list[Html]:
    rows = [_row(one) for one in found]
    return [el("h3", name.capitalize()), table(_HEADS, rows, caption=f"Checks: {name}", class_="roomy")]


def _row(one: dict[str, Any]) -> list[Any]:
    mend = one["fix"] if one["verdict"] in {words.FAILED, words.UNKNOWN, words.WAIVED} else ""
    seen = [listed(one["seen"]), el("p", "What to change: ", mend) if mend else None]
    tried = [one["tried"], el("br"), el("span", f"from {one['where']}", class_="quiet")]
    return [verdict(one["verdict"]), one["number"], one["title"], tried, one["expected"], seen]
