"""The form of what people write, against its schema; stricter than JSON Schema, whose whole numbers may be 1.0."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

import jsonschema

if TYPE_CHECKING:
    from pathlib import Path


def mistakes(content: Any, schema_file: Path) -> list[jsonschema.ValidationError]:
    """All that its schema objects to, by place; a key that is no text comes alone, as nothing else fits it."""
    odd = _odd_key(content, ())
    if odd is not None:
        return [odd]
    schema = json.loads(schema_file.read_text(encoding="utf-8"))
    return sorted(_Strict(schema).iter_errors(content), key=lambda error: list(error.absolute_path))


def best(errors: list[jsonschema.ValidationError]) -> jsonschema.ValidationError:
    """The one that tells most."""
    found: jsonschema.ValidationError = jsonschema.exceptions.best_match(errors)
    return found


def hint(error: jsonschema.ValidationError) -> str:
    """A sentence on what would be right: the keys that there are, or what the schema says of the place."""
    at: Any = error  # the stubs know neither its schema nor its parent's kind
    if at.validator == "additionalProperties" and (keys := at.schema.get("properties")):
        return f"Keys there: {', '.join(keys)}. "
    while at is not None:
        # The whole schema's own words say nothing of a place in it.
        if isinstance(at.schema, dict) and "$schema" not in at.schema and "description" in at.schema:
            return f"{at.schema['description']} "
        at = at.parent
    return ""


_MOST = sys.float_info.max  # beyond it stand infinity, and integers that crash what counts in floats


def _is_integer(_: Any, thing: Any) -> bool:
    return isinstance(thing, int) and not isinstance(thing, bool)


def _is_number(_: Any, thing: Any) -> bool:
    return isinstance(thing, int | float) and not isinstance(thing, bool) and -_MOST <= thing <= _MOST


_CHECKER = jsonschema.Draft202012Validator.TYPE_CHECKER.redefine_many({"integer": _is_integer, "number": _is_number})
_Strict = jsonschema.validators.extend(  # type: ignore[no-untyped-call]  # jsonschema's stubs leave it out
    jsonschema.Draft202012Validator, type_checker=_CHECKER
)


def _odd_key(content: Any, place: tuple[Any, ...]) -> jsonschema.ValidationError | None:
    """YAML has numbers, dates and nothing as keys."""
    inner = content.items() if isinstance(content, dict) else enumerate(content) if isinstance(content, list) else ()
    for key, thing in inner:
        if isinstance(content, dict) and not isinstance(key, str):
            return jsonschema.ValidationError(f"the key {key!r} is no text: write it in quotes", path=place)
        if (found := _odd_key(thing, (*place, key))) is not None:
            return found
    return None
