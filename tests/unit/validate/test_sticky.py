"""The eager sticky member: another library's consumer, looked at through librdkafka's words."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from confluent_kafka import TopicPartition
from kafka.errors import CommitFailedError
from kafka.structs import TopicPartition as Place

from common.errors import UsageError
from validate.workload import sticky
from validate.workload.spec import ConsumerSpec

GIVEN: dict[str, Any] = {
    "run_id": "r", "name": "c", "ledger": "l", "topics": [{"name": "t", "partitions": 2}], "group": "g",
    "client": {"bootstrap.servers": "127.0.0.1:1"}, "assignment": "sticky", "commit_on_revoke": False,
}  # fmt: skip


class Kafka:
    """In place of kafka-python's consumer: each poll plays what it was given."""

    def __init__(self) -> None:
        self.plays: list[tuple[list[tuple[str, list[int]]], list[int]]] = []
        self.commits: list[Any] = []
        self.refuses = False
        self.polls = 0

    def subscribe(self, topics: list[str], listener: Any) -> None:
        self.topics, self.listener = topics, listener

    def poll(self, **_: Any) -> dict[Any, list[Any]]:
        self.polls += 1
        moves, offsets = self.plays.pop(0) if self.plays else ([], [])
        for what, partitions in moves:
            getattr(self.listener, f"on_partitions_{what}")([Place("t", one) for one in partitions])
        record = [SimpleNamespace(topic="t", partition=0, offset=offset, value=b"v") for offset in offsets]
        return {Place("t", 0): record} if record else {}

    def commit(self, offsets: Any, **_: Any) -> None:
        if self.refuses:
            raise CommitFailedError
        self.commits.append({place: (given.offset) for place, given in offsets.items()})

    def committed(self, place: Any, **_: Any) -> int | None:
        return 7 if place.partition == 0 else None


@pytest.fixture
def kafka(monkeypatch: pytest.MonkeyPatch) -> Kafka:
    made = Kafka()
    monkeypatch.setattr(sticky, "_consumer", lambda _: made)
    return made


def member(heard: list[str]) -> sticky.Sticky:
    made = sticky.Sticky(ConsumerSpec.parse(GIVEN))

    def hear(what: str) -> Any:
        return lambda _, places: heard.append(f"{what} {[place.partition for place in places]}")

    made.subscribe(["t"], on_assign=hear("assigned"), on_revoke=hear("revoked"), on_lost=hear("lost"))
    return made


def test_moves_are_told_before_the_records_that_came_with_them(kafka: Kafka) -> None:
    heard: list[str] = []
    one = member(heard)
    kafka.plays = [([("assigned", [1, 0])], [5, 6]), ([("revoked", [0, 1]), ("assigned", [1])], [])]
    found = [one.poll(0.1), one.poll(0.1)]
    assert [message.offset() for message in found if message] == [5, 6]
    assert (heard, kafka.polls) == (["assigned [0, 1]"], 1), "what was read is handed out before anything moves"
    assert one.poll(0.1) is None
    assert heard[1:] == ["revoked [0, 1]", "assigned [1]"]


def test_a_commit_is_acked_or_named(kafka: Kafka) -> None:
    one = member([])
    asked = [TopicPartition("t", 0, 12), TopicPartition("t", 1, 3)]
    assert [answer.error for answer in one.commit(offsets=asked, asynchronous=False)] == [None, None]
    assert kafka.commits == [{Place("t", 0): 12, Place("t", 1): 3}]
    kafka.refuses = True
    errors = [answer.error.name() for answer in one.commit(offsets=asked, asynchronous=False) if answer.error]
    assert errors == ["CommitFailedError"] * 2


@pytest.mark.usefixtures("kafka")
def test_where_nothing_is_committed_is_told_as_librdkafka_does() -> None:
    found = member([]).committed([TopicPartition("t", 0), TopicPartition("t", 1)], timeout=1)
    assert [one.offset for one in found] == [7, -1]


@pytest.mark.parametrize(
    "changes",
    [{"commit_on_revoke": True}, {"commit": "auto"}, {"commit": "before"}, {"settings": {"a": 1}},
     {"places": ["t/0"]}, {"protocol": "consumer"}],
)  # fmt: skip
def test_what_it_cannot_do_is_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match="assignment sticky"):
        ConsumerSpec.parse({**GIVEN, **changes})
