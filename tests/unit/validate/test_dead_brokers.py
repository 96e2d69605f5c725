"""What the suite's own clients do while a broker is dead: no load on the machine that measures, no claim that is not sure."""

from __future__ import annotations

import time
from array import array
from types import SimpleNamespace
from typing import Any

import pytest

from common.wait import wait_until
from tests.unit.validate.mock_brokers import mock_brokers
from validate.workload.block import Block
from validate.workload.home_probe import MARKS_TIMEOUT_S, Marks
from validate.workload.probe import TIMED_OUT, Reader, Writer

NOT_LEADER_OR_FOLLOWER, NOT_ENOUGH_REPLICAS = 6, 19


def test_a_dead_leader_is_not_hammered_with_connections() -> None:
    """A thousand tries a second cost this process seconds of work; 50 ms and more between tries cost none."""
    entries: list[Any] = []
    with mock_brokers(3) as brokers:
        brokers.make_topic("t")
        spec: Any = SimpleNamespace(
            lanes=[("t", n) for n in range(3)], client={"bootstrap.servers": brokers.bootstrap, "log_level": 0}
        )
        clock = SimpleNamespace(now_us=lambda: 0)
        home: Any = SimpleNamespace(journal=SimpleNamespace(append=entries.append), clock=clock)
        marks = Marks(spec, home)

        def answers(count: int) -> bool:
            marks.ask()
            marks.take()
            return len(entries) >= count

        assert wait_until(lambda: answers(1), timeout_s=10)
        brokers.kill(2)
        seen, worked_s = len(entries), time.process_time()
        assert wait_until(lambda: answers(seen + 2), timeout_s=3 * MARKS_TIMEOUT_S)
        assert time.process_time() - worked_s < 0.1 * MARKS_TIMEOUT_S


@pytest.mark.parametrize(
    ("answers", "outcome"),
    [
        ((), (None, 0)),
        ((NOT_ENOUGH_REPLICAS,), ("NOT_ENOUGH_REPLICAS", None)),
        # Sent again on its own, the second answer would pass for a refusal of what the first leader may have stored.
        ((NOT_LEADER_OR_FOLLOWER, NOT_ENOUGH_REPLICAS), ("_MSG_TIMED_OUT", None)),
        ((NOT_LEADER_OR_FOLLOWER,), ("_MSG_TIMED_OUT", None)),
    ],
)
def test_a_single_shot_is_shot_once(answers: tuple[int, ...], outcome: tuple[str | None, int | None]) -> None:
    said: list[tuple[str | None, int | None]] = []
    with mock_brokers(1) as brokers:
        brokers.make_topic("t")
        client = {"bootstrap.servers": brokers.bootstrap, "log_level": 0}
        notes: Any = SimpleNamespace(
            spec=SimpleNamespace(lanes=[("t", 0)], client=client, timeout_ms=1500),
            write=lambda lane, at_us: (Block(lane, 0, at_us, array("I", [0]), array("I", [0])), b"x"),
            written=lambda _block, error, offset: said.append((error, offset)),
        )
        writer = Writer(notes)
        brokers.answer_produce(*answers)
        writer.shoot(0)

        def reported() -> bool:
            writer.poll(0.05)
            return not writer.outstanding

        assert wait_until(reported, timeout_s=10)
    assert said == [outcome]


def test_a_partition_that_was_silent_is_taken_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """The client's own state of it may be stuck for ever: as if it did not seek. Then a served partition looks dead."""
    heard: list[str | None] = []
    with mock_brokers(1) as brokers:
        brokers.make_topic("t")
        client = {"bootstrap.servers": brokers.bootstrap, "log_level": 0}
        notes: Any = SimpleNamespace(
            spec=SimpleNamespace(lanes=[("t", 0)], client=client, timeout_ms=1500),
            ask=lambda _lane, _at_us: len(heard),
            answered=lambda _number, _lane, error: heard.append(error),
        )
        reader = Reader(notes)

        def looked() -> str | None:
            reader.look(0)

            def answered() -> bool:
                reader.poll(0.02)
                return not reader.outstanding

            assert wait_until(answered, timeout_s=10)
            return heard[-1]

        # The first look brings the connection up.
        assert wait_until(lambda: looked() is None, timeout_s=20)
        assert looked() is None
        monkeypatch.setattr(reader, "_consumer", Unmoved(reader._consumer))
        assert [looked(), looked()] == [TIMED_OUT, None]
        reader.close()


class Unmoved:
    """A consumer that answers to everything and goes nowhere until the partition is taken anew."""

    def __init__(self, consumer: Any) -> None:
        self._consumer, self._taken = consumer, False

    def __getattr__(self, name: str) -> Any:
        self._taken |= name == "incremental_assign"
        if name in {"seek", "resume"} and not self._taken:
            return lambda _places: None
        return getattr(self._consumer, name)
