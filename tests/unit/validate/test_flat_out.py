"""Flat out, an idempotent producer has one batch of a partition under way and nothing waiting behind it."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import pytest
from confluent_kafka import Producer

from tests.unit.validate.mock_brokers import mock_brokers
from validate.workload import producer
from validate.workload.clock import Clock
from validate.workload.producer import Lane, Sending, batch_records
from validate.workload.spec import ProducerSpec

if TYPE_CHECKING:
    from pathlib import Path

COUNT = 3000


def filled(folder: Path, monkeypatch: pytest.MonkeyPatch, **changes: Any) -> list[tuple[int, int]]:
    """What was under way in a partition each time that more was sent, and how much more."""
    seen: list[tuple[int, int]] = []
    fill = Lane.fill

    def looked_at(lane: Lane, count: int, now_us: int) -> Any:
        seen.append((lane.in_flight, count))
        return fill(lane, count, now_us)

    monkeypatch.setattr(Lane, "fill", looked_at)
    with mock_brokers(2) as brokers:
        brokers.make_topic("two")
        content = {
            "run_id": "r", "name": "w", "ledger": str(folder), "count": COUNT, "block_records": 200, "batch_bytes": 30_000,
            "linger_ms": 50,  # so that a block, which is no whole batch, is still under way at the next look
            "topics": [{"name": "two", "partitions": 2}], "client": {"bootstrap.servers": brokers.bootstrap}, **changes,
        }  # fmt: skip
        sending = Sending(ProducerSpec.parse(content), Clock(), lambda _: None)
        for _ in sending.run(lambda: False):
            pass
    assert sum(sending.acked().values()) == COUNT
    return seen


def test_nothing_waits_behind_a_batch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = filled(tmp_path, monkeypatch)
    assert {waiting for waiting, _ in seen} == {0}
    assert max(count for _, count in seen) == 200  # 30,000 bytes have room for two more


def test_a_whole_batch_does_not_wait_for_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of seven blocks one after the other none waits for linger; the last, which is less, is flushed."""
    began_s = time.monotonic()
    filled(tmp_path, monkeypatch, linger_ms=2000)
    assert time.monotonic() - began_s < 6


@pytest.mark.parametrize(
    ("changes", "whole"),
    [({}, 200), ({"idempotent": False}, 10_000), ({"settings": {"batch.num.messages": 7}}, 7)],
    ids=["flat out", "not idempotent", "the user's own"],
)
def test_what_a_whole_batch_is(
    changes: dict[str, Any], whole: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: dict[str, Any] = {}

    def noted(settings: dict[str, Any], **more: Any) -> Producer:
        told.update(settings)
        return Producer(settings, **more)

    monkeypatch.setattr(producer, "Producer", noted)
    filled(tmp_path, monkeypatch, **changes)
    assert told["batch.num.messages"] == whole


@pytest.mark.parametrize("changes", [{"idempotent": False}, {"records_per_s": 1e6}], ids=["not idempotent", "paced"])
def test_other_loads_have_more_under_way(
    changes: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A stalled load is to pile up: faults bite into it."""
    assert max(waiting for waiting, _ in filled(tmp_path, monkeypatch, **changes)) > 0


@pytest.mark.parametrize(("size", "records"), [(100, 1771), (1024, 244), (10_000_000, 1)])
def test_a_batch_is_never_overfull(size: int, records: int) -> None:
    spec = ProducerSpec.parse({
        "run_id": "r", "name": "w", "ledger": "/nowhere", "client": {}, "value_bytes": size,
        "topics": [{"name": "one", "partitions": 1}],
    })  # fmt: skip
    assert batch_records(spec) == records
    assert records == 1 or records * (size + 20) < spec.batch_bytes
