"""Words of a command line that are numbers or names, told with their bounds before anything is asked of a cluster."""

from __future__ import annotations

import math
import re
from argparse import ArgumentTypeError
from typing import TYPE_CHECKING, TypeVar

from validate.workload.value import PRODUCER

if TYPE_CHECKING:
    from collections.abc import Callable

Number = TypeVar("Number", int, float)

MANY = 1_000_000_000
DAY_MS = 86_400_000  # of librdkafka's times few may be longer
LEGAL = re.compile(r"[A-Za-z0-9._-]{1,249}")


def whole(least: int, most: int = MANY) -> Callable[[str], int]:
    return _bounded(int, "whole number", least, most)


def real(least: float, most: float = MANY) -> Callable[[str], float]:
    return _bounded(float, "number", least, most)


def _bounded(kind: type[Number], called: str, least: float, most: float) -> Callable[[str], Number]:
    def number(text: str) -> Number:
        try:
            found = kind(text)
        except ValueError:
            raise ArgumentTypeError(f"{text!r} is no {called}") from None
        if math.isnan(found) or not least <= found <= most:
            raise ArgumentTypeError(f"{found:,} is not within {least:,} to {most:,}")
        return found

    return number


def topic(text: str) -> str:
    """As Kafka takes it."""
    if not LEGAL.fullmatch(text) or text in {".", ".."}:
        raise ArgumentTypeError(f"{text!r} is no name of a topic: 1 to 249 letters, digits, '.', '_' and '-'")
    return text


def name(text: str) -> str:
    """Of a client: it becomes the name of its files, and is part of each value."""
    if not LEGAL.fullmatch(text) or text.startswith(".") or len(text) > PRODUCER.width:
        raise ArgumentTypeError(
            f"{text!r} is no name of a client: 1 to {PRODUCER.width} letters, digits, '.', '_' and '-', no '.' first"
        )
    return text


def word(text: str) -> str:
    if not text.strip():
        raise ArgumentTypeError("it is empty")
    return text
