"""The workload of a scenario while it runs: who writes, reads and looks, and how far they have come."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from common.errors import KastellanError
from common.wait import wait_until
from validate.admin import Admin
from validate.faults.ledger import iso
from validate.run.folder import Phase
from validate.run.processes import END_S, Workloads

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from validate.run.context import Context
    from validate.scenario import Scenario
    from validate.workplace import Workplace

# Counters come twice a second, the judge counts by the microsecond: waiting for more than it asks closes the gap.
MARGIN = 1.5
EVERY_S = 0.2
DELIVERY_MS = 300_000
HOPELESS_S = 30.0
NOT_ASKED = -1
PROBE_INTERVAL_MS = {"fresh": 1000, "running": 500}
PROBE_TIMEOUT_MS = 3_000


class Load:
    def __init__(self, context: Context, scenario: Scenario, place: Workplace, ledger: Path, group: str) -> None:
        self._context, self._scenario, self.place, self._group = context, scenario, place, group
        topics = [{"name": topic.name, "partitions": topic.partitions} for topic in scenario.topics]
        shared = context.shared_spec(place.settings, topics)
        self.workloads = Workloads(ledger, context.folder.folder("logs"), shared)
        self.phases: list[Phase] = []
        self.slow_readers = False
        """Whether they still came nearer to the end when nobody waited any longer."""

    def start(self) -> None:
        load = self._scenario.workload
        for number in range(load.consumers):
            self.workloads.start("consumer", f"reader-{number + 1}", group=self._group, **load.consumer)
        for number in range(load.producers):
            self.workloads.start(
                "producer",
                f"writer-{number + 1}",
                **load.share(load.producers),
                flush_s=DELIVERY_MS / 1000,
                seed=self._context.folder.seed,
                **{"delivery_timeout_ms": DELIVERY_MS, **load.sending},
            )
        if load.probes:
            for witness in ("fresh", "running"):
                # The fresh witness logs in many times a second, which must not starve what it looks at.
                login = self.place.cheap if witness == "fresh" else self.place.settings
                every_ms = PROBE_INTERVAL_MS[witness]
                self.workloads.start(
                    "probe", witness, witness=witness, client=login, interval_ms=every_ms, timeout_ms=PROBE_TIMEOUT_MS
                )
        self.workloads.await_ready()

    def everywhere(self) -> list[str]:
        return [f"{topic.name}-{index}" for topic in self._scenario.topics for index in range(topic.partitions)]

    def caught(self, since_s: float) -> bool:
        """Whether as many sends hang as are to be in flight when a fault bites."""
        return self.workloads.in_flight(since_s) >= self._scenario.progress["in_flight_at_bite"] * MARGIN

    def phase(
        self, name: str, needed: Iterable[str], *, since: tuple[float, dict[str, int]] | None = None
    ) -> list[str]:
        """Stay until the phase is long enough and the needed partitions acked enough; returns who did not in time."""
        began_s, counts = since or self.mark()
        least, length_s = self._scenario.progress["acked_per_partition"], self._scenario.progress["phase_s"]
        if not self._scenario.disturbs:
            length_s = max(length_s, self._scenario.workload.shape_s)
        wanted = list(needed)
        behind: list[str] = []

        def enough() -> bool:
            self.workloads.check()
            now = self.workloads.acked()
            behind[:] = [one for one in wanted if now.get(one, 0) - counts.get(one, 0) < least * MARGIN]
            return not behind and time.monotonic() - began_s >= length_s * 1.1

        wait_until(enough, timeout_s=self._scenario.bounds["phase_s"] + length_s, every_s=EVERY_S)
        self.note(name, began_s, counts)
        return [
            f"{one} acked {self.workloads.acked().get(one, 0) - counts.get(one, 0)} records in phase {name}, "
            f"wanted were {least}"
            for one in behind
        ]

    def mark(self) -> tuple[float, dict[str, int]]:
        return time.monotonic(), dict(self.workloads.acked())

    def note(self, name: str, began_s: float, counts: dict[str, int]) -> None:
        """A phase for run.json; several stretches of one name become one."""
        now = self.workloads.acked()
        gained = {one: now.get(one, 0) - counts.get(one, 0) for one in self.everywhere()}
        ended = self._context.clock.now()
        began = ended.timestamp() - (time.monotonic() - began_s)
        if self.phases and self.phases[-1].name == name:
            last = self.phases[-1]
            total = {one: last.acked_per_partition.get(one, 0) + count for one, count in gained.items()}
            self.phases[-1] = Phase(name, last.began_at, iso(ended), total)
            return
        self.phases.append(Phase(name, iso(ended.fromtimestamp(began, tz=ended.tzinfo)), iso(ended), gained))

    def reach(self, count: int) -> list[str]:
        """Go on until so many were sent in all; returns what is lacking."""

        def sent() -> bool:
            self.workloads.check()
            return self.workloads.sent() >= count

        if wait_until(sent, timeout_s=self._scenario.bounds["load_s"], every_s=EVERY_S):
            return []
        return [f"{self.workloads.sent():,} records were sent, wanted were {count:,}"]

    def finish(self, *, hopeless: bool = False) -> list[str]:
        """Writers first, then witnesses, then readers once they have read to the end.

        `hopeless`: the cluster did not come back, so nobody waits long for it.
        """
        told = self.workloads.end(self.workloads.of("producer"), bound_s=HOPELESS_S if hopeless else END_S)
        told += self.workloads.end(self.workloads.of("probe"))
        readers = self.workloads.of("consumer")
        if readers:
            told += [] if hopeless else self._catch_up()
            told += self.workloads.end(readers)
        return told

    def _catch_up(self) -> list[str]:
        # A client that was there before the faults remembers the epochs of leaders that are gone.
        admin = Admin(self._context.cluster)
        bound_s = self._scenario.bounds["catch_up_s"]
        began_s, lags = time.monotonic(), [(0.0, NOT_ASKED)]
        errors: list[str] = []

        def caught_up() -> bool:
            try:
                lags.append((time.monotonic() - began_s, admin.behind(self._group, self._scenario.topics)))
            except KastellanError as error:
                errors[:] = [str(error)]
                return False
            return lags[-1][1] == 0

        if wait_until(caught_up, timeout_s=bound_s, every_s=0.5):
            return []
        # Who stands still is stuck, and what it did not read speaks against the cluster; who is slow is only slow.
        left = lags[-1][1]
        self.slow_readers = any(0 <= left < lag for at_s, lag in lags if at_s >= bound_s / 2)
        why = f"; {errors[0]}" if errors else ""
        how = ", and still read on" if self.slow_readers else ""
        return [f"group {self._group} was still {left} records behind after {bound_s:.0f} s{how}{why}"]
