"""Stores what it makes of records and how far it came in one transaction of a database, as a process."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import TYPE_CHECKING, Any

from confluent_kafka import Consumer, TopicPartition

from validate.workload import entries
from validate.workload.database import FILE, Database
from validate.workload.home import Home
from validate.workload.settings import SILENT, for_consumer

if TYPE_CHECKING:
    from collections.abc import Callable

    from confluent_kafka import KafkaError, Message

    from validate.workload.spec import StorerSpec


def run(spec: StorerSpec) -> None:
    facts = {"group": spec.group, "member": spec.name, "isolation": spec.isolation, "clock": spec.clock}
    home = Home(spec, facts)
    storing = Storing(spec, home)
    home.signs.say("ready")
    storing.run(home.signs.ended, lambda: home.signs.progress(lambda: {"delivered": storing.next}))
    home.done(delivered=storing.next, errors=storing.errors[-5:])


class Storing:
    """Alone: the database says where to begin, no group is asked."""

    def __init__(self, spec: StorerSpec, home: Home) -> None:
        self._spec, self._home = spec, home
        self._append, self._now_us = home.journal.append, home.clock.now_us
        self._database = Database(Path(spec.ledger) / FILE, spec.group)
        self._number = self._position = 0
        self.next: dict[str, int] = {}
        """How far it came, by what is in the database."""
        self.errors: list[str] = []
        self._consumer = Consumer({**for_consumer(spec), "error_cb": self._on_error}, logger=SILENT)

    def run(self, ended: Callable[[], bool], idle: Callable[[], None]) -> None:
        stored = self._database.offsets()
        places = [(t.name, p) for t in self._spec.topics for p in range(t.partitions)]
        starts = [(topic, partition, stored.get((topic, partition), 0)) for topic, partition in places]
        self._append(entries.entry(entries.STARTS, starts))
        self.next = {f"{topic}-{partition}": offset for topic, partition, offset in starts}
        self._consumer.assign([TopicPartition(topic, partition, offset) for topic, partition, offset in starts])
        while not ended():
            if batch := self._gather():
                self._store(batch)
            idle()
        self._consumer.close()
        self._database.close()

    def _gather(self) -> list[Message]:
        found: list[Message] = self._consumer.consume(self._spec.batch, self._spec.poll_ms / 1000)
        for message in found:
            if (error := message.error()) is not None:
                self._on_error(error)
        return [message for message in found if message.error() is None]

    def _store(self, batch: list[Message]) -> None:
        self._number += 1
        self._die_at("begin")
        self._append(entries.taken(1, self._position, self._now_us(), batch))
        self._position += len(batch)
        offsets = {(m.topic() or "", m.partition() or 0): (m.offset() or 0) + 1 for m in batch}
        listed = [[*place, offset] for place, offset in offsets.items()]
        self._database.store(batch, offsets)
        self._append(entries.entry(entries.COMMIT, self._number, 1, self._now_us(), listed))
        self._die_at("stored")
        self._database.commit()
        self._die_at("committed")
        self._append(entries.entry(entries.COMMITTED, self._number, self._now_us(), [None] * len(listed)))
        self.next |= {f"{topic}-{partition}": offset for (topic, partition), offset in offsets.items()}

    def _die_at(self, stage: str) -> None:
        if (self._spec.crash_at, self._spec.crash_after) == (stage, self._number):
            os.kill(os.getpid(), signal.SIGKILL)

    def _on_error(self, error: KafkaError) -> Any:
        self.errors = [*self.errors[-99:], f"{error.name()}: {error.str()}"]
