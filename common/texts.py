"""JSON and YAML that people write: read, or refused with one kind of error, whatever their readers stumble over."""

from __future__ import annotations

import json
from typing import Any

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


def from_yaml(text: str, loader: type[yaml.SafeLoader] = yaml.SafeLoader) -> Any:
    """A wrong date or a tag on the wrong word raises what Python's own functions raise, and no YAMLError."""
    try:
        return yaml.load(text, Loader=loader)  # noqa: S506  a SafeLoader
    except RecursionError:
        raise TextError("it is nested too deeply") from None
    except (yaml.YAMLError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise TextError(
            f"{type(error).__name__}: {error}" if not isinstance(error, yaml.YAMLError) else str(error)
        ) from None
