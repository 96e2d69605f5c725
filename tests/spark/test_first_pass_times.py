"""The first pass and the times of sends: what is called timed hides no stale offset, and a flat-out load is timed."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest

from tests.spark.histories.writer import History, moment
from validate.expect import parse
from validate.first_pass import Settled, settle
from validate.judge import judge
from validate.ledger.read import open_ledger

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

BATCH_MS = 100


def sent_at(h: History, partition: int, times: Sequence[float], *, lasts: float = BATCH_MS / 2) -> None:
    """A record for each time; reported so long after it."""
    for seq, at in enumerate(times):
        h.keep("orders", partition, seq, seq, at=at, done=at + lasts)


def batches(*sizes: int) -> list[float]:
    """One after the other, each sent when the one before was reported: so one is in two blocks, and a block in two."""
    return [BATCH_MS * number for number, size in enumerate(sizes) for _ in range(size)]


def settled(spark: SparkSession, h: History, where: Path) -> Settled:
    return settle(spark, open_ledger(spark, str(h.write(where / "ledger"))), parse({}))


def changed(times: Sequence[float], **places: float) -> list[float]:
    whole = list(times)
    for place, at in places.items():
        whole[int(place[1:])] = at
    return whole


def test_batches_that_follow_each_other_need_no_second_look(spark: SparkSession, tmp_path: Path) -> None:
    h = History()
    shapes = [(50, 50, 50), (1, 63, 1), (64, 64), (63, 1), (100,), (40, 60, 90), (1, 1)]
    for partition, sizes in enumerate(shapes):
        sent_at(h, partition, batches(*sizes))
    found = settled(spark, h, tmp_path)
    assert (len(found.partitions), found.untimed) == (len(shapes), [])


DISORDERS = {
    "one of the second batch sent with the first": changed(batches(30, 30), _31=0),
    "one of the first batch sent with the second": changed(batches(30, 30), _28=BATCH_MS),
    "two changed places": changed(batches(30, 30), _10=BATCH_MS, _40=0),
    "ends changed places": changed(batches(30, 30), _0=BATCH_MS, _59=0),
    "the second batch first": [*batches(30, 30)[30:], *batches(30, 30)[:30]],
    "two between that make up for each other": changed(batches(30, 30), _10=BATCH_MS / 4, _40=BATCH_MS * 3 / 4),
    "the last sent before all others": changed(batches(30, 30), _59=-BATCH_MS),
    "in the next block": changed(batches(64, 64), _64=-BATCH_MS),
}


def test_a_second_look_is_taken_where_order_is_in_doubt(spark: SparkSession, tmp_path: Path) -> None:
    h = History()
    for partition, times in enumerate(DISORDERS.values()):
        sent_at(h, partition, times, lasts=10)
    found = settled(spark, h, tmp_path)
    assert len(found.partitions) == len(DISORDERS)
    assert [name for number, name in enumerate(DISORDERS) if ("orders", number) not in found.untimed] == []


@pytest.mark.parametrize("seed", [0, *(pytest.param(n, marks=pytest.mark.long) for n in range(1, 6))])
def test_what_is_called_timed_hides_nothing(spark: SparkSession, seed: int, tmp_path: Path) -> None:
    """Hundreds of partitions with times by chance, most of them nearly in order: those with a finding are untimed."""
    chance, h, stale = random.Random(seed), History(), set()
    for partition in range(250):
        few = sorted(chance.sample(range(0, 400, 10), chance.choice([1, 2, 2, 2, 3])))
        times = sorted(float(chance.choice(few)) for _ in range(chance.randint(2, 90)))
        for _ in range(chance.choice([0, 0, 1, 1, 2])):
            times[chance.randrange(len(times))] = chance.choice(few)
        lasts = chance.choice([1, 15, 120])
        sent_at(h, partition, times, lasts=lasts)
        if any(times[low] > times[high] + lasts for high in range(len(times)) for low in range(high)):
            stale.add(("orders", partition))
    found = settled(spark, h, tmp_path)
    assert len(found.partitions) == 250
    assert stale <= set(found.untimed)
    assert 50 < len(stale) < 200  # both kinds are there
    assert len(found.untimed) < 240
    summary = judge(spark, str(tmp_path / "ledger"), parse({}), str(tmp_path / "findings"), sums_first=True).to_json()
    told = {(one["topic"], one["partition"]) for one in summary["findings"] if one["anomaly"] == "stale-offset"}
    assert told
    assert told == stale if len(summary["findings"]) < 1000 else told <= stale


def test_rows_that_are_there_many_times_break_no_sum(spark: SparkSession, tmp_path: Path) -> None:
    """Of so many times of the year 2040 the sums do not fit 64 bits."""
    h = History()
    late_ms = 14 * 365 * 24 * 3600 * 1000
    sent_at(h, 0, [late_ms + at for at in batches(30, 30)])
    h.rows["sent"] += [h.rows["sent"][59]] * 5000
    sent_at(h, 1, [late_ms + at for at in batches(30, 30)])
    sent_at(h, 2, [500 * late_ms + at for at in batches(30, 30)])  # beyond what is added up
    found = settled(spark, h, tmp_path)
    assert sorted(found.partitions) == [("orders", 1), ("orders", 2)]
    assert found.untimed == [("orders", 2)]
    assert moment(late_ms).year == 2040
