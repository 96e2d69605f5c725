"""Keys, and the partition that a key belongs to: chosen before a record is sent, by Kafka's own hash or by ours.

A producer either goes through so many keys of each partition in turn, or draws one of a topic's keys for every record:
then keys decide how much a partition gets.
"""

from __future__ import annotations

from array import array
from dataclasses import dataclass
from functools import cache
from itertools import accumulate, count, islice
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Mapping

_SEED, _FACTOR, _SHIFT = 0x9747B28C, 0x5BD1E995, 24
_MASK = 0xFFFFFFFF
_WORD = 4
MURMUR2 = "murmur2"
PREFIX = "key"


@dataclass(frozen=True)
class DrawnKeys:
    """Key number n (from 1) comes in proportion to n to the power of minus `skew`: 0 is evenly."""

    count: int
    skew: float = 0.0


def murmur2(key: bytes) -> int:
    """The 32 bits that Kafka's own producer makes of a key, unsigned."""
    mixed = (_SEED ^ len(key)) & _MASK
    whole = len(key) - len(key) % _WORD
    for at in range(0, whole, _WORD):
        word = int.from_bytes(key[at : at + _WORD], "little") * _FACTOR & _MASK
        word = (word ^ word >> _SHIFT) * _FACTOR & _MASK
        mixed = (mixed * _FACTOR & _MASK) ^ word
    if rest := key[whole:]:
        mixed = (mixed ^ int.from_bytes(rest, "little")) * _FACTOR & _MASK
    mixed = (mixed ^ mixed >> 13) * _FACTOR & _MASK
    return mixed ^ mixed >> 15


def _kafkas(key: bytes) -> int:
    """Partitions are counted from the hash without its sign."""
    return murmur2(key) & 0x7FFFFFFF


def digits(key: bytes) -> int:
    """One of our own: the number behind the last dash, so that neighbours lie in neighbouring partitions."""
    return int(key.rpartition(b"-")[2])


WAYS: Mapping[str, Callable[[bytes], int]] = {MURMUR2: _kafkas, "digits": digits}


def partition_of(key: bytes, partitions: int, way: str = MURMUR2) -> int:
    return WAYS[way](key) % partitions


def key_of(number: int, prefix: str = PREFIX) -> bytes:
    return f"{prefix}-{number}".encode()


def keys_of(keyed: Mapping[str, Any] | None, partition: int, partitions: int) -> list[bytes]:
    """The first so many keys that belong there; `keyed` is what a producer's spec says of its keys, if it has any.

    Keys that are drawn have no such list, and no count here.
    """
    if keyed is None or keyed["count"] is None:
        return []
    every = (key_of(number, keyed["prefix"]) for number in count())
    mine = (key for key in every if partition_of(key, partitions, keyed["way"]) == partition)
    return list(islice(mine, keyed["count"]))


class Urn:
    """The keys of one topic, in the partitions that they belong to, to be drawn from."""

    def __init__(self, keys: DrawnKeys, partitions: int, prefix: str, way: str) -> None:
        self._numbers = [array("I") for _ in range(partitions)]
        weights: list[list[float]] = [[] for _ in range(partitions)]
        for number in range(keys.count):
            partition = partition_of(key_of(number, prefix), partitions, way)
            self._numbers[partition].append(number)
            weights[partition].append((number + 1) ** -keys.skew)
        total = sum(map(sum, weights))
        self.weights = [sum(one) / total for one in weights]
        self._bounds = [list(accumulate(one)) for one in weights]

    def draw(self, partition: int, records: int, chance: random.Random) -> array[int]:
        """The number of each record's key."""
        return array("I", chance.choices(self._numbers[partition], cum_weights=self._bounds[partition], k=records))

    def share(self, records: int, partition: int) -> int:
        """How many of so many records go to a partition: in proportion, and in all exactly so many."""
        bounds = [0.0, *accumulate(self.weights)]
        bounds[-1] = 1.0
        return round(bounds[partition + 1] * records) - round(bounds[partition] * records)


@cache
def urn(keys: DrawnKeys, partitions: int, prefix: str = PREFIX, way: str = MURMUR2) -> Urn:
    return Urn(keys, partitions, prefix, way)
