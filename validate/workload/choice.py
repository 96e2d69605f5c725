"""What a member reads by its own choice: which partitions, from where, and which it leaves alone for a while."""

from __future__ import annotations

from typing import TYPE_CHECKING

from confluent_kafka import TopicPartition

from validate.workload import entries

if TYPE_CHECKING:
    from collections.abc import Callable

    from confluent_kafka import Consumer

    from validate.workload.spec import ConsumerSpec

Place = tuple[str, int]
ASK_TIMEOUT_S = 30.0
MANY = 1 << 62


class Choice:
    """Steps at numbers of deliveries: a batch ends where a step begins, so each falls between two records."""

    def __init__(self, spec: ConsumerSpec, consumer: Consumer, append: Callable[[bytes], None]) -> None:
        self._spec, self._consumer, self._append = spec, consumer, append
        self.places = [place_of(one) for one in spec.places or []]
        self._steps: list[tuple[int, Callable[[], bool]]] = []
        if spec.rewind_after is not None:
            self._steps.append((spec.rewind_after, self._rewind))
        if spec.hold is not None:
            held = [TopicPartition(*place_of(spec.hold))]
            self._steps += [(spec.hold_after, lambda: self._pause(held)), (spec.hold_until, lambda: self._resume(held))]
        self._steps.sort(key=lambda step: step[0])

    def begin(self) -> None:
        starts = [(*place, self._start(place)) for place in self.places]
        self._append(entries.entry(entries.STARTS, starts))
        self._consumer.assign([TopicPartition(*start) for start in starts])

    def _start(self, place: Place) -> int:
        wanted = TopicPartition(*place)
        low, high = self._consumer.get_watermark_offsets(wanted, timeout=ASK_TIMEOUT_S)
        if self._spec.begin == "time":
            wanted.offset = self._spec.begin_ms or 0
            found = self._consumer.offsets_for_times([wanted], timeout=ASK_TIMEOUT_S)[0].offset
            return int(high if found < 0 else found)
        if self._spec.begin == "committed":
            found = self._consumer.committed([wanted], timeout=ASK_TIMEOUT_S)[0].offset
            return int(found if found >= 0 else low if self._spec.start == "earliest" else high)
        return int(low)

    def room(self, position: int) -> int:
        """How many records may be taken up before something is to be done."""
        return self._steps[0][0] - position if self._steps else MANY

    def step(self, position: int) -> bool:
        """Do what is due; whether the positions are new ones."""
        moved = False
        while self._steps and self._steps[0][0] <= position:
            moved = self._steps.pop(0)[1]() or moved
        return moved

    def _rewind(self) -> bool:
        low = [self._consumer.get_watermark_offsets(TopicPartition(*p), timeout=ASK_TIMEOUT_S)[0] for p in self.places]
        self._consumer.assign([TopicPartition(*p, offset) for p, offset in zip(self.places, low, strict=True)])
        return True

    def _pause(self, held: list[TopicPartition]) -> bool:
        self._consumer.pause(held)
        return False

    def _resume(self, held: list[TopicPartition]) -> bool:
        self._consumer.resume(held)
        return False


def place_of(text: str) -> Place:
    topic, _, partition = text.rpartition("/")
    return topic, int(partition)
