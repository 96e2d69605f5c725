"""The form of declared topics, users, ACLs and quotas: fields, types and words, told before anything changes.

Ansible looks no deeper than that each is a list of dicts; what else is wrong would be met only when the cluster stands.
"""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING, Any

from .specs import ACL_OPTIONS, QUOTA_OPTIONS, TOPIC_OPTIONS, USER_OPTIONS

if TYPE_CHECKING:
    from collections.abc import Iterable

    from .specs import Spec

ITEMS: dict[str, Spec] = {
    "topics": TOPIC_OPTIONS, "users": USER_OPTIONS, "acls": ACL_OPTIONS, "quotas": QUOTA_OPTIONS,
}  # fmt: skip
GOOD = {"str": "text, in quotes if it looks like a number", "int": "a whole number", "dict": "names with values",
        "list": "a list of texts"}  # fmt: skip


def item_problems(context: dict[str, Any]) -> list[str]:
    """A misspelt field would be met only when the cluster stands."""
    problems = []
    for kind, spec in ITEMS.items():
        known = sorted(spec.keys() | {alias for option in spec.values() for alias in option.get("aliases", ())})
        for number, item in enumerate(context[kind]):
            label = item.get("name") or item.get("principal") or item.get("user") or "without a name"
            where = f"kafka_{kind}[{number}] ({label})"
            problems += [
                f"{where} has no field {field}: {meant(str(field), known) or 'it has ' + ', '.join(known) + '.'}"
                for field in sorted(item.keys() - set(known), key=str)
            ]
            problems += [
                f"{where} lacks {field}."
                for field, option in spec.items()
                if option.get("required") and not ({field, *option.get("aliases", ())} & item.keys())
            ]
            problems += [problem for field, option in spec.items() for problem in _wrong(where, item, field, option)]
    return problems


def _wrong(where: str, item: dict[str, Any], field: str, option: dict[str, Any]) -> list[str]:
    name = next((word for word in (field, *option.get("aliases", ())) if word in item), None)
    if name is None:
        return []
    value = item[name]
    shown = "" if option.get("no_log") else f" {value!r}"
    if not _has_form(value, option):
        return [f"{where} has {name}{shown}: write {GOOD[option['type']]}."]
    allowed = option.get("choices")
    words = value if isinstance(value, list) else [value]
    if allowed and value is not None and not set(words) <= set(allowed):
        return [f"{where} has {name}{shown}: use {' or '.join(allowed)}."]
    return []


def _has_form(value: Any, option: dict[str, Any]) -> bool:
    """As Ansible reads types: digits may be text, one word may be a list."""
    if value is None:
        return not option.get("required")
    if option["type"] == "int":
        return is_whole(value)
    if option["type"] == "dict":
        return isinstance(value, dict) and all(isinstance(key, str) for key in value)
    if option["type"] == "list":
        return isinstance(value, str) or (isinstance(value, list) and all(isinstance(part, str) for part in value))
    return isinstance(value, str)


def is_whole(value: Any) -> bool:
    """A number of things: digits, as a number or as text."""
    text = str(value)
    return isinstance(value, int | str) and not isinstance(value, bool) and text.isascii() and text.isdigit()


def meant(name: str, words: Iterable[str]) -> str:
    near = difflib.get_close_matches(name, list(words), n=1, cutoff=0.6)
    return f"did you mean {near[0]}?" if near else ""
