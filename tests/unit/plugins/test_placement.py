"""Where replicas go when a replication factor changes."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from plugins.module_utils.placement import place

RACKS: dict[int, str | None] = {1: "a", 2: "a", 3: "b", 4: "b"}


def test_a_new_replica_goes_to_a_rack_without_one() -> None:
    assert place([(1,)], [1], 2, RACKS, Counter({1: 1})) == {0: (1, 3)}


def test_without_racks_the_broker_with_least_to_do_is_taken() -> None:
    assert place([(1,)], [1], 2, dict.fromkeys((1, 2, 3)), Counter({1: 1, 2: 9, 3: 1})) == {0: (1, 3)}


def test_the_load_is_spread_over_the_partitions() -> None:
    placed = place([(1,), (2,), (3,), (4,)], [1, 2, 3, 4], 2, RACKS, Counter({1: 1, 2: 1, 3: 1, 4: 1}))
    assert Counter(broker for replicas in placed.values() for broker in replicas) == {1: 2, 2: 2, 3: 2, 4: 2}


def test_of_two_in_a_rack_one_goes_and_the_leader_stays() -> None:
    assert place([(1, 2, 3)], [2], 2, RACKS, Counter()) == {0: (2, 3)}
    assert place([(1, 2, 3)], [1], 2, RACKS, Counter()) == {0: (1, 3)}


def test_a_broker_that_is_down_goes_first() -> None:
    assert place([(1, 9, 3)], [1], 2, RACKS, Counter()) == {0: (1, 3)}


def test_partitions_that_have_the_number_are_left_alone() -> None:
    assert place([(1, 2), (1,)], [1, 1], 2, RACKS, Counter()).keys() == {1}


@given(
    st.lists(st.lists(st.sampled_from([1, 2, 3, 4]), min_size=1, unique=True).map(tuple), min_size=1, max_size=8),
    st.integers(1, 4),
)
def test_every_partition_ends_with_the_number_of_different_brokers_and_its_leader(
    partitions: list[tuple[int, ...]], factor: int
) -> None:
    leaders = [replicas[-1] for replicas in partitions]
    load = Counter(broker for replicas in partitions for broker in replicas)
    placed = place(partitions, leaders, factor, RACKS, load)
    final = [placed.get(index, replicas) for index, replicas in enumerate(partitions)]
    for replicas, leader in zip(final, leaders, strict=True):
        assert len(set(replicas)) == len(replicas) == factor
        assert leader in replicas
        racks = Counter(RACKS[broker] for broker in replicas)
        assert max(racks.values()) <= 2
    assert +load == Counter(broker for replicas in final for broker in replicas)
