"""The eager sticky assignor, which librdkafka has not: kafka-python's consumer, with the words of librdkafka's.

Only what a member of a group uses is here; what it is given back looks like librdkafka's.
"""

from __future__ import annotations

import logging
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from confluent_kafka import TopicPartition

from validate.quorum import translated

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from validate.workload.spec import ConsumerSpec

    Heard = Callable[[Any, list[TopicPartition]], None]

MS = 1000
START_S = 30.0
logging.getLogger("kafka").setLevel(logging.CRITICAL)  # what it has to say of brokers that are broken on purpose


@dataclass(frozen=True)
class Told:
    """A record with librdkafka's calls."""

    record: Any

    def topic(self) -> str:
        return str(self.record.topic)

    def partition(self) -> int:
        return int(self.record.partition)

    def offset(self) -> int:
        return int(self.record.offset)

    def value(self) -> bytes | None:
        found: bytes | None = self.record.value
        return found

    def error(self) -> None:
        return None


@dataclass(frozen=True)
class Answer:
    """Of a commit, for one partition."""

    topic: str
    partition: int
    error: Failure | None


@dataclass(frozen=True)
class Failure:
    words: str

    def name(self) -> str:
        return self.words


class Sticky:
    def __init__(self, spec: ConsumerSpec) -> None:
        self._kafka = _consumer(spec)
        self._size = spec.batch
        self._ready: deque[Told] = deque()
        self._moves: deque[tuple[Heard, list[TopicPartition]]] = deque()

    def subscribe(self, topics: Iterable[str], *, on_assign: Heard, on_revoke: Heard, on_lost: Heard) -> None:
        def later(heard: Heard) -> Callable[[Any], None]:
            # A listener is called where the connection is served: whoever asked for anything there would wait for ever.
            return lambda places: self._moves.append((heard, _ours(places)))

        listener = _listener(assigned=later(on_assign), revoked=later(on_revoke), lost=later(on_lost))
        self._kafka.subscribe(list(topics), listener=listener)

    def poll(self, timeout_s: float) -> Told | None:
        """Rebalances happen only here, and only when all that was read before has been handed out.

        They are told of behind the poll and before its records, so a commit for what is taken away comes too late.
        """
        if not self._ready:
            found = self._kafka.poll(timeout_ms=int(timeout_s * MS), max_records=self._size)
            self._ready.extend(Told(record) for records in found.values() for record in records)
            while self._moves:
                heard, places = self._moves.popleft()
                heard(self, places)
        return self._ready.popleft() if self._ready else None

    def commit(self, *, offsets: Sequence[TopicPartition], asynchronous: bool) -> list[Answer]:
        from kafka.errors import KafkaError  # noqa: PLC0415  slow to import
        from kafka.structs import OffsetAndMetadata  # noqa: PLC0415

        assert not asynchronous  # noqa: S101  a member waits for the answer
        asked = {_theirs(one): OffsetAndMetadata(one.offset, "", -1) for one in offsets}
        failure = None
        try:
            self._kafka.commit(asked, timeout_ms=int(START_S * MS))
        except KafkaError as error:
            failure = Failure(type(error).__name__)
        return [Answer(one.topic, one.partition, failure) for one in offsets]

    def committed(self, partitions: Sequence[TopicPartition], timeout: float) -> list[TopicPartition]:
        found = [self._kafka.committed(_theirs(one), timeout_ms=int(timeout * MS)) for one in partitions]
        return [
            TopicPartition(one.topic, one.partition, -1 if offset is None else offset)
            for one, offset in zip(partitions, found, strict=True)
        ]

    def get_watermark_offsets(self, partition: TopicPartition, timeout: float) -> tuple[int, int]:
        place, timeout_ms = _theirs(partition), int(timeout * MS)
        low = self._kafka.beginning_offsets([place], timeout_ms=timeout_ms)[place]
        return low, self._kafka.end_offsets([place], timeout_ms=timeout_ms)[place]

    def close(self) -> None:
        self._kafka.close(autocommit=False)


def _consumer(spec: ConsumerSpec) -> Any:
    from kafka import KafkaConsumer  # noqa: PLC0415  slow to import
    from kafka.coordinator.assignors.sticky.sticky_assignor import StickyPartitionAssignor  # noqa: PLC0415

    return KafkaConsumer(
        **(translated(spec.client, START_S) | {"request_timeout_ms": max(30_000, spec.session_timeout_ms + 5_000)}),
        group_id=spec.group,
        group_instance_id=spec.instance_id,
        partition_assignment_strategy=[StickyPartitionAssignor],
        auto_offset_reset=spec.start,
        enable_auto_commit=False,
        isolation_level=spec.isolation,
        session_timeout_ms=spec.session_timeout_ms,
        heartbeat_interval_ms=spec.heartbeat_ms,
        max_poll_interval_ms=spec.max_poll_ms,
    )


def _listener(**heard: Callable[[Any], None]) -> Any:
    from kafka.consumer.subscription_state import ConsumerRebalanceListener  # noqa: PLC0415

    class Listener(ConsumerRebalanceListener):  # type: ignore[misc]
        def on_partitions_assigned(self, assigned: Any) -> None:
            heard["assigned"](assigned)

        def on_partitions_revoked(self, revoked: Any) -> None:
            heard["revoked"](revoked)

        def on_partitions_lost(self, lost: Any) -> None:
            heard["lost"](lost)

    return Listener()


def _ours(places: Iterable[Any]) -> list[TopicPartition]:
    return [TopicPartition(topic, partition) for topic, partition in sorted(places)]


def _theirs(place: TopicPartition) -> Any:
    from kafka.structs import TopicPartition as Place  # noqa: PLC0415

    return Place(place.topic, place.partition)
