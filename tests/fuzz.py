"""What random tests of readers share: how much they try, and what they break a good input with."""

from __future__ import annotations

import copy
import datetime as dt
import string
from typing import TYPE_CHECKING, Any, TypeVar

import pytest
from hypothesis import settings
from hypothesis import strategies as st

from common.errors import KastellanError

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")

# The same two hundred every time: a red one is red for whoever looks next, and CI takes seconds.
bounded = settings(max_examples=200, derandomize=True, deadline=None, database=None)

# Each has ended a quotation, a line, a field or a template somewhere.
HARD = (
    "'", '"', "\\", ",", "=", ":", ";", "#", "!", "$", "${a:b}", "{{ x }}", "{%", "//", "/*", " ", "\t", "\n", "\r", "\f",
    "\x00", "\x7f", "\x85", "\u2028", "ä", "ß", "日", "\U0001f511", "%", "@", "&", "*", "|", "<", ">", "[", "]", "~", "`",
)  # fmt: skip
hard_text = st.lists(st.one_of(st.sampled_from(HARD), st.sampled_from(string.ascii_letters + string.digits))).map(
    "".join
)
any_text = st.one_of(hard_text, st.text(st.characters(exclude_categories=["Cs"]), max_size=40))

_leaves = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**70), 2**70),
    st.floats(),
    st.sampled_from(
        ["", "0", "-1", "1.5", "1e400", "null", "auto", "x" * 300, "../..", "~nobody-of-that-name/x", "a\0b"]
    ),
    any_text,
    st.sampled_from([dt.date(2026, 11, 18), b"bytes"]),
)
junk = st.recursive(
    _leaves,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.one_of(any_text, st.integers(), st.none()), inner, max_size=3)
    ),
    max_leaves=8,
)
json_junk = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-(2**70), 2**70), st.floats(), any_text,
              st.sampled_from(["", "0", "~nobody-of-that-name/x", "a\0b", "\ud800", "x" * 300])),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(any_text, inner, max_size=3)),
    max_leaves=8,
)  # fmt: skip


def _places(thing: Any, at: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    found = [at] if at else []
    if isinstance(thing, dict):
        found += [place for key in thing for place in _places(thing[key], (*at, key))]
    if isinstance(thing, list):
        found += [place for number in range(len(thing)) for place in _places(thing[number], (*at, number))]
    return found


@st.composite
def spoiled(draw: st.DrawFn, good: Any, values: st.SearchStrategy[Any] = junk, keys: Any = any_text) -> Any:
    """A good structure in which one to three places were taken out, replaced or added to."""
    made = copy.deepcopy(good)
    for _ in range(draw(st.integers(1, 3))):
        places = _places(made)
        if not places:
            return draw(values)
        *path, last = draw(st.sampled_from(places))
        holder = made
        for step in path:
            holder = holder[step]
        act = draw(st.sampled_from(("replace", "replace", "replace", "remove", "add")))
        if act == "remove":
            del holder[last]
        elif act == "replace":
            holder[last] = draw(values)
        elif isinstance(holder, dict):
            holder[draw(keys)] = draw(values)
        else:
            holder.append(draw(values))
    return made


@st.composite
def torn(draw: st.DrawFn, good: str) -> str:
    """A good text with a piece cut out, a hard one put in, or a stretch repeated."""
    text = good
    for _ in range(draw(st.integers(1, 3))):
        start = draw(st.integers(0, len(text)))
        end = min(len(text), start + draw(st.integers(0, 30)))
        put = draw(st.one_of(st.just(""), hard_text, st.sampled_from(TAGS), st.just(text[start:end] * 2)))
        text = text[:start] + put + text[end:]
    return text


# What YAML's own reader stumbles over with errors that are not its own.
TAGS = ("2001-99-99", "!!timestamp x", "!!bool x", "!!int x", "!!float x", "!!binary ä", "&a [*a]", "? [a]\n: b", "<<: 1",
        "!!python/object:x", "[" * 1200, "- " * 1200, "0b", "1:99", "\ufeff", "%YAML 9", "---\na\n---\n")  # fmt: skip


def answered(call: Callable[[], T], refusal: type[Exception] = KastellanError) -> T | None:
    """What it answers; None where it refuses as it should: what is wrong, and what to do."""
    try:
        return call()
    except refusal as error:
        parts = [getattr(error, name, str(error)).strip() for name in ("brief", "resolution")]
        if not all(parts):
            pytest.fail(f"an error without a way out: {error}")
        return None
