"""The labs' clients against brokers within this process: what they send, take up, pause and count, as the ledger has it."""

from __future__ import annotations

import json
from collections import Counter
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from confluent_kafka import Consumer, TopicPartition

from common.errors import UsageError
from tests.unit.validate.mock_brokers import mock_brokers
from validate import counting
from validate.act import Act
from validate.ledger.from_json import arrow_schema
from validate.run import looks
from validate.run.checks import not_moved
from validate.run.expected import Forecast
from validate.run.processes import Workloads
from validate.run.story import Window
from validate.workload.choice import Choice
from validate.workload.keys import partition_of
from validate.workload.seal import seal
from validate.workload.spec import ConsumerSpec, ProducerSpec

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from validate.run.processes import Workload

TOPIC = "kastellan-lab"
EVERY = [f"{TOPIC}/0", f"{TOPIC}/1"]
GIVEN: dict[str, Any] = {
    "run_id": "r", "name": "w", "ledger": "somewhere", "client": {}, "topics": [{"name": TOPIC, "partitions": 2}],
}  # fmt: skip
DONE_S = 30


class Lab:
    """Two brokers, each with one partition of the topic; processes as the runner starts them."""

    def __init__(self, ledger: Path, bootstrap: str) -> None:
        self.ledger, self.client = ledger, {"bootstrap.servers": bootstrap}
        shared = {"run_id": "r", "client": self.client, "topics": GIVEN["topics"]}
        self.workloads = Workloads(ledger, ledger, shared)
        self.held = counting.Held(0, 0)
        self.keys: dict[tuple[int, int], bytes | None] = {}

    def run(self, kind: str, name: str, **settings: Any) -> Workload:
        made = self.workloads.start(kind, name, **settings)
        assert made.done.wait(DONE_S), made.log.read_text(encoding="utf-8")
        made.process.wait(DONE_S)
        return made

    def read(self, name: str, **settings: Any) -> Workload:
        return self.run("consumer", name, group="g", commit="never", begin="beginning", batch=100, **settings)

    def rows(self, table: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = ds.dataset(self.ledger / table).to_table().to_pylist()
        return found

    def seal(self) -> None:
        """And the log as it must be after that: what was acknowledged, at its offset."""
        seal(self.ledger)
        names = {field.name for field in arrow_schema("log")}
        log = [
            {**{key: value for key, value in row.items() if key in names}, "offset": row["acked_offset"],
             "timestamp": row["done_at"]}
            for row in self.rows("sent") if row["outcome"] == "acked"
        ]  # fmt: skip
        (self.ledger / "log").mkdir()
        pq.write_table(pa.Table.from_pylist(log, schema=arrow_schema("log")), self.ledger / "log" / "log.parquet")


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """What all clients did in one ledger, sealed: each is started once, the tests look."""
    with mock_brokers(2) as brokers:
        brokers.make_topic(TOPIC)
        made = Lab(tmp_path_factory.mktemp("lab") / "ledger", brokers.bootstrap)
        made.ledger.mkdir()
        try:
            made.run("producer", "plain", count=1000, hooks=True)
            made.run("producer", "keyed", count=200, keys=10)
            made.run("producer", "graves", count=10, keys=10, tombstones=True)
            made.read("all", places=EVERY, count=1210)
            made.read("second", places=EVERY[1:], idle_s=1)
            made.read("twice", places=EVERY, rewind_after=1210, count=2420)
            for number, place in enumerate(EVERY):  # one of them would have been read next, whichever comes first
                made.read(f"pausing-{number}", places=EVERY, hold=place, hold_after=250, hold_until=450, count=1210)
            made.held = counting.holds(made.client, TOPIC, 2)
            made.keys = stored_keys(made.client, 1210)
            made.seal()
            yield made
        finally:
            made.workloads.kill()


def stored_keys(client: dict[str, str], count: int) -> dict[tuple[int, int], bytes | None]:
    """By place, as any consumer reads them."""
    reader = Consumer({**client, "group.id": "keys", "auto.offset.reset": "earliest"})
    reader.assign([TopicPartition(TOPIC, partition, 0) for partition in range(2)])
    found = reader.consume(count, DONE_S)
    reader.close()
    return {(one.partition() or 0, one.offset() or 0): one.key() for one in found}


class Asked:
    """In place of librdkafka's consumer: says what it was asked for."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, list[tuple[int, int]]]] = []

    def _heard(self, what: str, places: list[TopicPartition]) -> None:
        self.calls.append((what, [(one.partition, one.offset) for one in places]))

    def assign(self, places: list[TopicPartition]) -> None:
        self._heard("assign", places)

    def pause(self, places: list[TopicPartition]) -> None:
        self._heard("pause", places)

    def resume(self, places: list[TopicPartition]) -> None:
        self._heard("resume", places)

    def get_watermark_offsets(self, _: TopicPartition, **__: float) -> tuple[int, int]:
        return 3, 90

    def offsets_for_times(self, places: list[TopicPartition], **_: float) -> list[TopicPartition]:
        """Nothing is as young as that in partition 1."""
        return [TopicPartition(one.topic, one.partition, -1 if one.partition else one.offset // 100) for one in places]

    def committed(self, places: list[TopicPartition], **_: float) -> list[TopicPartition]:
        return [TopicPartition(one.topic, one.partition, -1001 if one.partition else 40) for one in places]


def choice(**settings: Any) -> tuple[Choice, Asked, list[bytes]]:
    asked, journal = Asked(), list[bytes]()
    spec = ConsumerSpec.parse({**GIVEN, "group": "g", "places": EVERY, **settings})
    consumer: Any = asked
    made = Choice(spec, consumer, journal.append)
    made.begin()
    return made, asked, journal


@pytest.mark.parametrize(
    ("settings", "starts"),
    [
        ({"begin": "beginning"}, [(0, 3), (1, 3)]),
        ({"begin": "time", "begin_ms": 5000}, [(0, 50), (1, 90)]),
        ({}, [(0, 40), (1, 3)]),
        ({"start": "latest"}, [(0, 40), (1, 90)]),
    ],
)
def test_where_a_reader_begins(settings: dict[str, Any], starts: list[tuple[int, int]]) -> None:
    _, asked, journal = choice(**settings)
    assert asked.calls == [("assign", starts)]
    assert json.loads(journal[0]) == ["starts", [[TOPIC, *start] for start in starts]]


def test_steps_fall_between_two_records() -> None:
    made, asked, _ = choice(begin="beginning", hold=EVERY[1], hold_after=50, hold_until=70, rewind_after=60)
    assert [made.room(0), made.step(49), made.room(49), made.step(50), made.room(50)] == [50, False, 1, False, 10]
    assert asked.calls[1:] == [("pause", [(1, -1001)])]
    assert made.step(60), "the positions are new ones"
    assert not made.step(70)
    assert asked.calls[2:] == [("assign", [(0, 3), (1, 3)]), ("resume", [(1, -1001)])]
    assert made.room(70) > 1_000_000


def asked(lab: Lab, **wanted: dict[str, Any]) -> list[str]:
    return looks.not_as_asked(lab.ledger, wanted)


def test_everybody_took_up_exactly_what_was_asked(lab: Lab) -> None:
    assert asked(lab, all={}, second={"places": EVERY[1:]}, twice={"times": 2}) == []
    assert asked(lab, **{"pausing-0": {}, "pausing-1": {}}) == []


def test_what_was_not_asked_is_told(lab: Lab) -> None:
    assert asked(lab, all={"of": ["plain"]}) == [
        "all took up 1210 records where 1000 were asked for: 0 lacking, 210 too many"
    ]
    assert asked(lab, second={}) == ["second took up 605 records where 1210 were asked for: 605 lacking, 0 too many"]
    assert asked(lab, all={"times": 2})[0].endswith("1210 lacking, 0 too many")
    assert asked(lab, nobody={"of": ["nobody"]}) == ["nobody was asked for nothing: there are no such records"]


def test_a_partition_that_is_paused_is_left_alone(lab: Lab) -> None:
    held = [{"hold": place, "hold_after": 250, "hold_until": 450} for place in EVERY]
    acts = [Act("start", f"pausing-{number}", settings=one) for number, one in enumerate(held)]
    assert looks.not_held(lab.ledger, acts) == []
    told = looks.not_held(lab.ledger, [Act("start", "all", settings=one) for one in held])
    assert any("all took up" in words and "while it was paused" in words for words in told)
    beyond = {**held[0], "hold_after": 1210, "hold_until": 1300}
    assert "0 records while" in looks.not_held(lab.ledger, [Act("start", "pausing-0", settings=beyond)])[0]


def test_going_back_is_an_assignment_of_its_own(lab: Lab) -> None:
    mine = [row for row in lab.rows("delivered") if row["member"] == "twice"]
    assert Counter(row["assignment"] for row in mine) == {1: 1210, 2: 1210}
    assert {row["assignment"] for row in mine if row["position"] < 1210} == {1}


def test_keys_are_in_the_ledger_and_where_they_belong(lab: Lab) -> None:
    keyed = [row for row in lab.rows("sent") if row["producer"] == "keyed"]
    assert len({row["key"] for row in keyed}) == 20
    assert all(partition_of(row["key"], 2) == row["partition"] for row in keyed)
    assert all(lab.keys[row["partition"], row["acked_offset"]] == row["key"] for row in lab.rows("sent"))
    assert looks.keys_astray(lab.ledger, {"keyed": "murmur2"}, {TOPIC: 2}) == []
    assert "lie where their key does not belong" in looks.keys_astray(lab.ledger, {"keyed": "digits"}, {TOPIC: 2})[0]
    assert looks.keys_astray(lab.ledger, {"nobody": "digits"}, {TOPIC: 2}) == ["there is no record of nobody"]
    assert looks.keys_left(lab.ledger, {TOPIC: 20}) == []
    assert looks.keys_left(lab.ledger, {TOPIC: 21}) == [f"{TOPIC} holds 20 different keys, not 21"]


def test_a_tombstone_is_a_key_without_a_value(lab: Lab) -> None:
    graves = [row for row in lab.rows("sent") if row["producer"] == "graves"]
    values = {row["key"] for row in lab.rows("sent") if row["producer"] == "keyed"}
    assert len(graves) == 10
    assert all(row["value_null"] and row["value_crc"] is None and row["outcome"] == "acked" for row in graves)
    assert {row["key"] for row in graves} < values
    offsets = [(row["partition"], row["acked_offset"]) for row in graves]
    assert len(set(offsets)) == 10
    taken = [row for row in lab.rows("delivered") if (row["partition"], row["offset"]) in offsets]
    assert {row["producer"] for row in taken} == {None}


def test_what_a_topic_holds_is_counted_by_reading(lab: Lab) -> None:
    assert lab.held == counting.Held(1210, 20)


def test_hooks_agree_with_the_ledger(lab: Lab) -> None:
    notes: list[str] = []
    assert looks.hooks_astray(lab.ledger, ["plain"], notes) == []
    assert notes[0].startswith("plain, by its client's own figures: 1,000 records")
    assert looks.hooks_astray(lab.ledger, ["keyed"], notes) == ["the hooks of keyed left nothing"]


@pytest.mark.parametrize(
    ("spoil", "told"),
    [
        (lambda seen: seen["sent"][f"{TOPIC}-0"].__setitem__(0, 499), "the hook on what is sent saw 999 records"),
        (
            lambda seen: seen["acknowledged"][f"{TOPIC}-1"].__setitem__(1, 0),
            "the hook on what is acknowledged saw 1000",
        ),
        (lambda seen: seen["client"].__setitem__("messages", 1001), "the client of plain counts 1001 records"),
    ],
)
def test_hooks_that_do_not_agree_are_told(lab: Lab, spoil: Callable[[Any], None], told: str) -> None:
    path = lab.ledger / "hooks" / "plain.json"
    kept = path.read_text(encoding="utf-8")
    seen = json.loads(kept)
    spoil(seen)
    try:
        path.write_text(json.dumps(seen), encoding="utf-8")
        assert looks.hooks_astray(lab.ledger, ["plain"], [])[0].startswith(told)
    finally:
        path.write_text(kept, encoding="utf-8")


@pytest.mark.parametrize(("bytes_per_s", "agrees"), [(1000, True), (1150, True), (1300, False), (800, False)])
def test_a_rate_is_told_from_what_was_acknowledged(bytes_per_s: int, agrees: bool, tmp_path: Path) -> None:
    """One record of 100 bytes each tenth of a second."""
    rows = [
        {"run_id": "r", "producer": "slow", "topic": "t", "partition": 0, "seq": n, "attempt": 0, "acks": "all",
         "idempotent": True, "max_in_flight": 1, "outcome": "acked", "invoked_at": n * 100_000, "done_at": n * 100_000}
        for n in range(400)
    ]  # fmt: skip
    (tmp_path / "sent").mkdir()
    pq.write_table(pa.Table.from_pylist(rows, schema=arrow_schema("sent")), tmp_path / "sent" / "slow.parquet")
    wanted = {"of": "slow", "bytes_per_s": bytes_per_s, "within": 0.2, "after_s": 12}
    assert (looks.rate_astray(tmp_path, wanted, 100, []) == []) is agrees
    assert "too few" in looks.rate_astray(tmp_path, {**wanted, "after_s": 39}, 100, [])[0]


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"places": [f"{TOPIC}/2"]}, "places"),
        ({"places": []}, "places"),
        ({"begin": "beginning"}, "need places"),
        ({"rewind_after": 3}, "need places"),
        ({"places": EVERY, "begin": "time"}, "begin_ms"),
        ({"places": EVERY, "begin_ms": 1}, "begin_ms"),
        ({"places": EVERY[:1], "hold": EVERY[1], "hold_until": 5}, "hold"),
        ({"places": EVERY, "hold": EVERY[1], "hold_after": 5, "hold_until": 5}, "hold"),
        ({"draw": "roses"}, "draw"),
    ],
)
def test_a_choice_that_makes_no_sense_is_refused(changes: dict[str, Any], told: str) -> None:
    with pytest.raises(UsageError, match=told):
        ConsumerSpec.parse({**GIVEN, "group": "g", **changes})


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"sample": "roses"}, "sample"),
        ({"partitioner": "random"}, "partitioner"),
        ({"keys": 0}, "keys"),
        ({"tombstones": True, "count": 2}, "tombstones"),
        ({"tombstones": True, "keys": 5}, "tombstones"),
        ({"tombstones": True, "keys": 5, "count": 11}, "tombstones"),
    ],
)
def test_keys_that_make_no_sense_are_refused(changes: dict[str, Any], told: str) -> None:
    with pytest.raises(UsageError, match=told):
        ProducerSpec.parse({**GIVEN, **changes})


def described(folder: Path, *rows: tuple[str, int, int, list[int]]) -> Path:
    lines = [
        json.dumps({"at": f"2026-01-01T00:00:{at}.000000Z", "topic": "t", "partition": p, "leader": leader, "isr": isr})
        for at, p, leader, isr in rows
    ]
    (folder / "isr.jsonl").write_text("\n".join(lines), encoding="utf-8")
    return folder


WINDOW = Window(
    datetime(2026, 1, 1, 0, 0, 10, tzinfo=UTC), datetime(2026, 1, 1, 0, 0, 30, tzinfo=UTC),
    Forecast(frozenset(), frozenset()), frozenset(), frozenset({1}),
)  # fmt: skip
BEFORE = (("00", 0, 1, [1, 2, 3]), ("00", 1, 2, [2, 3, 1]), ("00", 2, 2, [2, 3]))


@pytest.mark.parametrize(
    ("rows", "told"),
    [
        ([("20", 0, 2, [2, 3]), ("20", 1, 2, [2, 3])], []),
        ([("20", 0, 2, [2, 3])], ["t-1: leader 2, in sync [2, 3, 1]"]),
        ([("20", 0, 2, [2, 3]), ("40", 1, 2, [2, 3])], ["t-1: leader 2, in sync [2, 3, 1]"]),
        ([("20", 0, 1, [1]), ("20", 1, 2, [2, 3])], ["t-0: leader 1, in sync [1]"]),
    ],
)
def test_who_is_dead_leads_nothing(rows: list[Any], told: list[str], tmp_path: Path) -> None:
    notes: list[str] = []
    assert not_moved(described(tmp_path, *BEFORE, *rows), [WINDOW], notes) == told
    assert notes == ["1 of 3 partitions got another leader, 2 another in-sync set."]


def test_a_broker_that_led_nothing_shows_nothing(tmp_path: Path) -> None:
    rows = [("00", 0, 2, [2, 3, 1]), ("20", 0, 2, [2, 3])]
    assert not_moved(described(tmp_path, *rows), [WINDOW], []) == ["who was hit led no partition"]
    assert not_moved(tmp_path, [], []) == ["there was no fault"]
