"""Rows of text that say something, for scenarios in which records are looked at and not only counted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from common.errors import UsageError
from common.names import nearest
from validate.sample import iris, stocks, trucks

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence


class Topic(Protocol):
    """A topic as all of its users know it."""

    @property
    def name(self) -> str: ...
    @property
    def partitions(self) -> int: ...


Lane = tuple[str, int]
SAMPLES: Mapping[str, Callable[[int, int | None], list[str]]] = {
    "iris": iris.rows,
    "stocks": stocks.rows,
    "trucks": trucks.rows,
}
"""Name -> its rows, by seed and how many; the last column says where a row goes."""


def rows(name: str, seed: int, count: int | None) -> list[str]:
    if name not in SAMPLES:
        raise UsageError(f"There is no sample {name!r}.", resolution=nearest(name, SAMPLES).capitalize())
    return SAMPLES[name](seed, count)


def dealt(
    name: str, seed: int, count: int | None, topics: Sequence[Topic], deal: Mapping[str, str]
) -> dict[Lane, list[str]]:
    """Each row in its topic and partition, in the order in which it is sent there.

    `deal`: what the last column says -> TOPIC/PARTITION, or TOPIC for its partitions in turn. What it does not name
    goes to the first topic, to a partition of its own choice that is always the same.
    """
    shapes = {topic.name: topic.partitions for topic in topics}
    found: dict[Lane, list[str]] = {(topic, p): [] for topic, count in shapes.items() for p in range(count)}
    turns: dict[str, int] = {}
    homes: dict[str, int] = {}
    for row in rows(name, seed, count):
        word = row.rpartition(",")[2]
        topic, _, partition = deal.get(word, "").partition("/")
        if partition:
            lane = topic, int(partition)
        elif topic:
            lane = topic, turns.get(topic, 0) % shapes.get(topic, 1)
            turns[topic] = turns.get(topic, 0) + 1
        else:
            lane = topics[0].name, homes.setdefault(word, len(homes)) % topics[0].partitions
        if lane not in found:
            raise UsageError(
                f"Rows of {word!r} go to {lane[0]}/{lane[1]}, which is not there.",
                details=f"Topics: {', '.join(f'{name} ({n} partitions)' for name, n in shapes.items())}.",
                resolution="Partitions count from 0.",
            )
        found[lane].append(row)
    return found
