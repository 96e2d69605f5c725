"""JSON and YAML that people write: read, or refused with one kind of error, whatever their readers stumble over."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import yaml


class TextError(ValueError):
    """No such text; the message says why."""


def from_json(text: str | bytes) -> Any:
    try:
        return json.loads(text)
    except RecursionError:
        raise TextError("it is nested too deeply") from None
    except ValueError as error:
        raise TextError(str(error)) from None


def from_yaml(text: str, loader: type[yaml.SafeLoader] | None = None) -> Any:
    """A wrong date or a tag on the wrong word raises what Python's own functions raise, and no YAMLError."""
    import yaml  # noqa: PLC0415  executors of Spark read JSON here, and have no such package

    try:
        content = yaml.load(text, Loader=loader or yaml.SafeLoader)  # noqa: S506  a SafeLoader
        _refuse_loops(content, frozenset(), set())
    except RecursionError:
        raise TextError("it is nested too deeply") from None
    except (yaml.YAMLError, TextError) as error:
        raise TextError(str(error)) from None
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise TextError(f"{type(error).__name__}: {error}") from None
    return content


def _refuse_loops(thing: Any, above: frozenset[int], done: set[int]) -> None:
    """An alias inside its own anchor would keep every walk through it busy for ever."""
    if id(thing) in above:
        raise TextError("a part of it holds itself")
    if isinstance(thing, dict | list) and id(thing) not in done:
        for part in thing.values() if isinstance(thing, dict) else thing:
            _refuse_loops(part, above | {id(thing)}, done)
        done.add(id(thing))
