"""Keyed records: which keys there are, how often each comes, and where it belongs, as Java's client says."""

from __future__ import annotations

from array import array
from dataclasses import dataclass
from functools import cache
from itertools import accumulate
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import random

_SEED = 0x9747B28C
_M = 0x5BD1E995
_MASK = 0xFFFFFFFF


@dataclass(frozen=True)
class Keys:
    """Key number n (from 1) comes in proportion to n to the power of minus `skew`: 0 is evenly."""

    count: int
    skew: float = 0.0


def murmur2(data: bytes) -> int:
    """Kafka's hash of a key, unsigned."""
    length = len(data)
    whole = length & ~3
    h = (_SEED ^ length) & _MASK
    for at in range(0, whole, 4):
        k = int.from_bytes(data[at : at + 4], "little") * _M & _MASK
        k = (k ^ k >> 24) * _M & _MASK
        h = (h * _M & _MASK) ^ k
    if whole < length:
        h = (h ^ int.from_bytes(data[whole:], "little")) * _M & _MASK
    h = (h ^ h >> 13) * _M & _MASK
    return h ^ h >> 15


def partition_of(key: bytes, partitions: int) -> int:
    return (murmur2(key) & 0x7FFFFFFF) % partitions


def key_of(number: int) -> bytes:
    return b"key-%08d" % number


class Dealt:
    """The keys of one topic, dealt to its partitions."""

    def __init__(self, keys: Keys, partitions: int) -> None:
        self.numbers = [array("I") for _ in range(partitions)]
        weights: list[list[float]] = [[] for _ in range(partitions)]
        for number in range(keys.count):
            partition = partition_of(key_of(number), partitions)
            self.numbers[partition].append(number)
            weights[partition].append((number + 1) ** -keys.skew)
        total = sum(map(sum, weights))
        self.weights = [sum(one) / total for one in weights]
        self.bounds = [list(accumulate(one)) for one in weights]

    def draw(self, partition: int, count: int, chance: random.Random) -> array[int]:
        return array("I", chance.choices(self.numbers[partition], cum_weights=self.bounds[partition], k=count))

    def share(self, count: int, partition: int) -> int:
        """How many of `count` records go to a partition: in proportion, and in all exactly `count`."""
        bounds = [0.0, *accumulate(self.weights)]
        bounds[-1] = 1.0
        return round(bounds[partition + 1] * count) - round(bounds[partition] * count)


@cache
def dealt(keys: Keys, partitions: int) -> Dealt:
    return Dealt(keys, partitions)
