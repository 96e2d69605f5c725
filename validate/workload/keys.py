"""Keys, and the partition that a key belongs to: chosen before a record is sent, by Kafka's own hash or by ours."""

from __future__ import annotations

from itertools import count, islice
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_SEED, _FACTOR, _SHIFT = 0x9747B28C, 0x5BD1E995, 24
_MASK = 0xFFFFFFFF
_WORD = 4


def murmur2(key: bytes) -> int:
    """The 32 bits that Kafka's own producer makes of a key, without the sign."""
    mixed = (_SEED ^ len(key)) & _MASK
    whole = len(key) - len(key) % _WORD
    for at in range(0, whole, _WORD):
        word = int.from_bytes(key[at : at + _WORD], "little") * _FACTOR & _MASK
        word = (word ^ word >> _SHIFT) * _FACTOR & _MASK
        mixed = (mixed * _FACTOR & _MASK) ^ word
    if rest := key[whole:]:
        mixed = (mixed ^ int.from_bytes(rest, "little")) * _FACTOR & _MASK
    mixed = (mixed ^ mixed >> 13) * _FACTOR & _MASK
    return (mixed ^ mixed >> 15) & 0x7FFFFFFF


def digits(key: bytes) -> int:
    """One of our own: the number behind the last dash, so that neighbours lie in neighbouring partitions."""
    return int(key.rpartition(b"-")[2])


WAYS: Mapping[str, Callable[[bytes], int]] = {"murmur2": murmur2, "digits": digits}


def partition_of(key: bytes, partitions: int, way: str = "murmur2") -> int:
    return WAYS[way](key) % partitions


def keys_of(keyed: Mapping[str, Any], partition: int, partitions: int) -> list[bytes]:
    """The first so many keys that belong there; `keyed` is what a producer's spec says of its keys."""
    every = (f"{keyed['prefix']}-{number}".encode() for number in count())
    mine = (key for key in every if partition_of(key, partitions, keyed["way"]) == partition)
    return list(islice(mine, keyed["count"]))
