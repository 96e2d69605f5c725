"""When each record is due: stages of a load, laid out once on an absolute time line, so that nothing drifts.

A record that could not go out in time stays due. How late it was is part of its latency, not of its schedule.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from dataclasses import dataclass
from itertools import accumulate

US = 1_000_000


@dataclass(frozen=True)
class Stage:
    """`records_per_s` over all partitions, changing evenly to `to_per_s`; with `burst` so many come at one moment."""

    for_s: float
    records_per_s: float
    to_per_s: float | None = None
    burst: int | None = None

    @property
    def last_per_s(self) -> float:
        return self.records_per_s if self.to_per_s is None else self.to_per_s

    @property
    def records(self) -> float:
        return self.for_s * (self.records_per_s + self.last_per_s) / 2

    def slower(self, parts: int) -> Stage:
        """One of so many equal parts of it."""
        to = None if self.to_per_s is None else self.to_per_s / parts
        burst = None if self.burst is None else max(1, round(self.burst / parts))
        return Stage(self.for_s, self.records_per_s / parts, to, burst)

    def after(self) -> Stage:
        """What goes on when the last stage is over: its last rate."""
        return Stage(math.inf, self.last_per_s, None, self.burst)

    def count(self, at_s: float) -> float:
        """Records that fall due within its first so many seconds."""
        if self.to_per_s is None:
            smooth = self.records_per_s * at_s
        else:
            smooth = at_s * (self.records_per_s + (self.to_per_s - self.records_per_s) * at_s / self.for_s / 2)
        if self.burst is None:
            return smooth
        return min(self.records, self.burst * (math.floor(smooth / self.burst + 1e-9) + 1))

    def when(self, count: float) -> float:
        """The moment at which `count` reaches so many."""
        if self.burst is not None:
            count = max(0.0, self.burst * (math.ceil(count / self.burst - 1e-9) - 1))
        if self.to_per_s is None:
            return count / self.records_per_s
        steep = (self.to_per_s - self.records_per_s) / self.for_s
        root = math.sqrt(max(0.0, self.records_per_s**2 + 2 * steep * count))
        return 2 * count / (self.records_per_s + root) if count else 0.0


class Schedule:
    """Stages in a row; the last one's last rate goes on. Counts are of all partitions, and need not be whole."""

    def __init__(self, stages: list[Stage]) -> None:
        self.length_s = sum(stage.for_s for stage in stages)
        self._stages = [*stages, stages[-1].after()]
        self._begin_s = [0.0, *accumulate(stage.for_s for stage in stages)]
        self._before = [0.0, *accumulate(stage.records for stage in stages)]

    def count(self, at_s: float) -> float:
        place = bisect_right(self._begin_s, at_s) - 1
        return self._before[place] + self._stages[place].count(at_s - self._begin_s[place])

    def when(self, count: float) -> float:
        place = 0
        while count > self._before[place] and place + 1 < len(self._stages) and count > self._before[place + 1]:
            place += 1
        return self._begin_s[place] + self._stages[place].when(count - self._before[place])


class Due:
    """One partition's part of a schedule. `phase` (0..1) keeps partitions with equal parts from going in step."""

    def __init__(self, schedule: Schedule, weight: float, phase: float) -> None:
        self._schedule, self._weight, self._phase = schedule, weight, phase

    def count(self, at_s: float) -> int:
        return math.floor(self._weight * self._schedule.count(at_s) + self._phase + 1e-9)

    def when(self, number: int) -> float:
        """The second at which record `number`, counted from 0, is due."""
        return self._schedule.when((number + 1 - self._phase) / self._weight)
