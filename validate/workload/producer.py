"""The one producing loop, in both its homes: a process of its own, and a task of Spark (bulk.py)."""

from __future__ import annotations

import random
import time
from array import array
from collections import Counter, deque
from typing import TYPE_CHECKING, Any

from confluent_kafka import Producer

from common.errors import KastellanError
from validate.sample import dealt
from validate.workload import packing
from validate.workload.block import Block
from validate.workload.hooks import Hooks
from validate.workload.keys import key_of, keys_of
from validate.workload.outcome import ACKED, classify
from validate.workload.rows import Identity
from validate.workload.schedule import US, Due, Schedule
from validate.workload.settings import SILENT, for_producer
from validate.workload.sizes import MixedFiller
from validate.workload.value import SEQ, Filler

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from confluent_kafka import KafkaError, Message

    from validate.workload.clock import Clock
    from validate.workload.spec import ProducerSpec

ALONE_S = 5.0  # how long reports are waited for when nobody waits for the ledger
TICK_S = 0.005
SHORTEST_TICK_S = 0.001  # how exactly a schedule is kept: waking up more often costs more than it tells
LAST_LOOK_S = 5.0
RECORD_OVERHEAD = 48  # what librdkafka reckons beside a value, and a short key
BEHIND_S = 1.0  # how much of a pace that was missed is made up for


def identity(spec: ProducerSpec) -> Identity:
    return Identity(spec.run_id, spec.name, spec.acks, spec.idempotent, spec.max_in_flight, spec.clock, spec.keyed)


def batch_records(spec: ProducerSpec) -> int:
    """How many records certainly fit into one batch, and so into one request.

    librdkafka has one request of an idempotent producer's partition under way. While more waits behind it, its thread
    asks the socket without a pause, and takes a core from brokers on the same machine (docs/adr/0098).
    """
    return max(1, int(spec.batch_bytes / (spec.mean_bytes + RECORD_OVERHEAD)))


def whole_batches(spec: ProducerSpec, records: int) -> dict[str, Any]:
    """What librdkafka is told if every batch has so many records."""
    settings: dict[str, Any] = {"batch.num.messages": records}
    in_the_clear = "SSL" not in str(spec.client.get("security.protocol", "")).upper()
    if in_the_clear or spec.sizes is not None or spec.keyed is not None or spec.compression != "none":
        return settings
    plain = f"kastellan-{spec.name}"
    named = packing.name(plain, records, spec.value_bytes, [topic.name for topic in spec.topics])
    return settings if named == plain else settings | {"client.id": named}


class Lane:
    """One topic and partition: its numbers, its values, and what of it is under way."""

    def __init__(
        self,
        number: int,
        topic: str,
        partition: int,
        spec: ProducerSpec,
        total: int | None,
        texts: list[str] | None = None,
    ) -> None:
        self.number, self.topic, self.partition = number, topic, partition
        self.total = total if texts is None else len(texts)
        self._texts = texts
        self._keys = keys_of(spec.keyed, partition, spec.partitions_of(topic))
        self._prefix, self._tombstones = spec.key_prefix, spec.tombstones
        self._places = {key: place for place, key in enumerate(self._keys)} if spec.tombstones else {}
        self.sent = self.reported = self.acked = 0
        name = f"{spec.seed}/{spec.name}/{topic}/{partition}"
        self._chance = random.Random(name)  # noqa: S311  to be repeatable
        self._filler: Filler | MixedFiller
        if spec.sizes is None:
            self._filler = Filler(spec.run_id, spec.name, topic, partition, spec.value_bytes)
        else:
            sizes = random.Random(f"{name}/sizes")  # noqa: S311
            self._filler = MixedFiller(spec.sizes, spec.run_id, spec.name, topic, partition, sizes)
        self._urn, self._key_chance = spec.urn_of(topic), random.Random(f"{name}/keys")  # noqa: S311
        self.scheduled: Scheduled | None = None

    @property
    def in_flight(self) -> int:
        return self.sent - self.reported

    @property
    def done(self) -> bool:
        return self.total is not None and self.sent >= self.total

    def fill(self, count: int, now_us: int) -> tuple[Block, list[dict[str, Any]]]:
        randoms = array("I", self._chance.randbytes(4 * count))
        texts = None if self._texts is None else self._texts[self.sent : self.sent + count]
        values, crcs = self._filler.block(self.sent, randoms, now_us, texts=texts)
        block = Block(self.number, self.sent, now_us, crcs, randoms)
        if self.scheduled is not None:
            block.due_us = self.scheduled.times_us(self, count, now_us)
        if self._urn is not None:
            block.keys = self._urn.draw(self.partition, count, self._key_chance)
        messages = self._messages(values, block)
        self.sent += count
        return block, messages

    def _messages(self, values: list[bytes], block: Block) -> list[dict[str, Any]]:
        if block.keys is not None:
            keys = (key_of(number, self._prefix) for number in block.keys)
        elif self._keys:
            keys = (self._keys[seq % len(self._keys)] for seq in range(block.seq_from, block.seq_from + len(block)))
        else:
            return [{"value": value} for value in values]
        return [{"key": k, "value": None if self._tombstones else v} for k, v in zip(keys, values, strict=True)]

    def seq_of(self, message: Message) -> int:
        """Of a tombstone, whose report has nothing but the key to be known by."""
        return self._places[message.key() or b""]


class Pace:
    """How many records a partition may send by now. After a stall it makes up for a second at most."""

    def __init__(self, per_s: float | None) -> None:
        self._per_s = per_s
        self._began_s = time.monotonic()
        self._given_up: dict[int, float] = {}  # lane -> records that were due and are not made up for

    def due(self, lane: Lane) -> int | None:
        if self._per_s is None:
            return None
        given_up = self._given_up.get(lane.number, 0.0)
        behind = (time.monotonic() - self._began_s) * self._per_s - given_up - lane.sent
        most = max(1.0, self._per_s * BEHIND_S)
        if behind > most:
            self._given_up[lane.number] = given_up + behind - most
        return int(min(behind, most))


class Scheduled:
    """Stages on the run's own clock, from the moment this is made. What could not go out in time stays due."""

    def __init__(self, spec: ProducerSpec, lanes: list[Lane], clock: Clock) -> None:
        schedule = Schedule(spec.shape or [])
        self._now_us, self._began_us = clock.now_us, clock.now_us()
        self._due = {
            lane.number: Due(schedule, spec.weight(lane.topic, lane.partition), lane.number / len(lanes))
            for lane in lanes
        }
        self._lanes = lanes
        for lane in lanes:
            lane.scheduled = self

    def due(self, lane: Lane) -> int:
        return self._due[lane.number].count((self._now_us() - self._began_us) / US) - lane.sent

    def times_us(self, lane: Lane, count: int, now_us: int) -> array[int]:
        """When the next so many are due. None was sent before its time, whatever the last bit of a float says."""
        when, began_us = self._due[lane.number].when, self._began_us
        return array("q", [min(now_us, began_us + int(when(n) * US)) for n in range(lane.sent, lane.sent + count)])

    def wait_s(self) -> float:
        """Until the next record is due, within bounds."""
        at_s = min((self._due[x.number].when(x.sent) for x in self._lanes if not x.done), default=0.0)
        return min(TICK_S, max(SHORTEST_TICK_S, at_s - (self._now_us() - self._began_us) / US))


class Rolls:
    """So many records, then a wait, and again."""

    def __init__(self, pace: Pace, lanes: list[Lane], records: int, wait_s: float) -> None:
        self._pace, self._lanes, self._records, self._wait_s = pace, lanes, records, wait_s
        self._end = records
        self._until_s: float | None = None
        self._share = max(1, records // len(lanes))

    def due(self, lane: Lane) -> int | None:
        left = self._end - sum(one.sent for one in self._lanes)
        if left <= 0:
            now_s = time.monotonic()
            self._until_s = self._until_s or now_s + self._wait_s
            if now_s < self._until_s:
                return 0
            self._until_s, left = None, self._records
            self._end += self._records
        due = self._pace.due(lane)
        return min(left, self._share) if due is None else min(left, self._share, due)


class Sending:
    """Sends what a spec asks for. `reserve` must have made a block safe before it returns."""

    def __init__(
        self,
        spec: ProducerSpec,
        clock: Clock,
        reserve: Callable[[Block], None],
        lanes: list[tuple[str, int]] | None = None,
    ) -> None:
        self._spec, self._clock, self._reserve = spec, clock, reserve
        chosen = spec.lanes if lanes is None else lanes
        texts = dealt(spec.sample, spec.seed, spec.count, spec.topics, spec.deal) if spec.sample else {}
        self.lanes = [
            Lane(number, *lane, spec, spec.share(*lane), texts.get(lane)) for number, lane in enumerate(chosen)
        ]
        parts = [spec.weight(lane.topic, lane.partition) for lane in self.lanes]
        self._room = [max(spec.block_records, int(spec.waiting_records * part / sum(parts) + 1e-6)) for part in parts]
        flat_out = spec.records_per_s is None and spec.shape is None and spec.roll_records is None
        self._batch = batch_records(spec) if flat_out and spec.idempotent else None
        self.hooks = Hooks() if spec.hooks else None
        self._finished: deque[Block] = deque()
        self._open: dict[tuple[int, int, int], Block] = {}
        self._fatal: str | None = None
        self.errors: deque[str] = deque(maxlen=100)
        self.failed: Counter[str] = Counter()
        """Reports of records that are not acknowledged, by the client's word for the reason."""
        heard: dict[str, Any] = {"error_cb": self._on_error} | (self.hooks.settings if self.hooks else {})
        # As many as are handed over at once are a whole batch: it need not wait for linger to see whether more come.
        whole = {} if self._batch is None else whole_batches(spec, min(self._batch, spec.block_records))
        self._producer = Producer({**for_producer(spec, sum(self._room), whole), **heard}, logger=SILENT)

    @property
    def in_flight(self) -> int:
        return sum(lane.in_flight for lane in self.lanes)

    def acked(self) -> dict[str, int]:
        return {f"{lane.topic}-{lane.partition}": lane.acked for lane in self.lanes}

    def run(
        self,
        ended: Callable[[], bool],
        idle: Callable[[], None] = lambda: None,
        *,
        alone: Callable[[], bool] = lambda: False,
    ) -> Iterator[Block]:
        """Blocks as soon as all of their reports are there; at the end those that were left without."""
        pace = self._pace()
        flat_out = self._spec.records_per_s is None and self._spec.shape is None
        wait_s = pace.wait_s if isinstance(pace, Scheduled) else lambda: TICK_S
        while not ended() and self._fatal is None and not all(lane.done for lane in self.lanes):
            busy = sum(self._send(lane, pace.due(lane)) for lane in self.lanes)
            self._producer.poll(0 if busy and flat_out else wait_s())
            yield from self._take_finished()
            idle()
        yield from self._finish(idle, alone)
        if self._fatal is not None:
            raise KastellanError(
                "The producer cannot go on.",
                details=self._fatal,
                resolution="See the error; what was sent until then is in the ledger.",
            )

    def _pace(self) -> Pace | Rolls | Scheduled:
        spec = self._spec
        if spec.shape is not None:
            return Scheduled(spec, self.lanes, self._clock)
        plain = Pace(None if spec.records_per_s is None else spec.records_per_s / len(self.lanes))
        if spec.roll_records is None:
            return plain
        return Rolls(plain, self.lanes, spec.roll_records, spec.roll_wait_ms / 1000)

    def _finish(self, idle: Callable[[], None], alone: Callable[[], bool]) -> Iterator[Block]:
        began_s = time.monotonic()

        def may_wait() -> bool:
            # Of a run that died nobody waits until a dead broker is back.
            patience_s = min(self._spec.flush_s, ALONE_S) if alone() else self._spec.flush_s
            return time.monotonic() - began_s < patience_s

        # Linger does not count any more once somebody waits: flush tells librdkafka so.
        while self.in_flight and may_wait():
            self._producer.flush(0.1)
            yield from self._take_finished()
            idle()
        yield from self._take_finished()
        yield from self._open.values()
        if self.hooks is not None:
            self._last_look(self.hooks)

    def _last_look(self, hooks: Hooks) -> None:
        """The client's figures come from time to time: those from before the end would lack the last records."""
        sent, until_s = sum(lane.sent for lane in self.lanes), time.monotonic() + LAST_LOOK_S
        while hooks.last.get("txmsgs", 0) < sent and time.monotonic() < until_s:
            self._producer.poll(TICK_S)

    def _take_finished(self) -> Iterator[Block]:
        while self._finished:
            yield self._finished.popleft()

    def _send(self, lane: Lane, due: int | None) -> int:
        """One block at most, so that every partition has its turn."""
        count = min(self._spec.block_records, self._room[lane.number] - lane.in_flight)
        if due is not None:
            count = min(count, due)
        elif self._batch is not None:
            count = 0 if lane.in_flight else min(count, self._batch)
        elif count < self._spec.block_records // 2:
            return 0  # many small blocks would cost more than waiting for room
        if lane.total is not None:
            count = min(count, lane.total - lane.sent)
        if count <= 0:
            return 0
        block, messages = lane.fill(count, self._clock.now_us())
        self._open[block.name] = block
        self._reserve(block)
        report = self._reporter(lane, block)
        if self.hooks is not None:
            self.hooks.on_send(lane.topic, lane.partition, [message["value"] for message in messages])
            report = self.hooks.around(report)
        queued = self._producer.produce_batch(lane.topic, messages, partition=lane.partition, on_delivery=report)
        if queued != len(messages):
            self._not_queued(lane, block, messages)
        return count

    def _reporter(self, lane: Lane, block: Block) -> Callable[[KafkaError | None, Message], None]:
        offsets, dones, now_us, seq_from = block.offsets, block.dones_us, self._clock.now_us, block.seq_from
        start, end, as_int = SEQ.start, SEQ.end, int.from_bytes

        def report(error: KafkaError | None, message: Message) -> None:
            value = message.value()
            place = (lane.seq_of(message) if value is None else as_int(value[start:end])) - seq_from
            if error is None:
                offset = message.offset()
                offsets[place] = -1 if offset is None else offset
                lane.acked += 1
            else:
                self._failed(block, place, error.name())
            dones[place] = now_us()
            lane.reported += 1
            block.missing -= 1
            if not block.missing:
                self._finished.append(self._open.pop(block.name))

        return report

    def _failed(self, block: Block, place: int, error: str) -> None:
        outcome = classify(error, idempotent=self._spec.idempotent, retries=self._spec.retries)
        assert outcome != ACKED  # noqa: S101  an error is never an acknowledgement
        block.failures[place] = (error, outcome)
        self.failed[error] += 1

    def _not_queued(self, lane: Lane, block: Block, messages: list[dict[str, Any]]) -> None:
        """The client itself turned records away: there will be no report for these."""
        for place, message in enumerate(messages):
            if "_error" in message:
                self._failed(block, place, message["_error"].name())
                block.dones_us[place] = self._clock.now_us()
                lane.reported += 1
                block.missing -= 1
        if not block.missing:
            self._finished.append(self._open.pop(block.name))

    def _on_error(self, error: KafkaError) -> None:
        self.errors.append(f"{error.name()}: {error.str()}")
        if error.fatal():
            self._fatal = f"{error.name()}: {error.str()}"
