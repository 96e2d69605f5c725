"""What records say in the labs: flowers as they were printed, and queries that are said twice and agree."""

from __future__ import annotations

import statistics

import pytest

from common.errors import UsageError
from validate import sample
from validate.sample import iris, stocks, trucks
from validate.workload import value
from validate.workload.keys import keys_of, murmur2, partition_of
from validate.workload.plot import PLOTS
from validate.workload.spec import Topic

TOPICS = [Topic("kastellan-virginicasetosa", 2), Topic("kastellan-versicolor", 2)]
DEAL = {
    "virginica": "kastellan-virginicasetosa/0",
    "setosa": "kastellan-virginicasetosa/1",
    "versicolor": "kastellan-versicolor",
}
# Of Fisher's paper: mean and standard deviation of the four lengths.
MEANS = {
    "setosa": ((5.006, 3.428, 1.462, 0.246), (0.352, 0.379, 0.174, 0.105)),
    "versicolor": ((5.936, 2.770, 4.260, 1.326), (0.516, 0.314, 0.470, 0.198)),
    "virginica": ((6.588, 2.974, 5.552, 2.026), (0.636, 0.322, 0.552, 0.275)),
}


@pytest.mark.parametrize("kind", iris.KINDS)
def test_the_flowers_are_those_of_the_paper(kind: str) -> None:
    flowers = [tuple(map(float, row.split(",")[:4])) for row in sample.rows("iris", 0, None) if row.endswith(kind)]
    assert len(flowers) == 50
    means, deviations = MEANS[kind]
    columns = list(zip(*flowers, strict=True))
    assert tuple(round(statistics.mean(column), 3) for column in columns) == means
    assert tuple(round(statistics.stdev(column), 3) for column in columns) == deviations


def test_each_flower_has_its_place() -> None:
    lanes = sample.dealt("iris", 0, None, TOPICS, DEAL)
    assert {lane: len(rows) for lane, rows in lanes.items()} == {
        ("kastellan-virginicasetosa", 0): 50, ("kastellan-virginicasetosa", 1): 50,
        ("kastellan-versicolor", 0): 25, ("kastellan-versicolor", 1): 25,
    }  # fmt: skip
    assert all(row.endswith("setosa") for row in lanes["kastellan-virginicasetosa", 1])


def test_a_place_that_is_not_there_is_told() -> None:
    with pytest.raises(UsageError, match="kastellan-versicolor/2, which is not there"):
        sample.dealt("iris", 0, None, TOPICS, {**DEAL, "versicolor": "kastellan-versicolor/2"})
    with pytest.raises(UsageError, match="no sample 'irish'"):
        sample.rows("irish", 0, None)


def test_without_a_deal_what_is_alike_stays_together() -> None:
    lanes = sample.dealt("trucks", 7, 600, [Topic("positions", 3)], {})
    homes: dict[str, set[int]] = {}
    for (_, partition), rows in lanes.items():
        for row in rows:
            homes.setdefault(row.rpartition(",")[2], set()).add(partition)
    assert len(homes) == trucks.TRUCKS
    assert all(len(partitions) == 1 for partitions in homes.values())
    assert sum(map(len, lanes.values())) == 600


def test_samples_are_the_seeds() -> None:
    assert sample.rows("trucks", 1, 50) == sample.rows("trucks", 1, 50) != sample.rows("trucks", 2, 50)


@pytest.mark.parametrize(
    ("row", "danger"),
    [
        ("0,normal,100,1,1,truck-1", False),
        ("0,normal,101,1,1,truck-1", True),
        ("0,lane departure,50,1,1,truck-1", True),
    ],
)
def test_what_is_dangerous(row: str, danger: bool) -> None:
    assert trucks.dangerous(row) is danger


def test_windows_that_are_over_are_counted_once() -> None:
    start = stocks.OPENING_S
    trades = [
        f"{start},500,ANVL", f"{start + 59},300,ANVL", f"{start + 60},400,ANVL", f"{start + 5},100,BRCK",
        f"{start + 3600},100,ANVL",
    ]  # fmt: skip
    assert stocks.windows(trades) == [
        (start, "ANVL", 2, 300, 500), (start, "BRCK", 1, 100, 100), (start + 60, "ANVL", 1, 400, 400),
    ]  # fmt: skip


def test_the_last_trade_closes_all_other_windows() -> None:
    rows = sample.rows("stocks", 3, 2000)
    assert sum(count for _, _, count, _, _ in stocks.windows(rows)) == 1999


def test_a_value_says_its_text_and_keeps_its_marks() -> None:
    filler = value.Filler("run", "gardener", "kastellan-versicolor", 1, 150)
    values, crcs = filler.block(7, [1, 2], 5, texts=["5.1,3.5,1.4,0.2,setosa", "x"])
    assert [value.text_of(one) for one in values] == ["5.1,3.5,1.4,0.2,setosa", "x"]
    marks = [value.read(one) for one in values]
    assert [(mark.seq, mark.partition, mark.topic, mark.value_crc) for mark in marks if mark] == [
        (7, 1, "kastellan-versicolor", crcs[0]), (8, 1, "kastellan-versicolor", crcs[1]),
    ]  # fmt: skip
    assert {len(one) for one in values} == {150}


def test_a_text_without_room_is_told_with_the_size_it_needs() -> None:
    with pytest.raises(UsageError, match="Set value_bytes to 117"):
        value.Filler("run", "g", "kastellan-x", 0, 100).block(0, [1], 0, texts=["x" * 19])


# Of Kafka's own tests of Utils.murmur2, whose numbers have a sign.
@pytest.mark.parametrize(
    ("key", "hashed"),
    [
        (b"21", -973932308), (b"foobar", -790332482), (b"a-little-bit-long-string", -985981536),
        (b"a-little-bit-longer-string", -1486304829), (b"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8", -58897971),
        (b"abc", 479470107),
    ],
)  # fmt: skip
def test_the_hash_of_a_key_is_kafkas(key: bytes, hashed: int) -> None:
    assert murmur2(key) == hashed & 0xFFFFFFFF


@pytest.mark.parametrize("way", ["murmur2", "digits"])
def test_keys_belong_where_they_are_sent(way: str) -> None:
    keyed = {"prefix": "key", "way": way, "count": 20, "null": False}
    every = [keys_of(keyed, partition, 3) for partition in range(3)]
    assert all(partition_of(key, 3, way) == place for place, keys in enumerate(every) for key in keys)
    assert len({key for keys in every for key in keys}) == 60


def test_the_picture_has_every_flower() -> None:
    drawn = PLOTS["iris"](sample.rows("iris", 0, None))
    legend = 1
    assert (drawn.count("<circle"), drawn.count("<path")) == (50 + legend, 50 + legend)
    assert drawn.count('width="8"') == 50 + legend
    assert all(f"{kind} (50)" in drawn for kind in iris.KINDS)
