"""Where replicas go when a topic gets more or fewer of them. For new topics the controller decides."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Mapping, Sequence


def place(
    partitions: Sequence[tuple[int, ...]],
    leaders: Sequence[int],
    factor: int,
    brokers: Mapping[int, str | None],
    load: Counter[int],
) -> dict[int, tuple[int, ...]]:
    """New replicas of the partitions that have more or fewer than `factor`; `load` is kept up to date.

    Replicas that stay keep their order, so the preferred leader stays; racks come before an even load.
    """
    assignment = {}
    for index, replicas in enumerate(partitions):
        if len(replicas) == factor:
            continue
        leader = leaders[index] if index < len(leaders) else -1
        chosen = list(replicas)
        while len(chosen) > factor:
            broker = _dispensable(chosen, leader, brokers, load)
            chosen.remove(broker)
            load[broker] -= 1
        while len(chosen) < factor:
            broker = _best(chosen, brokers, load)
            chosen.append(broker)
            load[broker] += 1
        assignment[index] = tuple(chosen)
    return assignment


def _best(chosen: Sequence[int], brokers: Mapping[int, str | None], load: Counter[int]) -> int:
    """A broker in a rack that has fewest of the replicas, and among those the one with least to do."""
    return min(
        (broker for broker in brokers if broker not in chosen),
        key=lambda broker: (_in_rack(broker, chosen, brokers), load[broker], broker),
    )


def _dispensable(chosen: Sequence[int], leader: int, brokers: Mapping[int, str | None], load: Counter[int]) -> int:
    """A broker that is down, else one whose rack has another replica, else the busiest; never the leader."""
    return max(
        (broker for broker in chosen if broker != leader),
        key=lambda broker: (broker not in brokers, _in_rack(broker, chosen, brokers), load[broker], broker),
    )


def _in_rack(broker: int, chosen: Sequence[int], brokers: Mapping[int, str | None]) -> int:
    """How many of the replicas share the broker's rack. A broker without a rack is one of its own."""
    rack = brokers.get(broker)
    return sum(1 for other in chosen if (other == broker if rack is None else brokers.get(other) == rack))
