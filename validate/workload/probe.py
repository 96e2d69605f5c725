"""Two witnesses of an outage: single shots that are not tried again, by clients that stay and by clients that are new.

A write is one record, acks=all, without idempotence and retries: where a broker refuses, its own answer is what is
noted. A read asks for the last record; a record or the end of the partition is an answer.
"""

from __future__ import annotations

import contextlib
import random
import threading
import time
from array import array
from typing import TYPE_CHECKING

from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition

from validate.workload import entries
from validate.workload.block import Block
from validate.workload.outcome import classify
from validate.workload.settings import COMMON, SILENT, never_again
from validate.workload.value import Filler

if TYPE_CHECKING:
    from collections.abc import Callable

    from confluent_kafka import Message

    from validate.workload.home import Home
    from validate.workload.spec import ProbeSpec

TAIL_1 = -2001  # librdkafka's name of the offset one before the end
POLL_S = 0.02
TIMED_OUT = "_TIMED_OUT"


class Notes:
    """Numbers, journal and tally, shared by the rounds of a witness."""

    def __init__(self, spec: ProbeSpec, home: Home) -> None:
        self.spec, self.clock = spec, home.clock
        self._append = home.journal.append
        self._fillers = [Filler(spec.run_id, spec.name, t, p, spec.value_bytes) for t, p in spec.lanes]
        self._chance = random.Random(f"{spec.seed}/{spec.name}")  # noqa: S311  to be repeatable
        self._seqs = [0] * len(spec.lanes)
        self._reads = 0
        self._lock = threading.Lock()
        self.tally: dict[str, dict[str, int]] = {"ok": {}, "failed": {}}

    def write(self, lane: int, at_us: int) -> tuple[Block, bytes]:
        with self._lock:
            seq = self._seqs[lane]
            self._seqs[lane] += 1
            randoms = array("I", self._chance.randbytes(4))
        values, crcs = self._fillers[lane].block(seq, randoms, at_us)
        block = Block(lane, seq, at_us, crcs, randoms)
        self._append(block.reservation())
        return block, values[0]

    def written(self, block: Block, error: str | None, offset: int | None) -> None:
        block.dones_us[0] = self.clock.now_us()
        if error is None:
            block.offsets[0] = -1 if offset is None else offset
        else:
            block.failures[0] = (error, classify(error, idempotent=False, retries=0))
        self._append(block.results())
        self._count("write", block.lane, error)

    def ask(self, lane: int, at_us: int) -> int:
        with self._lock:
            self._reads += 1
            number = self._reads
        self._append(entries.entry(entries.READ, number, lane, at_us))
        return number

    def answered(self, number: int, lane: int, error: str | None) -> None:
        self._append(entries.entry(entries.ANSWERED, number, self.clock.now_us(), error))
        self._count("read", lane, error)

    def _count(self, kind: str, lane: int, error: str | None) -> None:
        topic, partition = self.spec.lanes[lane]
        tally, name = self.tally["failed" if error else "ok"], f"{kind} {topic}-{partition}"
        with self._lock:
            tally[name] = tally.get(name, 0) + 1


class Writer:
    """Shots of one producer."""

    def __init__(self, notes: Notes) -> None:
        self._notes, self._lanes = notes, notes.spec.lanes
        self.outstanding = 0
        settings = {
            **COMMON,
            "acks": "all",
            "enable.idempotence": False,
            "message.send.max.retries": 0,
            **never_again(notes.spec.timeout_ms),
            "linger.ms": 0,
            "delivery.timeout.ms": notes.spec.timeout_ms,
            "request.timeout.ms": notes.spec.timeout_ms,
            "socket.timeout.ms": max(1000, notes.spec.timeout_ms),
            **notes.spec.client,
        }
        self._producer = Producer(settings, logger=SILENT)

    def shoot(self, at_us: int) -> None:
        for lane, (topic, partition) in enumerate(self._lanes):
            block, value = self._notes.write(lane, at_us)
            self.outstanding += 1
            try:
                self._producer.produce(topic, value, partition=partition, on_delivery=self._reporter(block))
            except (BufferError, KafkaException) as error:
                self._report(block, error.args[0].name(), None)

    def _reporter(self, block: Block) -> Callable[[KafkaError | None, Message], None]:
        return lambda error, message: self._report(block, error.name() if error else None, message.offset())

    def _report(self, block: Block, error: str | None, offset: int | None) -> None:
        self.outstanding -= 1
        self._notes.written(block, error, offset)

    def poll(self, timeout_s: float) -> None:
        self._producer.poll(timeout_s)


class Reader:
    """Looks at the last record of every partition, each on its own: one that is silent does not hold up the others."""

    def __init__(self, notes: Notes) -> None:
        self._notes, self._lanes = notes, notes.spec.lanes
        self._asked: dict[int, tuple[int, float]] = {}  # lane -> number of the read, when it is given up
        settings = {
            **COMMON,
            **notes.spec.client,
            "group.id": "kastellan-probe",  # never joined: partitions are taken by name
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "auto.offset.reset": "latest",
            "fetch.wait.max.ms": 50,
            "fetch.queue.backoff.ms": 10,
            "queued.min.messages": 1,
            "socket.timeout.ms": max(1000, notes.spec.timeout_ms),
        }
        self._consumer = Consumer(settings, logger=SILENT)
        self._numbers = {place: lane for lane, place in enumerate(self._lanes)}
        self._assigned = False
        self._silent: set[int] = set()  # lanes whose last look had no answer in time

    @property
    def outstanding(self) -> int:
        return len(self._asked)

    def look(self, at_us: int) -> None:
        deadline_s = time.monotonic() + self._notes.spec.timeout_ms / 1000
        idle = [lane for lane in range(len(self._lanes)) if lane not in self._asked]
        for lane in idle:
            self._asked[lane] = (self._notes.ask(lane, at_us), deadline_s)
        if not self._assigned:
            self._consumer.assign([TopicPartition(*place, TAIL_1) for place in self._lanes])
            self._assigned = True
            return
        for lane in idle:
            self._ask_again(lane)

    def _ask_again(self, lane: int) -> None:
        """A client may wait for ever for an offset it asked a leader that has died (docs/adr/0097): what was silent is
        taken anew, by the same client over the connections it has."""
        place = self._lanes[lane]
        try:
            if lane in self._silent:
                with contextlib.suppress(KafkaException):  # given back already, and taking it again failed
                    self._consumer.incremental_unassign([TopicPartition(*place)])
                self._consumer.incremental_assign([TopicPartition(*place, TAIL_1)])
                self._consumer.resume([TopicPartition(*place)])
                self._silent.remove(lane)
                return
            self._consumer.resume([TopicPartition(*place)])
            self._consumer.seek(TopicPartition(*place, TAIL_1))
        except KafkaException as error:
            self._answer(lane, error.args[0].name())

    def poll(self, timeout_s: float) -> None:
        message = self._consumer.poll(timeout_s)
        while message is not None:
            self._hear(message)
            message = self._consumer.poll(0)
        now_s = time.monotonic()
        for lane, (_, deadline_s) in list(self._asked.items()):
            if now_s >= deadline_s:
                self._silent.add(lane)
                self._answer(lane, TIMED_OUT)

    def _hear(self, message: Message) -> None:
        error = message.error()
        lane = self._numbers.get((message.topic() or "", -1 if message.partition() is None else message.partition()))  # type: ignore[arg-type]
        if lane is None:
            return  # about the client as a whole: whatever it means, the partitions' own time-outs tell
        end = error is not None and error.code() == KafkaError._PARTITION_EOF  # noqa: SLF001  the client's own name of it
        self._answer(lane, None if error is None or end else error.name())

    def _answer(self, lane: int, error: str | None) -> None:
        if lane in self._asked:
            number, _ = self._asked.pop(lane)
            self._notes.answered(number, lane, error)
            # Between two looks nothing is fetched: a witness that reads along with the load would be a load itself.
            with contextlib.suppress(KafkaException):
                self._consumer.pause([TopicPartition(*self._lanes[lane])])

    def close(self) -> None:
        self._consumer.close()
