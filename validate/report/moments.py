"""Times: microseconds since 1970 inside, ISO 8601 in UTC outside."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
SECOND_US = 1_000_000


def micros(text: Any) -> int | None:
    """The moment an ISO time names, None where it names none."""
    try:
        at = datetime.fromisoformat(str(text))
    except ValueError:
        return None
    at = at if at.tzinfo else at.replace(tzinfo=UTC)
    return (at - _EPOCH) // timedelta(microseconds=1)


def iso(at_us: int | None) -> str | None:
    if at_us is None:
        return None
    try:
        at = _EPOCH + timedelta(microseconds=at_us)
    except OverflowError:
        return None
    return at.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def apart_s(begin: Any, end: Any) -> float | None:
    """Seconds from one ISO time to another."""
    first, last = micros(begin), micros(end)
    return None if first is None or last is None else round((last - first) / SECOND_US, 3)
