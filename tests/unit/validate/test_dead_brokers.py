"""What the suite's own clients do while a broker is dead: they must not be a load on the machine that measures."""

from __future__ import annotations

import time
from types import SimpleNamespace
from typing import Any

from common.wait import wait_until
from tests.unit.validate.mock_brokers import mock_brokers
from validate.workload.home_probe import MARKS_TIMEOUT_S, Marks


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
