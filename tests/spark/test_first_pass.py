"""Sums first or not, in one shuffle partition or eight: the summary is the same."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.spark.histories.random_clean import random_clean
from tests.spark.histories.writer import History, moment
from validate import clean
from validate.expect import parse
from validate.first_pass import settle
from validate.judge import judge
from validate.ledger.read import open_ledger

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pyspark.sql import SparkSession

    from validate.summary import Summary

pytestmark = pytest.mark.spark


def summary(spark: SparkSession, h: History, ledger: Path, *, sums_first: bool) -> dict[str, Any]:
    whole = judge(spark, str(ledger), parse(h.expect), str(ledger.parent / "findings"), sums_first=sums_first).to_json()
    del whole["findings_path"]
    return whole


def two_partitions() -> History:
    """130 records each, so that there are several blocks; two producers take turns in the second partition."""
    h = History()
    h.kept("orders", 0, 130)
    for batch in range(4):
        for i in range(20):
            for turn, producer in enumerate(("p", "q")):
                place = 40 * batch + 20 * turn + i
                h.acked("orders", 1, seq=20 * batch + i, offset=place, producer=producer)
                h.in_log("orders", 1, place, 20 * batch + i, producer=producer)
    return h


def _drop(h: History, folder: str, index: int) -> None:
    del h.rows[folder][index]


# What each damage does to the first partition; the second always adds up.
DAMAGES: dict[str, Callable[[History], Any]] = {
    "a record lost": lambda h: _drop(h, "log", 5),
    "the first record lost": lambda h: _drop(h, "log", 0),
    "the last record lost": lambda h: _drop(h, "log", 129),
    "never sent": lambda h: _drop(h, "sent", 5),
    "the log row twice": lambda h: h.rows["log"].append(h.rows["log"][5]),
    "the sent row twice": lambda h: h.rows["sent"].append(h.rows["sent"][5]),
    "both twice": lambda h: h.rows.update({x: [*h.rows[x], h.rows[x][5]] for x in ("sent", "log")}),
    "one twice for another": lambda h: [h.rows[x].__setitem__(7, h.rows[x][5]) for x in ("sent", "log")],
    "another checksum": lambda h: h.rows["log"][5].update(value_crc=7, payload_crc=7),
    "another checksum inside": lambda h: h.rows["log"][5].update(payload_crc=7),
    "another key": lambda h: h.rows["log"][5].update(key=b"k"),
    "another number": lambda h: h.rows["log"][5].update(random_int=1_000_000),
    "acked elsewhere": lambda h: h.rows["sent"][5].update(acked_offset=6),
    "two change places": lambda h: [
        h.rows[x][a].update({name: b})
        for x, name in (("sent", "acked_offset"), ("log", "offset"))
        for a, b in ((5, 6), (6, 5))
    ],
    "no report": lambda h: h.rows["sent"][5].update(outcome="unknown", acked_offset=None, done_at=None),
    "no offset": lambda h: h.rows["sent"][5].update(acked_offset=None),
    "second attempt": lambda h: h.rows["sent"][5].update(attempt=1),
    "in a transaction": lambda h: h.rows["sent"][5].update(txn="tx#0"),
    "meant for another": lambda h: h.rows["log"][5].update(intended_partition=1),
    "of another run": lambda h: h.rows["log"][5].update(run_id="other"),
    "another clock": lambda h: h.rows["sent"][5].update(clock="elsewhere"),
    "a later start": lambda h: h.bounds("orders", 0, start_offset=3),
    "a later end": lambda h: h.bounds("orders", 0, end_offset=140),
    "read in part": lambda h: h.bounds("orders", 0, read_to=50),
    "no bounds": lambda h: h.unbounded.add(("orders", 0)),
}
ALWAYS = ("a record lost", "one twice for another", "two change places", "meant for another")


@pytest.mark.parametrize("name", [pytest.param(n, marks=[] if n in ALWAYS else [pytest.mark.long]) for n in DAMAGES])
def test_sums_change_nothing(spark: SparkSession, name: str, tmp_path: Path) -> None:
    h = two_partitions()
    DAMAGES[name](h)
    ledger = h.write(tmp_path / "ledger")
    assert summary(spark, h, ledger, sums_first=True) == summary(spark, h, ledger, sums_first=False)


def test_only_what_adds_up_is_settled(spark: SparkSession, tmp_path: Path) -> None:
    """One job for all damages: each is in a topic of its own."""
    whole = History()
    for name, damage in DAMAGES.items():
        h = two_partitions()
        damage(h)
        _rename(h, name)
        for folder, rows in h.rows.items():
            whole.rows[folder] += rows
        whole.bounds_given |= {(name, p): row for (_, p), row in h.bounds_given.items()}
        whole.unbounded |= {(name, p) for _, p in h.unbounded}
    ledger = open_ledger(spark, str(whole.write(tmp_path / "ledger")))
    found = settle(spark, ledger, parse({}))
    assert [place for place in found.partitions if place[1] == 0] == []
    both = {"meant for another"}  # a stray row unsettles the partition it names, too
    assert {topic for topic, _ in found.partitions} == set(DAMAGES) - both


def _rename(h: History, topic: str) -> None:
    for rows in h.rows.values():
        for index, row in enumerate(rows):
            rows[index] = {**row, **{key: topic for key in ("topic", "intended_topic") if row.get(key) == "orders"}}


def test_a_consumed_topic_is_not_settled(spark: SparkSession, tmp_path: Path) -> None:
    h = two_partitions()
    h.commit("readers", "orders", 0, 1)
    ledger = open_ledger(spark, str(h.write(tmp_path / "ledger")))
    assert settle(spark, ledger, parse({})).partitions == []


@pytest.mark.parametrize("seed", [0, *(pytest.param(n, marks=pytest.mark.long) for n in range(1, 20))])
def test_random_histories_agree(spark: SparkSession, seed: int, tmp_path: Path) -> None:
    h = random_clean(seed)
    ledger = h.write(tmp_path / "ledger")
    assert summary(spark, h, ledger, sums_first=True) == summary(spark, h, ledger, sums_first=False)


@pytest.mark.parametrize("parts", ["8", pytest.param("2", marks=pytest.mark.long)])
def test_partitions_change_nothing(spark: SparkSession, parts: str, tmp_path: Path) -> None:
    h = random_clean(3)
    h.acked("planted", 0, seq=0, offset=0)
    ledger = h.write(tmp_path / "ledger")
    one = summary(spark, h, ledger, sums_first=False)
    before = spark.conf.get("spark.sql.shuffle.partitions")
    spark.conf.set("spark.sql.shuffle.partitions", parts)
    try:
        assert summary(spark, h, ledger, sums_first=True) == one
    finally:
        spark.conf.set("spark.sql.shuffle.partitions", str(before))
    assert one["acked"]["lost"] == 1


# What stands beside partitions that all add up, and is somebody's business.
BESIDE: dict[str, Callable[[History], Any]] = {
    "nothing": lambda _: None,
    "reservations": lambda h: h.reserve("orders", 0, 0, 140),
    "a reservation of another run": lambda h: h.rows["reservations"].append(
        {**h.reserve("orders", 0, 0, 9), "run_id": "other"}
    ),
    "a partition whose log was emptied": lambda h: h.bounds("orders", 2, start=0, end=5, hw=5),
    "a partition without a record": lambda h: h.bounds("orders", 2, start=0, end=0, hw=0),
    "a partition that was not read": lambda h: h.bounds("orders", 2, start=0, end=5, hw=5, read_to=0),
    "a witness who saw a fall": lambda h: [h.watermark("orders", 0, value) for value in (9, 4)],
    "a group": lambda h: h.commit("readers", "orders", 0, 1),
    "a fault": lambda h: h.fault(begin=1, bit=2, healed=3),
    "a claim": lambda h: h.claims("readers", "orders"),
    "a lively expectation": lambda h: h.expect.update(progress={"acked_per_partition": 10_000}),
}
PLAIN = ("nothing", "reservations", "a fault")


@pytest.mark.parametrize("name", BESIDE)
def test_what_stands_beside_clean_partitions_is_seen(
    spark: SparkSession, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    h = two_partitions()
    for row in h.rows["sent"]:  # all at once: so nothing was reported before anything was sent
        row.update(invoked_at=moment(0), done_at=moment(5))
    BESIDE[name](h)
    ledger = h.write(tmp_path / "ledger")
    short: list[str] = []

    def told(*words: Any) -> Summary:
        short.append("taken")
        return whole(*words)

    whole = clean.summary
    monkeypatch.setattr(clean, "summary", told)
    (tmp_path / "findings").mkdir()
    (tmp_path / "findings" / "part-of-before.parquet").write_bytes(b"")
    by_sums = summary(spark, h, ledger, sums_first=True)
    assert spark.read.parquet(str(tmp_path / "findings")).count() == sum(map(sum, _numbers(by_sums)))
    assert short == (["taken"] if name in PLAIN else [])
    assert by_sums == summary(spark, h, ledger, sums_first=False)


def _numbers(told: dict[str, Any]) -> list[list[int]]:
    return [list(counts.values()) for counts in told["counts"].values()]
