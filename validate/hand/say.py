"""Words that consumers obey: plain records, one in each partition, so that every member of a group hears them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from confluent_kafka import Producer

from common.errors import KastellanError
from validate.workload.settings import COMMON, SILENT

if TYPE_CHECKING:
    from validate.hand.bench import Bench

BOUND_S = 30.0


def say(bench: Bench, word: str) -> None:
    producer = Producer({**COMMON, "acks": "all", **bench.place.settings}, logger=SILENT)
    for partition in range(bench.topic.partitions):
        producer.produce(bench.topic.name, word.encode(), partition=partition)
    if left := producer.flush(BOUND_S):
        raise KastellanError(f"{left} records `{word}` were not acknowledged within {BOUND_S:.0f} s.")
