"""What a batch may hold, checked field by field before anything is done with it."""

from __future__ import annotations

import json
from typing import cast

from certs.errors import UsageError
from certs.names import Kind, client, server
from certs.signing import Order
from common.texts import from_json

GOOD_REQUESTS = '{"requests": [{"name": "broker-1", "addresses": ["198.18.0.11"], "request": "-----BEGIN ..."}]}'
GOOD_USERS = '{"users": ["usercc", "validator"]}'
_TEXT_FIELDS = ("name", "kind", "request", "certificate")
_LIST_FIELDS = ("aliases", "addresses")


def orders(data: bytes) -> list[Order]:
    return [_order(entry, at) for at, entry in enumerate(_listed(data, "requests", GOOD_REQUESTS), start=1)]


def users(data: bytes) -> list[str]:
    listed = _listed(data, "users", GOOD_USERS)
    for at, entry in enumerate(listed, start=1):
        if not isinstance(entry, str):
            raise _bad(f"user {at} is no text", GOOD_USERS)
    return cast("list[str]", listed)


def _listed(data: bytes, word: str, good: str) -> list[object]:
    try:
        parsed = from_json(data)
        json.dumps(parsed, ensure_ascii=False).encode()  # half of a letter (\ud800) is no text, and fits into no file
    except ValueError as exc:
        raise _bad(f"it is no JSON ({exc})", good) from exc
    if not isinstance(parsed, dict) or set(parsed) != {word} or not isinstance(parsed[word], list):
        raise _bad(f"it should be an object with the one list {word!r}", good)
    listed: list[object] = parsed[word]
    return listed


def _order(entry: object, at: int) -> Order:
    if not isinstance(entry, dict):
        raise _bad(f"request {at} is no object", GOOD_REQUESTS)
    unknown = sorted(set(entry) - {*_TEXT_FIELDS, *_LIST_FIELDS})
    if unknown:
        known = ", ".join((*_TEXT_FIELDS, *_LIST_FIELDS))
        raise _bad(f"request {at} has the unknown field {unknown[0]!r}; known are {known}", GOOD_REQUESTS)
    texts = {word: _text(entry, word, at) for word in _TEXT_FIELDS}
    kind = texts["kind"] or Kind.SERVER.value
    if not texts["name"]:
        raise _bad(f"request {at} has no name", GOOD_REQUESTS)
    return order(
        kind,
        texts["name"],
        aliases=_texts(entry, "aliases", at),
        addresses=_texts(entry, "addresses", at),
        request=texts["request"].encode() or None,
        certificate=texts["certificate"].encode() or None,
    )


def order(
    kind: str,
    name: str,
    *,
    aliases: list[str],
    addresses: list[str],
    request: bytes | None,
    certificate: bytes | None,
) -> Order:
    if kind not in set(Kind):
        raise UsageError(f"{kind!r} is no kind of certificate.", resolution="Use 'server' or 'client'.")
    if kind == Kind.SERVER:
        return Order(server(name, aliases=aliases, addresses=addresses), request, certificate)
    if aliases or addresses:
        raise UsageError(
            f"The client {name!r} cannot have aliases or addresses.",
            resolution="Leave them out: a client is known by its name alone.",
        )
    return Order(client(name), request, certificate)


def _text(entry: dict[str, object], word: str, at: int) -> str:
    value = entry.get(word)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise _bad(f"{word!r} of request {at} is no text", GOOD_REQUESTS)
    return value


def _texts(entry: dict[str, object], word: str, at: int) -> list[str]:
    value = entry.get(word) or []
    if not isinstance(value, list) or not all(isinstance(part, str) for part in value):
        raise _bad(f"{word!r} of request {at} is no list of texts", GOOD_REQUESTS)
    return value


def _bad(problem: str, good: str) -> UsageError:
    return UsageError(f"The batch cannot be used: {problem}.", resolution=f"Give e.g. {good}")
