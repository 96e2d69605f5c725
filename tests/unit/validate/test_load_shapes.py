"""Shapes of a load: schedules, keys, sizes, what reaches the brokers, and how late it was."""

from __future__ import annotations

import json
import math
import random
import re
from array import array
from collections import Counter
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml
from confluent_kafka import Producer

from common.errors import UsageError
from tests.unit.validate.mock_brokers import mock_brokers
from validate import scenario
from validate.report import latency
from validate.report.histogram import HALF, MOST_US, Histogram, lowest
from validate.run import load, one
from validate.run.folder import Entry
from validate.workload import journal
from validate.workload.block import Block, read_reservation
from validate.workload.clock import Clock
from validate.workload.keys import DrawnKeys, key_of, murmur2, partition_of, urn
from validate.workload.producer import Sending, identity
from validate.workload.schedule import Due, Schedule, Stage
from validate.workload.seal import seal
from validate.workload.settings import SILENT
from validate.workload.sizes import MixedFiller, Size
from validate.workload.spec import ProducerSpec
from validate.workload.value import read, text_of

if TYPE_CHECKING:
    from pathlib import Path

GIVEN: dict[str, Any] = {
    "run_id": "r", "name": "w", "ledger": "somewhere", "client": {"bootstrap.servers": "127.0.0.1:1"},
    "topics": [{"name": "one", "partitions": 1}, {"name": "three", "partitions": 3}],
}  # fmt: skip
STAGE = {"for_s": 10, "records_per_s": 500}


@pytest.mark.parametrize(("stages", "moments"), [
    ([Stage(10, 100)], {0.01: 0.0001, 1: 0.01, 500: 5, 1000: 10, 1500: 15}),
    ([Stage(10, 100, 300)], {1: 0.0099, 750: 5, 2000: 10, 2300: 11}),
    ([Stage(10, 300, 100)], {1250: 5, 2000: 10, 2100: 11}),
    ([Stage(10, 100, burst=50)], {1: 0, 50: 0, 51: 0.5, 1000: 9.5, 1001: 10}),
    ([Stage(10, 100), Stage(5, 1000), Stage(10, 10)], {1000: 10, 6000: 15, 6010: 16, 6100: 25, 6200: 35}),
])  # fmt: skip
def test_when_records_are_due(stages: list[Stage], moments: dict[float, float]) -> None:
    schedule = Schedule(stages)
    for count, at_s in moments.items():
        assert schedule.when(count) == pytest.approx(at_s, abs=1e-4), count
        assert schedule.count(at_s + 1e-6) >= count - 0.1
        if at_s > 0.01:
            assert schedule.count(at_s - 1e-3) < count


@pytest.mark.parametrize("stage", [Stage(7, 90), Stage(7, 90, 900), Stage(7, 900, 90), Stage(7, 90, burst=25)])
def test_partitions_add_up_to_the_schedule_without_drift(stage: Stage) -> None:
    schedule = Schedule([stage, Stage(3, 50)])
    lanes = [Due(schedule, weight, place / 3) for place, weight in enumerate((0.2, 0.3, 0.5))]
    for at_s in (1.0, 3.3, 7.0, 8.5, 100.0):
        assert abs(sum(lane.count(at_s) for lane in lanes) - schedule.count(at_s)) <= 3
    for lane in lanes:
        times = [lane.when(number) for number in range(lane.count(9.0))]
        assert times == sorted(times)
        assert max(times) <= 9.0 + 1e-6
        assert lane.when(len(times)) > 9.0


def test_parts_of_a_stage_make_the_whole() -> None:
    assert Stage(10, 900, 300, 90).slower(3) == Stage(10, 300, 100, 30)


@pytest.mark.parametrize("way", ["murmur2", "digits"])
def test_keys_go_where_they_belong_and_skew_is_what_is_asked(way: str) -> None:
    keys = urn(DrawnKeys(50, 1.0), 3, "order", way)
    drawn: Counter[int] = Counter()
    for partition in range(3):
        numbers = keys.draw(partition, keys.share(60_000, partition), random.Random(partition))
        assert {partition_of(key_of(number, "order"), 3, way) for number in numbers} == {partition}
        drawn.update(numbers)
    assert drawn.total() == 60_000
    whole = sum(1 / n for n in range(1, 51))
    for number in (0, 1, 9):
        assert drawn[number] / 60_000 == pytest.approx(1 / (number + 1) / whole, rel=0.15)


def test_keys_go_where_librdkafka_sends_them() -> None:
    """Its own partitioner of that name is an account of its own."""
    went: dict[bytes, int] = {}
    with mock_brokers(3) as brokers:
        brokers.make_topic("three")
        client = Producer({"bootstrap.servers": brokers.bootstrap, "partitioner": "murmur2"}, logger=SILENT)
        for number in range(60):
            report = lambda _, message: went.update({message.key(): message.partition()})  # noqa: E731
            client.produce("three", b"x", key=key_of(number), on_delivery=report)
        assert client.flush(20) == 0
    assert went == {key_of(number): partition_of(key_of(number), 3) for number in range(60)}
    assert any(murmur2(key) >> 31 for key in went), "signs were not tried"


def test_without_skew_all_keys_come_alike() -> None:
    keys = urn(DrawnKeys(10, 0.0), 1)
    drawn = Counter(keys.draw(0, 20_000, random.Random(1)))
    assert all(1800 < drawn[number] < 2200 for number in range(10))


@pytest.mark.parametrize("count", [0, 1, 7, 1000, 999_999])
def test_shares_by_keys_are_exactly_the_count(count: int) -> None:
    keys = urn(DrawnKeys(100, 0.8), 7)
    assert sum(keys.share(count, partition) for partition in range(7)) == count
    spec = ProducerSpec.parse({**GIVEN, "count": count, "drawn_keys": {"count": 100, "skew": 0.8}})
    shares = [spec.share("three", partition) for partition in range(3)]
    assert shares == [urn(DrawnKeys(100, 0.8), 3).share(count, partition) for partition in range(3)]


def test_a_text_is_said_in_whichever_size_comes() -> None:
    filler = MixedFiller([Size(150, 1), Size(200, 1)], "r", "w", "one", 0, random.Random(1))
    texts = [f"row {number}" for number in range(20)]
    values, _ = filler.block(5, range(20), 9, texts=texts)
    assert [text_of(value) for value in values] == texts
    assert {len(value) for value in values} == {150, 200}
    with pytest.raises(UsageError, match="or every one of sizes"):
        filler.block(25, range(1), 9, texts=["x" * 120])


@pytest.mark.parametrize(("more", "message"), [
    ({"shape": [{**STAGE, "record_per_s": 5}]}, r"shape has an unknown key 'record_per_s'[\s\S]*'records_per_s'"),
    ({"shape": [{"for_s": 5}]}, "shape lacks records_per_s"),
    ({"shape": []}, "shape is no list of stages"),
    ({"shape": 5}, "shape is int"),
    ({"shape": STAGE}, "shape is no list of stages"),
    ({"shape": [{**STAGE, "records_per_s": 0}]}, "not above 0"),
    ({"shape": [{**STAGE, "burst": 0}]}, "not above 0"),
    ({"shape": [{**STAGE, "burst": 1.5}]}, "burst is 1.5"),
    ({"shape": [{**STAGE, "for_s": "ten"}]}, "for_s is 'ten'"),
    ({"shape": [STAGE], "records_per_s": 10}, "stands beside records_per_s"),
    ({"shape": [STAGE], "roll_records": 10}, "stands beside records_per_s or roll_records"),
    ({"sizes": [{"bytes": 100, "share": 0}]}, "share of 0"),
    ({"sizes": [{"bytes": 20, "share": 1}]}, "no room for its marks"),
    ({"sizes": [{"byte": 100, "share": 1}]}, r"unknown key 'byte'[\s\S]*'bytes'"),
    ({"shape": [{**STAGE, "for_s": float("nan")}]}, "for_s is nan"),
    ({"drawn_keys": {"count": 2}}, "none of them belongs in three-"),
    ({"drawn_keys": {"count": 3}, "topics": [{"name": "wide", "partitions": 2**60}]}, "none of them belongs in wide-0"),
    ({"drawn_keys": {"count": 0}}, "drawn_keys is not one count"),
    ({"drawn_keys": [{"count": 100}]}, "drawn_keys is not one count"),
    ({"drawn_keys": {"count": 100, "skew": -1}}, "skew from 0 on"),
    ({"drawn_keys": {"count": 100, "skew": None}}, "skew is None"),
    ({"drawn_keys": {"counts": 100}}, r"unknown key 'counts'[\s\S]*'count'"),
    ({"drawn_keys": {"count": 100}, "keys": 5}, "stands beside keys or sample"),
    ({"drawn_keys": {"count": 100}, "sample": "iris"}, "stands beside keys or sample"),
    ({"drawn_keys": {"count": 100}, "count": 4, "tombstones": True}, "tombstones need keys"),
    ({"drawn_keys": {"count": 100}, "key_prefix": "\ud800"}, "key_prefix has what cannot be printed"),
    ({"keys": {"count": 100}}, "keys is dict"),
    ({"topics": [{"name": "none", "partitions": 0}], "drawn_keys": {"count": 100}}, "'none' without partitions"),
])  # fmt: skip
def test_a_wrong_shape_is_told(more: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        ProducerSpec.parse(GIVEN | more)


def test_weights_are_parts_of_one() -> None:
    for keys in (None, {"count": 200, "skew": 1.2}):
        spec = ProducerSpec.parse({**GIVEN, "drawn_keys": keys, "shape": [STAGE]})
        assert sum(spec.weight(*lane) for lane in spec.lanes) == pytest.approx(1)
        assert spec.weight("one", 0) == pytest.approx(0.25)


def test_a_journal_keeps_when_and_which() -> None:
    block = Block(1, 7, 99, array("I", [1, 2]), array("I", [3, 4]), due_us=array("q", [5, 6]), keys=array("I", [8, 9]))
    again = read_reservation(block.reservation())
    assert (again.due_us, again.keys, again.crcs) == (block.due_us, block.keys, block.crcs)
    plain = read_reservation(Block(1, 7, 99, array("I", [1, 2]), array("I", [3, 4])).reservation())
    assert (plain.due_us, plain.keys) == (None, None)


def send(ledger: Path, **more: Any) -> pa.Table:
    """One producer to two brokers in this process, through its journal, into the ledger."""
    with mock_brokers(2) as brokers:
        brokers.make_topic("two")
        given = GIVEN | {
            "ledger": str(ledger), "client": {"bootstrap.servers": brokers.bootstrap}, "linger_ms": 1,
            "topics": [{"name": "two", "partitions": 2}], **more,
        }  # fmt: skip
        spec = ProducerSpec.parse(given)
        writer = journal.Writer(ledger / journal.FOLDER / "w.journal")
        facts = {"kind": spec.kind, "lanes": spec.lanes, **identity(spec).as_json()}
        writer.append(journal.OPENING + json.dumps(facts).encode())
        values: list[bytes] = []
        sending = Sending(spec, Clock(), lambda block: writer.append(block.reservation()))
        for lane in sending.lanes:
            fill = lane.fill
            lane.fill = lambda *args, fill=fill: _kept(values, *fill(*args))  # type: ignore[method-assign]
        for block in sending.run(lambda: False):
            writer.append(block.results())
        writer.close()
    seal(ledger)
    marks = [read(value) for value in values]
    assert all(mark is not None and mark.payload_crc == mark.value_crc for mark in marks)
    table = pq.read_table(ledger / "sent")
    sizes = {(mark.partition, mark.seq): len(value) for mark, value in zip(marks, values, strict=True) if mark}
    rows = zip(table["partition"].to_pylist(), table["seq"].to_pylist(), strict=True)
    return table.append_column("bytes", pa.array([sizes[row] for row in rows]))


def _kept(values: list[bytes], block: Block, made: list[dict[str, Any]]) -> tuple[Block, list[dict[str, Any]]]:
    values += [one["value"] for one in made]
    return block, made


def test_a_shaped_load_is_sent_when_it_is_due(tmp_path: Path) -> None:
    shape = [{"for_s": 0.5, "records_per_s": 200, "to_per_s": 800}, {"for_s": 0.5, "records_per_s": 400, "burst": 100}]
    table = send(
        tmp_path, shape=shape, count=450, drawn_keys={"count": 20, "skew": 1}, key_prefix="order", sizes=[{"bytes": 100, "share": 1},
        {"bytes": 1000, "share": 1}],
    )  # fmt: skip
    assert table.num_rows == 450
    rows = table.to_pylist()
    assert {row["outcome"] for row in rows} == {"acked"}
    assert all(partition_of(row["key"], 2) == row["partition"] for row in rows)
    assert {row["key"] for row in rows} <= {key_of(number, "order") for number in range(20)}
    assert {row["bytes"] for row in rows} == {100, 1000}
    assert all(row["due_at"] <= row["invoked_at"] <= row["done_at"] for row in rows)
    begin = min(row["due_at"] for row in rows)
    due = sorted((row["due_at"] - begin).total_seconds() for row in rows)
    # 250 in the ramp, and of the bursts of 100 that follow one at 0.5 s and one at 0.75 s, each lane from its own phase.
    assert sum(at < 0.45 for at in due) == pytest.approx(211, abs=6)
    assert sum(0.49 < at < 0.51 for at in due) >= 95
    told = latency.read(tmp_path / "sent").to_json()
    assert told is not None
    assert (told["due"], told["not_acked"], told["all"]["n"], told["overloaded"]) == (450, 0, 450, [])
    assert told["all"]["p50"] >= told["from_send"]["p50"]


def test_a_rate_that_is_not_taken_is_told_and_what_waited_counts(tmp_path: Path) -> None:
    """A bound on what may be under way stands in for a slow cluster: the client is kept waiting by its linger."""
    table = send(
        tmp_path, shape=[{"for_s": 1, "records_per_s": 400}], count=1200, waiting_records=20, block_records=10, linger_ms=150
    )  # fmt: skip
    assert table.num_rows == 1200
    told = latency.read(tmp_path / "sent").to_json()
    assert told is not None
    assert told["from_send"]["p99"] < 1000 < told["all"]["p99"]
    assert {(x["topic"], x["partition"]) for x in told["overloaded"]} == {("two", 0), ("two", 1)}
    (first, *_) = latency.not_taken(told)
    assert re.match(r"two-[01] did not take (199|20[01]) records/s: from second [12] on", first)
    assert told["overloaded"][0]["taken_per_s"] < 150


def test_an_unshaped_load_has_no_latency(tmp_path: Path) -> None:
    table = send(tmp_path, count=50)
    assert "due_at" not in table.column_names
    assert latency.read(tmp_path / "sent").to_json() is None


def bucket(value: int) -> int:
    held = min(max(value, 0), MOST_US)
    shift = max(0, held.bit_length() - 8)
    return (held >> shift) + shift * HALF


def test_buckets_are_what_integers_say() -> None:
    chance = random.Random(1)
    edges = [n for bit in range(41) for n in ((1 << bit) - 1, 1 << bit, (1 << bit) + 1)]
    values = [int(10 ** (chance.random() * 12)) for _ in range(20_000)] + edges + [-5]
    made = Histogram()
    made.add(pa.array(values[:10_000]))
    other = Histogram()
    other.add(pa.chunked_array([pa.array([*values[10_000:], None])]))
    made.merge(other)
    assert made.counts == Counter(map(bucket, values))
    assert all(lowest(bucket(value)) <= min(max(value, 0), MOST_US) < lowest(bucket(value) + 1) for value in values)
    ordered = sorted(values)
    for quantile in (0.5, 0.9, 0.99, 0.999):
        exact = ordered[math.ceil(quantile * len(values)) - 1]
        assert exact <= made.at(quantile) <= exact * (1 + 1 / HALF) + 1
    assert made.to_json()["max"] == max(values) / 1000


def test_a_histogram_of_nothing_says_so() -> None:
    empty = Histogram()
    empty.add(pa.array([None, None], pa.int64()))
    assert empty.to_json() == {"n": 0, "p50": None, "p90": None, "p99": None, "p99_9": None, "max": None}


def test_scenarios_share_a_shape_out_to_their_writers() -> None:
    found = scenario.load("load-shape")
    (stage, *_) = found.workload.shape or []
    half = found.workload.share(2)
    assert half["shape"][0]["records_per_s"] == stage["records_per_s"] / 2
    assert "records_per_s" not in half
    assert found.workload.shape_s == sum(x["for_s"] for x in found.workload.shape or [])


def test_loads_of_spark_may_have_a_shape_and_clients_may_not() -> None:
    content = yaml.safe_load((scenario.FOLDER / "load-shape.yaml").read_text(encoding="utf-8"))
    content["expect"].pop("outage")
    content["workload"] |= {"kind": "bulk", "count": 5, "probes": False}
    assert scenario.parse("x", content, place="x.yaml").workload.shape_s == 30
    content["workload"]["kind"] = "clients"
    content["acts"] = [{"start": "reader"}]
    with pytest.raises(UsageError, match="this can never be met") as told:
        scenario.parse("x", content, place="x.yaml")
    assert "are of a workload of kind paced or bulk" in told.value.details


@pytest.mark.parametrize(("change", "message"), [
    ({"shape": [{"for_s": 1, "records_per_s": 5, "brust": 1}]}, r"unknown key 'brust'[\s\S]*'burst'"),
    ({"drawn_keys": {"count": 3, "skew": 1}}, "none of them belongs in kastellan-"),
])  # fmt: skip
def test_a_wrong_shape_in_a_scenario_is_told(change: dict[str, Any], message: str) -> None:
    content = yaml.safe_load((scenario.FOLDER / "load-shape.yaml").read_text(encoding="utf-8"))
    content["workload"] |= change
    with pytest.raises(UsageError, match=message):
        scenario.parse("x", content, place="x.yaml")


def looked_at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, faults: bool) -> tuple[Entry, list[str]]:
    """What the runner makes of a ledger of which one partition did not take its rate."""
    told = {"all": {"n": 0}, "overloaded": [{"topic": "t", "partition": 0, "from_s": 3, "seconds": 4,
                                             "asked_per_s": 900, "taken_per_s": 500.0}]}  # fmt: skip
    monkeypatch.setattr(latency, "read", lambda _: SimpleNamespace(to_json=lambda: told))
    content = yaml.safe_load((scenario.FOLDER / "load-shape.yaml").read_text(encoding="utf-8"))
    if faults:
        content["faults"] = [{"fault": "kill", "hold": 30}]
    said: list[str] = []
    entry = Entry("x", "t", "t", [], "e", "r", {}, verdict="passed")
    context: Any = SimpleNamespace(folder=SimpleNamespace(say=said.append))
    one._look_at_shape(context, scenario.parse("x", content, place="x.yaml"), entry, tmp_path)
    return entry, said


def test_a_rate_that_was_not_taken_leaves_a_quiet_scenario_unknown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    entry, said = looked_at(tmp_path, monkeypatch, faults=False)
    assert entry.verdict == "unknown"
    assert entry.reasons[0].startswith("t-0 did not take 900 records/s: from second 3 on, for 4 s")
    assert said == ["  latency: nothing was acknowledged"]


def test_beside_a_fault_it_is_a_note(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    entry, _ = looked_at(tmp_path, monkeypatch, faults=True)
    assert (entry.verdict, entry.reasons) == ("passed", [])
    assert entry.notes[0].startswith("t-0 did not take 900 records/s")


def test_a_quiet_run_lasts_as_long_as_its_shape(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = scenario.load("load-shape")
    now_s = [0.0]
    monkeypatch.setattr("validate.run.load.time.monotonic", lambda: now_s[0])

    def wait(condition: Any, **_: float) -> bool:
        while not condition():
            now_s[0] += 1
        return True

    monkeypatch.setattr(load, "wait_until", wait)
    folder = SimpleNamespace(folder=lambda _: tmp_path)
    context: Any = SimpleNamespace(folder=folder, shared_spec=lambda *_: {}, clock=Clock())
    made = load.Load(context, found, SimpleNamespace(settings={}), tmp_path, "g")  # type: ignore[arg-type]
    monkeypatch.setattr(made.workloads, "acked", lambda: dict.fromkeys(made.everywhere(), int(1000 * now_s[0])))
    assert made.phase("run", made.everywhere()) == []
    assert now_s[0] >= found.workload.shape_s == 30
