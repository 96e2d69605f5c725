"""Sizes as people write them: 512MiB, 4GiB, 2TiB."""

from __future__ import annotations

import re

_FACTORS = {"MiB": 2**20, "GiB": 2**30, "TiB": 2**40}
_SIZE = re.compile(r"(\d+)\s*(MiB|GiB|TiB)")


def parse_size(value: object) -> int:
    """Bytes of a size; ValueError with a good value in it."""
    match = _SIZE.fullmatch(value.strip()) if isinstance(value, str) else None
    if match is None:
        raise ValueError("is no size: write a whole number with MiB, GiB or TiB, e.g. 4GiB")
    return int(match[1]) * _FACTORS[match[2]]


def format_size(size: int) -> str:
    for unit, factor in reversed(_FACTORS.items()):
        if size >= factor and size % factor == 0:
            return f"{size // factor}{unit}"
    return f"{size / 2**20:.0f}MiB"
