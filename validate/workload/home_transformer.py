"""Reads, transforms and writes in transactions, as a process: inputs' offsets and outputs are committed as one."""

from __future__ import annotations

import os
import random
import signal
import threading
import time
from array import array
from typing import TYPE_CHECKING, Any

from confluent_kafka import Consumer, Producer, TopicPartition

from common.errors import KastellanError
from validate.workload import entries
from validate.workload.block import Block
from validate.workload.home import Home
from validate.workload.rows import Identity
from validate.workload.settings import SILENT, for_consumer, for_transformer
from validate.workload.value import Filler

if TYPE_CHECKING:
    from collections.abc import Callable

    from confluent_kafka import KafkaError, Message

    from validate.workload.spec import TransformerSpec

CALL_S = 60.0
MOST_DELAY_S = 0.03  # about what a commit takes: the death falls into it, or just behind it


def run(spec: TransformerSpec) -> None:
    identity = Identity(spec.run_id, spec.name, "all", idempotent=True, max_in_flight=5, clock=spec.clock)
    facts = {"group": spec.group, "member": spec.name, "isolation": spec.isolation, "sink": spec.sink}
    lanes = [(t.name, p) for t in spec.topics if t.name == spec.sink for p in range(t.partitions)]
    home = Home(spec, {**identity.as_json(), **facts, "transactional_id": spec.transactional_id, "lanes": lanes})
    transforming = Transforming(spec, home, len(lanes))
    home.signs.say("ready")
    transforming.run(
        home.signs.ended,
        lambda: home.signs.progress(lambda: {"delivered": transforming.delivered, "committed": transforming.committed}),
    )
    home.done(delivered=transforming.delivered, committed=transforming.committed, errors=transforming.errors[-5:])


class Transforming:
    def __init__(self, spec: TransformerSpec, home: Home, partitions: int) -> None:
        self._spec, self._home, self._partitions = spec, home, partitions
        self._append, self._now_us = home.journal.append, home.clock.now_us
        self._fillers = [Filler(spec.run_id, spec.name, spec.sink, p, spec.value_bytes) for p in range(partitions)]
        self._sent = [0] * partitions
        self._chance = random.Random(f"{spec.seed}/{spec.name}")  # noqa: S311  to be repeatable
        self._position = self._number = self._assignment = 0
        self.committed = 0
        self.delivered: dict[str, int] = {}
        self.errors: list[str] = []
        self._producer = Producer({**for_transformer(spec), "error_cb": self._on_error}, logger=SILENT)
        self._consumer = Consumer({**for_consumer(spec), "error_cb": self._on_error}, logger=SILENT)

    def run(self, ended: Callable[[], bool], idle: Callable[[], None]) -> None:
        # First of all: this ends what a dead predecessor left open, so that its offsets are decided.
        self._producer.init_transactions(CALL_S)
        self._consumer.subscribe([t.name for t in self._spec.inputs], on_assign=self._assigned)
        while not ended():
            if batch := self._gather():
                self._transact(batch)
            idle()
        self._consumer.close()

    def _assigned(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        """Where the group stands says how the transactions of dead predecessors ended: offsets are part of them."""
        self._assignment += 1
        found = [[p.topic, p.partition, max(0, p.offset)] for p in consumer.committed(partitions, timeout=CALL_S)]
        self._append(entries.entry(entries.FOUND, self._now_us(), found))
        names = sorted(f"{p.topic}-{p.partition}" for p in partitions)
        self._home.signs.say("assigned", assignment=self._assignment, partitions=names, owned=names)

    def _gather(self) -> list[Message]:
        batch: list[Message] = []
        timeout_s = self._spec.poll_ms / 1000
        while len(batch) < self._spec.batch:
            message = self._consumer.poll(timeout_s)
            if message is None:
                break
            error = message.error()
            if error is not None:
                self._on_error(error)
                break
            batch.append(message)
            timeout_s = 0.0
        return batch

    def _transact(self, batch: list[Message]) -> None:
        """One transaction. Whatever goes wrong in it ends this process: the next one begins at the last commit."""
        self._number += 1
        self._die_at("begin")
        self._producer.begin_transaction()
        self._append(entries.entry(entries.BEGUN, self._number, self._now_us()))
        self._append(entries.taken(self._assignment, self._position, self._now_us(), batch))
        self._position += len(batch)
        self._write(batch)
        self._die_at("sent")
        places = self._offer(batch)
        self._die_at("offsets")
        self._append(entries.entry(entries.ENDING, self._number, self._now_us()))
        if self._dies_at("commit"):
            threading.Thread(target=self._die_within_the_commit, daemon=True).start()
        self._producer.commit_transaction(CALL_S)
        self._append(entries.entry(entries.ENDED, self._number, self._now_us(), "committed"))
        self.committed += 1
        for topic, partition in places:
            name = f"{topic}-{partition}"
            self.delivered[name] = self.delivered.get(name, 0) + sum(
                (m.topic(), m.partition()) == (topic, partition) for m in batch
            )

    def _write(self, batch: list[Message]) -> None:
        """An output for every input, in the partition of the same number."""
        counts = [0] * self._partitions
        for message in batch:
            counts[(message.partition() or 0) % self._partitions] += 1
        blocks = [self._block(lane, count) for lane, count in enumerate(counts) if count]
        if self._producer.flush(CALL_S):
            raise KastellanError(f"Outputs of transaction {self._number} are not reported after {CALL_S:.0f} s.")
        for block in blocks:
            self._append(block.results())

    def _block(self, lane: int, count: int) -> Block:
        now_us = self._now_us()
        randoms = array("I", self._chance.randbytes(4 * count))
        values, crcs = self._fillers[lane].block(self._sent[lane], randoms, now_us)
        block = Block(lane, self._sent[lane], now_us, crcs, randoms)
        self._sent[lane] += count
        self._append(block.reservation())
        for place, value in enumerate(values):
            report = self._reporter(block, place)
            self._producer.produce(self._spec.sink, value, partition=lane, on_delivery=report)
        return block

    def _reporter(self, block: Block, place: int) -> Callable[[KafkaError | None, Message], None]:
        def report(error: KafkaError | None, message: Message) -> None:
            block.dones_us[place] = self._now_us()
            if error is None:
                block.offsets[place] = message.offset() or 0
            else:
                block.failures[place] = (error.name(), "unknown")

        return report

    def _offer(self, batch: list[Message]) -> dict[tuple[str, int], int]:
        """The offsets of the inputs become part of the transaction."""
        places = {(m.topic() or "", m.partition() or 0): (m.offset() or 0) + 1 for m in batch}
        listed = [[*place, offset] for place, offset in places.items()]
        self._append(entries.entry(entries.COMMIT, self._number, self._assignment, self._now_us(), listed))
        wanted = [TopicPartition(topic, partition, offset) for (topic, partition), offset in places.items()]
        self._producer.send_offsets_to_transaction(wanted, self._consumer.consumer_group_metadata(), CALL_S)
        self._append(entries.entry(entries.COMMITTED, self._number, self._now_us(), [None] * len(listed)))
        return places

    def _dies_at(self, stage: str) -> bool:
        return self._spec.crash_at == stage and self._number == self._spec.crash_after

    def _die_at(self, stage: str) -> None:
        if self._dies_at(stage):
            os.kill(os.getpid(), signal.SIGKILL)

    def _die_within_the_commit(self) -> None:
        """At a moment that the seed chooses: some commits are written by then, some are not."""
        time.sleep(self._chance.random() * MOST_DELAY_S)
        os.kill(os.getpid(), signal.SIGKILL)

    def _on_error(self, error: KafkaError) -> Any:
        self.errors = [*self.errors[-99:], f"{error.name()}: {error.str()}"]
