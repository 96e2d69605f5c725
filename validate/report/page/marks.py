"""Verdicts as they are shown: always a shape and a word, colour only besides."""

from __future__ import annotations

from typing import Any

from validate.report import words
from validate.report.page.markup import Html, el

SHAPE = {"passed": "✔", "failed": "✖", "unknown": "?", "not-applicable": words.NOTHING, "waived": "!"}
OF_FINDING = {"violation": "✖", "expected": "○", "allowed": "·"}


def verdict(word: str) -> Html:
    return el(
        "span", el("span", SHAPE.get(word, "?"), aria_hidden="true", class_="shape"), " ", word, class_=f"v {word}"
    )


def of_finding(word: Any) -> Html:
    shape = el("span", OF_FINDING.get(str(word), ""), aria_hidden="true", class_="shape")
    return el("span", shape, " ", word, class_=f"f {word}") if word else el("span", words.NOTHING)


def number(n: Any) -> str:
    return words.NOTHING if n is None else f"{n:,}"
