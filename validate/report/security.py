"""The security checks of a run, as run.json holds them: what is no check becomes one that nobody can read."""

from __future__ import annotations

from typing import Any

from validate.report import words

TEXTS = ("family", "title", "tried", "where", "expected", "fix")


def checks(run: dict[str, Any]) -> list[dict[str, Any]]:
    found = run.get("security") or []
    return [_check(one) for one in found if isinstance(one, dict)] if isinstance(found, list) else []


def _check(one: dict[str, Any]) -> dict[str, Any]:
    verdict, seen, took = one.get("verdict"), one.get("seen"), one.get("duration_s")
    return {
        "number": one["number"] if isinstance(one.get("number"), int) else 0,
        **{name: str(one.get(name) or "") for name in TEXTS},
        "verdict": verdict if verdict in {*words.SEVERITY, words.WAIVED} else words.UNKNOWN,
        "seen": [str(line) for line in seen] if isinstance(seen, list) else [],
        "duration_s": float(took) if isinstance(took, (int, float)) else 0.0,
    }


def counted(found: list[dict[str, Any]]) -> dict[str, int]:
    names = (words.PASSED, words.FAILED, words.UNKNOWN, words.SKIPPED, words.WAIVED)
    return {name: sum(one["verdict"] == name for one in found) for name in names}


def sentence(found: list[dict[str, Any]]) -> list[str]:
    """What the checks showed, in one sentence; none if there were none."""
    if not found:
        return []
    said = f"Of {words.many(len(found), 'security check')} {counted(found)[words.PASSED]} passed"
    for name in (words.FAILED, words.UNKNOWN, words.WAIVED, words.SKIPPED):
        numbers = [str(one["number"]) for one in found if one["verdict"] == name]
        if numbers:
            shown = f" ({', '.join(numbers)})"
            said += f", {len(numbers)} {'not applicable here' if name == words.SKIPPED else name}{shown}"
    return [f"{said}."]
