"""A member of a group: takes records up, works on them, commits as it was told, and keeps a ledger of all three."""

from __future__ import annotations

import os
import signal
import time
from typing import TYPE_CHECKING, Any

from confluent_kafka import Consumer, KafkaException, TopicPartition

from common.errors import KastellanError
from validate.workload import entries
from validate.workload.choice import Choice
from validate.workload.settings import SILENT, for_consumer
from validate.workload.spec import STICKY
from validate.workload.sticky import Sticky
from validate.workload.value import names_of, origin, text_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from confluent_kafka import KafkaError, Message

    from validate.workload.home import Home
    from validate.workload.spec import ConsumerSpec

Place = tuple[str, int]
ASK_TIMEOUT_S = 10.0
# Refusals of a group that asking again does not change.
NEVER = frozenset({"INVALID_SESSION_TIMEOUT", "INVALID_GROUP_ID", "GROUP_AUTHORIZATION_FAILED"})
# And one that may: a dead member with another assignment counts until its session is over.
UNLIKE, GRACE_S = "INCONSISTENT_GROUP_PROTOCOL", 5.0


class Member:
    def __init__(self, spec: ConsumerSpec, home: Home) -> None:
        self._spec, self._home = spec, home
        self._append, self._clock = home.journal.append, home.clock
        self._gathered: list[Message] = []
        self._next: dict[Place, int] = {}  # worked on, not yet committed: the offset to read next
        self._started: set[Place] = set()
        self._mine: set[Place] = set()
        self._commits = self._position = self._uncommitted = 0
        self._committed_s = self._busy_s = time.monotonic()
        self.texts: list[str] = []
        """What the records said that it took up, if it is to draw them."""
        self.assignment = 0
        self.delivered: dict[str, int] = {}
        self.errors: list[str] = []
        self._quit = False
        self._fatal: str | None = None
        self._unlike_s: float | None = None
        heard: dict[str, Any] = {"error_cb": self._on_error}
        if spec.commit == "auto":
            heard["on_commit"] = self._committed_by_itself
        sticky = spec.assignment == STICKY
        self._consumer: Any = Sticky(spec) if sticky else Consumer({**for_consumer(spec), **heard}, logger=SILENT)
        chosen: Any = self._consumer  # of the two only librdkafka's is asked for what it reads by its own choice
        self._choice = Choice(spec, chosen, self._append)

    def run(self, ended: Callable[[], bool], idle: Callable[[], None]) -> None:
        self._begin()
        while not ended() and not self._enough() and self._fatal is None:
            if self._choice.step(self._position):
                self.assignment += 1
            self._gather()
            worked = bool(self._gathered)
            self._busy_s = time.monotonic() if worked else self._busy_s
            _wait(self._spec.fetched_wait_ms * worked)
            while self._gathered and not self._quit:
                self._work(self._chunk())
            _wait(self._spec.batch_wait_ms * worked)
            self._commit_if_due()
            idle()
        if self._spec.commit == "after":
            self._commit(self._next)
        self._consumer.close()
        if self._fatal is not None:
            raise KastellanError(
                "The consumer cannot go on.",
                details=self._fatal,
                resolution="See the error; what it took up until then is in the ledger.",
            )

    def _begin(self) -> None:
        if self._spec.places is None:
            topics = [topic.name for topic in self._spec.topics]
            self._consumer.subscribe(topics, on_assign=self._assigned, on_revoke=self._revoked, on_lost=self._lost)
            return
        self._choice.begin()
        self.assignment, self._mine = 1, set(self._choice.places)
        self._tell("assigned", self._mine)

    def _enough(self) -> bool:
        idle = self._spec.idle_s is not None and time.monotonic() - self._busy_s > self._spec.idle_s
        done = self._spec.count is not None and self._position >= self._spec.count
        return self._quit or idle or done

    def _gather(self) -> None:
        """Up to a batch. A rebalance happens within poll: what was fetched before it and is not ours any more goes."""
        timeout_s = self._spec.poll_ms / 1000
        most = min(self._spec.batch, self._choice.room(self._position))
        if self._spec.count is not None:
            most = min(most, self._spec.count - self._position)
        while len(self._gathered) < most:
            message = self._consumer.poll(timeout_s)
            if message is None:
                return
            error = message.error()
            if error is not None:
                self._on_error(error)
                return
            self._gathered.append(message)
            timeout_s = 0.0

    def _chunk(self) -> list[Message]:
        """What is taken up at once: as much as is committed at once, or one by one where work costs time."""
        size = 1 if self._spec.work_ms and self._spec.commit != "before" else self._spec.commit_every
        if self._spec.crash_after is not None and self._spec.commit != "before":
            size = min(size, max(1, self._spec.crash_after - self._position))
        chunk, self._gathered = self._gathered[:size], self._gathered[size:]
        return chunk

    def _work(self, chunk: list[Message]) -> None:
        if self._spec.commit == "before":
            self._commit({_place(m): (m.offset() or 0) + 1 for m in chunk})
        # Where the commit runs ahead, the crash comes in the middle of what it covers.
        ahead = self._spec.commit == "before" and self._spec.crash_after is not None
        one_by_one = self._spec.work_ms or ahead or self._spec.obey or self._spec.show_bytes is not None
        step = 1 if one_by_one else len(chunk)
        for first in range(0, len(chunk), step):
            self._take_up(chunk[first : first + step])
            if self._quit:
                break
        if self._spec.commit == "after" and self._uncommitted >= self._spec.commit_every:
            self._commit(self._next)

    def _take_up(self, messages: list[Message]) -> None:
        """The ledger knows of it before the work begins, and so before any commit of it."""
        self._append(entries.taken(self.assignment, self._position, self._clock.now_us(), messages))
        self._position += len(messages)
        self._uncommitted += len(messages)
        for message in messages:
            place = _place(message)
            self._next[place] = (message.offset() or 0) + 1
            name = f"{place[0]}-{place[1]}"
            self.delivered[name] = self.delivered.get(name, 0) + 1
        if self._spec.draw is not None:
            self.texts += [text_of(message.value() or b"") for message in messages]
        if self._spec.crash_after is not None and self._position >= self._spec.crash_after:
            os.kill(os.getpid(), signal.SIGKILL)
        _wait(self._spec.work_ms)  # the work itself: this is what a record costs
        if self._spec.show_bytes is not None:
            self._show(messages[0], self._spec.show_bytes)
        if self._spec.obey:
            self._obey(messages[0].value())

    def _show(self, message: Message, size: int) -> None:
        value = message.value() or b""
        names, seq = origin(value)
        topic, partition = _place(message)
        self._home.signs.say(
            "record", topic=topic, partition=partition, offset=message.offset(),
            sender=names_of(names)[1], seq=seq, value=value[:size].decode("ascii", errors="replace"),
        )  # fmt: skip

    def _obey(self, value: bytes | None) -> None:
        if value == b"quit":
            self._quit = True
        elif value == b"crash":
            os.kill(os.getpid(), signal.SIGKILL)
        elif value == b"wait":
            _wait(self._spec.obey_wait_ms)

    def _committed_by_itself(self, error: KafkaError | None, partitions: list[TopicPartition]) -> None:
        """librdkafka's own commits are heard of when they are answered."""
        places = [[p.topic, p.partition, p.offset] for p in partitions if p.offset >= 0]
        if not places:
            return
        self._commits += 1
        names = [why.name() if (why := p.error or error) else None for p in partitions if p.offset >= 0]
        now_us = self._clock.now_us()
        self._append(entries.entry(entries.COMMIT, self._commits, self.assignment, now_us, places))
        self._append(entries.entry(entries.COMMITTED, self._commits, now_us, names))

    def _commit_if_due(self) -> None:
        waited_ms = (time.monotonic() - self._committed_s) * 1000
        if self._spec.commit == "after" and waited_ms >= self._spec.commit_interval_ms:
            self._commit(self._next)

    def _commit(self, offsets: dict[Place, int]) -> None:
        """Asked for in the journal first; only a clear yes counts as acked."""
        self._committed_s, self._uncommitted = time.monotonic(), 0
        if not offsets:
            return
        places = [[*place, offset] for place, offset in offsets.items()]
        self._commits += 1
        number = self._commits
        self._append(entries.entry(entries.COMMIT, number, self.assignment, self._clock.now_us(), places))
        wanted = [TopicPartition(topic, partition, offset) for (topic, partition), offset in offsets.items()]
        errors: list[str | None]
        try:
            found = self._consumer.commit(offsets=wanted, asynchronous=False) or []
            said = {(f.topic, f.partition): f.error.name() if f.error else None for f in found}
            errors = [said.get(place, "_NO_ANSWER") for place in offsets]
        except KafkaException as error:
            errors = [error.args[0].name()] * len(wanted)
            self.errors.append(f"commit: {error.args[0].str()}")
        self._append(entries.entry(entries.COMMITTED, number, self._clock.now_us(), errors))
        if offsets is self._next:
            self._next = {p: n for (p, n), error in zip(offsets.items(), errors, strict=True) if error}

    def _assigned(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        self.assignment += 1
        self._unlike_s = None
        self._mine |= {(p.topic, p.partition) for p in partitions}
        self._note_starts(consumer, [p for p in partitions if (p.topic, p.partition) not in self._started])
        self._tell("assigned", {(p.topic, p.partition) for p in partitions})

    def _note_starts(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        """Where the group begins: what is committed, else where a group without commits is told to start.

        Without an answer there is no row, and the judge takes the lowest offset delivered.
        """
        starts = []
        try:
            for one in consumer.committed(partitions, timeout=ASK_TIMEOUT_S) if partitions else []:
                offset = one.offset
                if offset < 0:
                    low, high = consumer.get_watermark_offsets(one, timeout=ASK_TIMEOUT_S) or (None, None)
                    offset = low if self._spec.start == "earliest" else high
                if offset is not None:
                    starts.append([one.topic, one.partition, offset])
                    self._started.add((one.topic, one.partition))
        except KafkaException as error:
            self.errors.append(f"first position: {error.args[0].str()}")
        if starts:
            self._append(entries.entry(entries.STARTS, starts))

    def _revoked(self, _: Consumer, partitions: list[TopicPartition]) -> None:
        gone = {(p.topic, p.partition) for p in partitions}
        if self._spec.commit == "after" and self._spec.commit_on_revoke:
            self._commit({place: offset for place, offset in self._next.items() if place in gone})
        self._give_up(gone)

    def _lost(self, _: Consumer, partitions: list[TopicPartition]) -> None:
        """Somebody else may have them already: a commit would be for what is not ours."""
        self._give_up({(p.topic, p.partition) for p in partitions})

    def _give_up(self, gone: set[Place]) -> None:
        self.assignment += 1
        self._gathered = [m for m in self._gathered if _place(m) not in gone]
        self._next = {place: offset for place, offset in self._next.items() if place not in gone}
        self._mine -= gone
        self._tell("revoked", gone)

    def _tell(self, event: str, which: set[Place]) -> None:
        self._home.signs.say(event, assignment=self.assignment, partitions=_names(which), owned=_names(self._mine))

    def _on_error(self, error: KafkaError) -> None:
        self.errors = [*self.errors[-99:], f"{error.name()}: {error.str()}"]
        if error.fatal() or error.name() in NEVER or (error.name() == UNLIKE and self._waited_enough()):
            self._fatal = self.errors[-1]

    def _waited_enough(self) -> bool:
        self._unlike_s = self._unlike_s or time.monotonic()
        return time.monotonic() - self._unlike_s > self._spec.session_timeout_ms / 1000 + GRACE_S


def _wait(wait_ms: float) -> None:
    if wait_ms:
        time.sleep(wait_ms / 1000)


def _place(message: Message) -> Place:
    return message.topic() or "", message.partition() or 0


def _names(places: set[Place]) -> list[str]:
    return sorted(f"{topic}-{partition}" for topic, partition in places)
