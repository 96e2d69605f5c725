"""Where a group is kept: Kafka finds the place by its name alone."""

from __future__ import annotations

HASH_BITS = 32


def java_hash(text: str) -> int:
    """String.hashCode without its sign, as Kafka takes it to find a group's coordinator."""
    value = 0
    for unit in text.encode("ascii"):
        value = (31 * value + unit) % (1 << HASH_BITS)
    return value & 0x7FFFFFFF
