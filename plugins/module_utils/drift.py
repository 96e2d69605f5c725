"""What differs from what is declared, in a line each: from the results of tasks that ran in check mode."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

Result = dict[str, Any]
HEADER_LINES = 2


def lines(results: list[tuple[str, Result]]) -> list[str]:
    """`results`: what a task is about, and what it returned."""
    found = []
    for about, result in results:
        if result.get("skipped"):
            continue
        named = [*_plan(result), *_files(result), *_reasons(result)] if result.get("changed") else []
        named += [f"not declared: {stray}" for stray in result.get("strays", [])]
        if result.get("changed") and not named:
            named = ["differs"]
        found += [f"{about}: {text}" for text in named]
    return list(dict.fromkeys(found))


def of_hosts(names: list[str], hostvars: Mapping[str, Any], registered: Mapping[str, str]) -> list[str]:
    """The same of hosts of other plays, from what their tasks registered, item by item; every line names its host."""
    found = []
    for name in names:
        for about, key in registered.items():
            result = hostvars[name].get(key) or {}
            found += lines([(f"{name}: {about}", item) for item in result.get("results", [result])])
    return found


def _plan(result: Result) -> list[str]:
    return list(result.get("plan") or [])


def _reasons(result: Result) -> list[str]:
    return [str(reason) for reason in result.get("reasons") or []]


def _files(result: Result) -> list[str]:
    """The path, and which lines of it are not as declared; a secret file shows only its path."""
    diffs = result.get("diff") or []
    named = []
    for diff in [diffs] if isinstance(diffs, dict) else diffs:
        if not diff.get("before_header"):
            continue
        before, after = str(diff.get("before", "")).splitlines(), str(diff.get("after", "")).splitlines()
        changed = [
            line for line in list(difflib.unified_diff(after, before, lineterm="", n=0))[HEADER_LINES:]
            if not line.startswith("@@") and line.strip("+- ")
        ]  # fmt: skip
        shown = "; ".join(changed)
        named.append(f"{diff['before_header']} ({shown})" if shown else str(diff["before_header"]))
    return named or list(result.get("changed_files") or [])
