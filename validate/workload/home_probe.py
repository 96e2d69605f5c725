"""A witness as a process: rounds of probes at a fixed interval, whatever became of the rounds before."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Any

from confluent_kafka import IsolationLevel, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.admin._listoffsets import OffsetSpec

from validate.workload import entries
from validate.workload.home import Home
from validate.workload.probe import POLL_S, Notes, Reader, Writer
from validate.workload.settings import COMMON, PATIENT, SILENT

if TYPE_CHECKING:
    from collections.abc import Callable

    from validate.workload.spec import ProbeSpec

MARKS_TIMEOUT_S = 2.0


def run(spec: ProbeSpec) -> None:
    home = Home(
        spec,
        {
            "run_id": spec.run_id,
            "producer": spec.name,
            "acks": "all",
            "idempotent": False,
            "max_in_flight": 1_000_000,
            "clock": spec.clock,
            "witness": spec.witness,
        },
    )
    notes = Notes(spec, home)
    home.signs.say("ready")

    def tell() -> None:
        home.signs.progress(lambda: {name: dict(counts) for name, counts in notes.tally.items()})

    (_running if spec.witness == "running" else _fresh)(notes, home, tell)
    home.done(**notes.tally)


class Beat:
    """When the next round is due; rounds that were missed are not made up for."""

    def __init__(self, interval_ms: int) -> None:
        self._interval_s = interval_ms / 1000
        self._next_s = time.monotonic()

    def due(self) -> bool:
        now_s = time.monotonic()
        if now_s < self._next_s:
            return False
        self._next_s = max(self._next_s + self._interval_s, now_s)
        return True


def _running(notes: Notes, home: Home, tell: Callable[[], None]) -> None:
    spec, beat = notes.spec, Beat(notes.spec.interval_ms)
    writer = Writer(notes) if "write" in spec.kinds else None
    reader = Reader(notes) if "read" in spec.kinds else None
    marks = Marks(spec, home)
    while not home.signs.ended():
        if beat.due():
            at_us = notes.clock.now_us()
            if writer is not None:
                writer.shoot(at_us)
            if reader is not None:
                reader.look(at_us)
            marks.ask()
        _serve(writer, reader)
        marks.take()
        tell()
    _finish(writer, reader, spec.flush_s)


def _fresh(notes: Notes, home: Home, tell: Callable[[], None]) -> None:
    """Every round in a thread of its own: one that waits for a dead broker must not delay the next."""
    beat = Beat(notes.spec.interval_ms)
    rounds: list[threading.Thread] = []
    # A round lives as long as its probes may take. More at once means that this machine is behind, not the cluster, and
    # still more of them would only keep it so.
    most = len(notes.spec.kinds) * (2 + notes.spec.timeout_ms // notes.spec.interval_ms)
    while not home.signs.ended():
        rounds = [one for one in rounds if one.is_alive()]
        if len(rounds) < most and beat.due():
            rounds += [threading.Thread(target=_round, args=(notes, kind), daemon=True) for kind in notes.spec.kinds]
            for one in rounds[-len(notes.spec.kinds) :]:
                one.start()
        time.sleep(POLL_S)  # between two looks at the clock
        tell()
    deadline_s = time.monotonic() + notes.spec.flush_s
    for one in rounds:
        one.join(max(0.0, deadline_s - time.monotonic()))


def _round(notes: Notes, kind: str) -> None:
    """The time a client needs to come up is part of the probe."""
    at_us = notes.clock.now_us()
    bound_s = notes.spec.timeout_ms / 1000 + 1.0
    if kind == "write":
        writer = Writer(notes)
        writer.shoot(at_us)
        _finish(writer, None, bound_s)
    else:
        reader = Reader(notes)
        reader.look(at_us)
        _finish(None, reader, bound_s)
        reader.close()


def _serve(writer: Writer | None, reader: Reader | None) -> None:
    if writer is not None:
        writer.poll(POLL_S if reader is None else 0)
    if reader is not None:
        reader.poll(POLL_S)


def _finish(writer: Writer | None, reader: Reader | None, timeout_s: float) -> None:
    deadline_s = time.monotonic() + timeout_s
    while any(one is not None and one.outstanding for one in (writer, reader)) and time.monotonic() < deadline_s:
        _serve(writer, reader)


class Marks:
    """High watermarks as one client sees them over time, by a request that never answers with an older one."""

    def __init__(self, spec: ProbeSpec, home: Home) -> None:
        self._lanes, self._append, self._clock = spec.lanes, home.journal.append, home.clock
        self._admin = AdminClient({**COMMON, **PATIENT, **spec.client}, logger=SILENT)
        self._asked: dict[Any, Any] = {}
        self._lane = {place: number for number, place in enumerate(self._lanes)}

    def ask(self) -> None:
        """One question at a time: answers of two could overtake each other."""
        if not self._asked:
            wanted = {TopicPartition(*place): OffsetSpec.latest() for place in self._lanes}  # type: ignore[no-untyped-call]
            self._asked = self._admin.list_offsets(
                wanted, isolation_level=IsolationLevel.READ_UNCOMMITTED, request_timeout=MARKS_TIMEOUT_S
            )

    def take(self) -> None:
        if not self._asked or not all(future.done() for future in self._asked.values()):
            return
        found = []
        for place, future in self._asked.items():
            try:
                high = future.result(timeout=0).offset
            except KafkaException:
                continue  # a partition without a leader has no watermark to tell
            if high >= 0:  # a leader that did not answer comes as -1001, without an error
                found.append([self._lane[place.topic, place.partition], high])
        self._asked = {}
        if found:
            self._append(entries.entry(entries.WATERMARKS, self._clock.now_us(), found))
