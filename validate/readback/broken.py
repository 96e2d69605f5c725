"""Where a partition breaks off: found by a plain consumer that checks every batch, one partition at a time."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from confluent_kafka import Consumer, KafkaError, TopicPartition

from validate.workload.settings import COMMON, EAGER, SILENT

if TYPE_CHECKING:
    from collections.abc import Mapping

    from validate.readback.bounds import Bounds

SILENCE_S = 15.0  # neither a record nor the end for so long counts as broken off
# Asking again would not help. Other errors (a connection that broke, a leader that moved) may pass.
FINAL = frozenset({"_BAD_MSG", "_BAD_COMPRESSION", "_AUTO_OFFSET_RESET", "OFFSET_OUT_OF_RANGE", "INVALID_MSG"})


def read_to(client: Mapping[str, Any], bounds: Bounds) -> int | None:
    """The first offset that cannot be read, or None if the partition can be read to its end."""
    if bounds.start_offset >= bounds.end_offset:
        return None
    settings = {
        **COMMON,
        **EAGER,
        **client,
        "group.id": "kastellan-readback",
        "enable.auto.commit": False,
        "check.crcs": True,
        "isolation.level": bounds.isolation,
        "enable.partition.eof": True,
        "auto.offset.reset": "error",
    }
    consumer = Consumer(settings, logger=SILENT)
    try:
        consumer.assign([TopicPartition(bounds.topic, bounds.partition, bounds.start_offset)])
        return _walk(consumer, bounds)
    finally:
        consumer.close()


def _walk(consumer: Consumer, bounds: Bounds) -> int | None:
    reached, heard_s = bounds.start_offset, time.monotonic()
    while reached < bounds.end_offset:
        for message in consumer.consume(10_000, timeout=1.0):
            error = message.error()
            if error is None:
                reached, heard_s = (message.offset() or 0) + 1, time.monotonic()
            elif error.code() == KafkaError._PARTITION_EOF:  # noqa: SLF001  the client's own name of it
                return None
            elif error.name() in FINAL:
                return reached
        if time.monotonic() - heard_s > SILENCE_S:
            return reached
    return None
