"""Answers to the question where a partition begins and ends, without a cluster."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from confluent_kafka import KafkaError, KafkaException

from validate.readback import bounds

PLACES = [("one", 0), ("one", 1)]
Answers = dict[str, dict[bounds.Place, int | str]]


def answers(**more: dict[int, int | str]) -> Answers:
    good: Answers = {
        "start": dict.fromkeys(PLACES, 2),
        "stable": dict.fromkeys(PLACES, 9),
        "high": dict.fromkeys(PLACES, 9),
    }
    for kind, changed in more.items():
        good[kind] |= {("one", partition): answer for partition, answer in changed.items()}
    return good


@pytest.mark.parametrize(("given", "problems", "read"), [
    (answers(), [], [(0, 2, 9, 9), (1, 2, 9, 9)]),
    (answers(stable={1: 7}), ["one-1 has an open transaction: 2 offsets are not decided"], [(0, 2, 9, 9), (1, 2, 7, 9)]),
    (answers(high={0: "no leader"}), ["one-0 cannot be read: no leader"], [(1, 2, 9, 9)]),
])  # fmt: skip
def test_what_is_open_or_missing_is_told(
    monkeypatch: pytest.MonkeyPatch, given: Answers, problems: list[str], read: list[tuple[int, ...]]
) -> None:
    monkeypatch.setattr(bounds, "_ask", lambda *_: given)
    monkeypatch.setattr(bounds, "_facts", lambda *_: {"one": ("delete", "id")})
    taken = bounds.take({"bootstrap.servers": "127.0.0.1:1"}, [("one", 2)], wait_s=0)
    assert taken.problems == problems
    assert [(b.partition, b.start_offset, b.end_offset, b.high_watermark) for b in taken.bounds] == read


def test_a_client_that_was_refused_is_not_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """It would go on by the epochs of leaders that are gone; a new one knows the new."""
    clients = iter(["old", "new"])
    given = {"old": answers(high={0: "FENCED_LEADER_EPOCH"}), "new": answers()}
    monkeypatch.setattr(bounds, "_admin", lambda _: next(clients))
    monkeypatch.setattr(bounds, "_ask", lambda admin, _: given[admin])
    monkeypatch.setattr(bounds, "_facts", lambda *_: {"one": ("delete", "id")})
    assert bounds.take({}, [("one", 2)], wait_s=5).problems == []


def test_a_missing_answer_is_no_offset() -> None:
    def answer(offset: int) -> int | str:
        return bounds._answer(SimpleNamespace(result=lambda timeout: SimpleNamespace(offset=offset)))  # noqa: ARG005

    assert answer(0) == 0
    assert answer(-1001) == "its leader named no offset"


def test_an_error_is_no_offset() -> None:
    def refuse(timeout: float) -> None:  # noqa: ARG001
        raise KafkaException(KafkaError(KafkaError.NOT_LEADER_FOR_PARTITION))

    assert str(bounds._answer(SimpleNamespace(result=refuse))).startswith("NOT_LEADER_FOR_PARTITION")
