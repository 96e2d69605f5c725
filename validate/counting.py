"""How many records a topic holds, counted by reading them: of one that is cleaned the offsets do not tell."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, KafkaException, TopicPartition

from validate.admin import ANSWER_S, SILENT
from validate.quorum import ClusterSilent
from validate.workload.settings import EAGER

if TYPE_CHECKING:
    from collections.abc import Mapping

AT_ONCE = 1000
GLANCE_S = 0.5


@dataclass(frozen=True)
class Held:
    """What can be read of a topic."""

    records: int
    keys: int
    """Different ones. A tombstone's counts as long as the tombstone is there."""


def holds(client: Mapping[str, Any], topic: str, partitions: int, *, bound_s: float = ANSWER_S) -> Held:
    """`client`: librdkafka's settings of who may read it. ClusterSilent if its end does not come within the bound."""
    reader = Consumer(
        {
            **EAGER, **client, "group.id": "kastellan-count", "enable.auto.commit": False, "enable.partition.eof": True,
            "auto.offset.reset": "earliest", "log_level": 3, "error_cb": lambda _: None,
        },
        logger=SILENT,
    )  # fmt: skip
    count = 0
    keys: set[bytes] = set()
    open_ = set(range(partitions))
    until_s = time.monotonic() + bound_s
    try:
        reader.assign([TopicPartition(topic, index, OFFSET_BEGINNING) for index in range(partitions)])
        while open_ and time.monotonic() < until_s:
            for message in reader.consume(AT_ONCE, GLANCE_S):
                error = message.error()
                if error is None:
                    count += 1
                    keys |= {bytes(key)} if (key := message.key()) else set()
                elif error.code() == KafkaError._PARTITION_EOF:  # noqa: SLF001  its public name
                    open_.discard(message.partition() or 0)
    except KafkaException as error:
        raise ClusterSilent(f"{topic} could not be read.", details=str(error.args[0])) from error
    finally:
        reader.close()
    if open_:
        raise ClusterSilent(f"{topic} could not be read to its end within {bound_s:.0f} s.")
    return Held(count, len(keys))
