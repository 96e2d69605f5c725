"""Workloads that cheat, on a real cluster: `python -m tests.system.cluster.liars producer|consumer SPEC.json`."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

from confluent_kafka import Producer

from validate.workload import __main__ as honest
from validate.workload import home_consumer, producer
from validate.workload.consumer import Member

if TYPE_CHECKING:
    from collections.abc import Callable

    from confluent_kafka import Message

EVERY = 100


class Acknowledged:
    """A report on a record that nobody has sent."""

    def __init__(self, value: bytes) -> None:
        self._value = value

    def value(self) -> bytes:
        return self._value

    def offset(self) -> None:
        return None


class Lying(Producer):
    """Keeps every hundredth record to itself and says that the cluster has it."""

    _seen = 0

    def produce_batch(  # type: ignore[override]  # only what the workload calls it with
        self, topic: str, messages: list[dict[str, Any]], *, partition: int, on_delivery: Callable[[Any, Any], None]
    ) -> int:
        kept = [m for number, m in enumerate(messages, self._seen) if number % EVERY]
        withheld = [m for number, m in enumerate(messages, self._seen) if not number % EVERY]
        self._seen += len(messages)
        queued = super().produce_batch(topic, kept, partition=partition, on_delivery=on_delivery) if kept else 0
        for message in withheld:
            on_delivery(None, Acknowledged(message["value"]))
        return queued + len(withheld)


class Skipping(Member):
    """Lets every hundredth record of a partition fall and commits past it."""

    def _take_up(self, messages: list[Message]) -> None:
        super()._take_up([m for m in messages if (m.offset() or 0) % EVERY != EVERY - 1])


if __name__ == "__main__":
    setattr(producer, "Producer", Lying)  # noqa: B010  no name that the module hands out
    setattr(home_consumer, "Member", Skipping)  # noqa: B010
    code = honest.main(sys.argv[1:])
    sys.stdout.flush()
    os._exit(code)
