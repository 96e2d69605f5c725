"""The faults of a scenario in time: choose who is hit, break, hold, heal, wait until all is whole, rest."""

from __future__ import annotations

import contextlib
import os
import random
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from common.errors import KastellanError
from common.wait import wait_until
from validate.admin import OFFSETS_TOPIC
from validate.faults.errors import NotHealed
from validate.faults.inject import Field, broken
from validate.run import changes
from validate.run.expected import Expectation, Forecast, blocked_groups, forecast
from validate.run.targets import choose

if TYPE_CHECKING:
    from datetime import datetime

    from validate.admin import Partition
    from validate.cluster import Host
    from validate.faults.ledger import FaultLedger
    from validate.run.context import Context
    from validate.run.folder import Entry
    from validate.run.load import Load
    from validate.scenario import Scenario, Step


@dataclass(frozen=True)
class Window:
    """The time in which a fault lasted for certain, and what was foreseen for it."""

    since: datetime
    until: datetime
    foreseen: Forecast
    alive: frozenset[tuple[str, int]]
    """Partitions that keep a leader, so that a single-shot write gets an answer."""
    down: frozenset[int] = frozenset()
    """Brokers that were hit."""


@dataclass
class Story:
    context: Context
    scenario: Scenario
    entry: Entry
    load: Load
    ledger: FaultLedger
    expectation: Expectation
    windows: list[Window] = field(default_factory=list)

    def play(self) -> None:
        """All steps. The phase `during` lasts from the first bite to the last healing."""
        # Twins share the draw as well: the one setting is all that differs between them.
        drawn_for = self.scenario.twin.of if self.scenario.twin else self.scenario.id
        chance = random.Random(f"{self.context.folder.seed}/{drawn_for}")  # noqa: S311  to be repeatable
        steps = [step for step in self.scenario.steps for _ in range(step.times)]
        if self.scenario.mix:
            times, of = self.scenario.mix
            steps += [chance.choice(of) for _ in range(times)]
        left = list(enumerate(steps, 1))
        while left:
            number, step = left.pop(0)
            if len(steps) > 1:
                self.context.folder.say(f"  fault {number} of {len(steps)}: {step.name}")
            if step.overlaps:
                step = self._both(step, left.pop(0)[1], chance)
            else:
                self._step(step, chance)
            self.await_whole()
            if self.scenario.expect.unchangeable:
                bound_s = self.scenario.bounds["in_sync_s"]
                self._settle(changes.possible_again(self.load.place, bound_s, self.entry.notes))
            if left:
                self._rest(step.rest_s)

    def _step(self, step: Step, chance: random.Random) -> None:
        partitions = self._partitions()
        admin, cluster = self.context.admin, self.context.cluster
        hosts = choose(cluster, step, partitions, admin, self.expectation.group, chance)
        controller = admin.controller()
        foreseen = forecast(cluster, step, hosts, partitions)
        self.expectation.add(step, hosts, foreseen, controller)
        self._tell(step, hosts, foreseen, controller)
        since = self.load.mark()
        if step.operation is not None:
            self._operate(step)
            self.load.note("during", *since)
            return
        place = Field(cluster, self.ledger, self.context.record, say=self._say, felt=self.load.caught)
        with broken(place, step.fault or "", hosts, step.options, in_turn=step.in_turn) as bite:
            self._hold(step, foreseen)
            if self.scenario.expect.unchangeable:
                self._settle(changes.refused(self.load.place, self.entry.notes))
            down = frozenset(host.node_id for host in hosts if host.node_id is not None)
            alive = frozenset((p.topic, p.index) for p in partitions if set(p.in_sync) - down)
            self.windows.append(Window(bite.last_at, self.context.clock.now(), foreseen, alive, down))
        self.load.note("during", *since)

    def _both(self, first: Step, second: Step, chance: random.Random) -> Step:
        """The second falls while the first lasts; the first is healed before it. Returns the second."""
        before = self._partitions()
        admin, cluster = self.context.admin, self.context.cluster
        early = choose(cluster, first, before, admin, self.expectation.group, chance)
        away = {host.node_id for host in early}
        left = [replace(p, in_sync=tuple(node for node in p.in_sync if node not in away)) for p in before]
        late = choose(cluster, second, left, admin, self.expectation.group, chance)
        controller = admin.controller()
        for step, hosts in ((first, early), (second, late)):
            self.expectation.add(step, hosts, forecast(cluster, step, hosts, before), controller)
        both = [*early, *(host for host in late if host not in early)]
        foreseen = forecast(cluster, second, both, before)
        self._tell(second, both, foreseen, controller)
        since = self.load.mark()
        place = Field(cluster, self.ledger, self.context.record, say=self._say, felt=self.load.caught)
        with contextlib.ExitStack() as outer:
            outer.enter_context(broken(place, first.fault or "", early, first.options, in_turn=first.in_turn))
            self._await_sent(first.sent)
            with broken(place, second.fault or "", late, second.options, in_turn=second.in_turn) as bite:
                self._stay(first)
                down = {host.node_id for host in both}
                alive = frozenset((p.topic, p.index) for p in before if set(p.in_sync) - down)
                self.windows.append(Window(bite.last_at, self.context.clock.now(), foreseen, alive))
                outer.close()
                self._resume(second, forecast(cluster, second, late, before), foreseen)
                self._stay(second)
        self.load.note("during", *since)
        return second

    def _await_sent(self, count: int) -> None:
        """The next fault finds records that were sent since this one: so many, by what the writers say."""
        before = self.load.workloads.sent()

        def sent() -> bool:
            self.load.workloads.check()
            return self.load.workloads.sent() - before >= count

        if not wait_until(sent, timeout_s=self.scenario.bounds["phase_s"]):
            raise KastellanError(f"Fewer than {count} records were sent between the two faults.")

    def _resume(self, step: Step, now: Forecast, before: Forecast) -> None:
        """Partitions that could not serve, and can since the first is healed, must go on although the second lasts."""
        names = [f"{topic}-{index}" for topic, index in sorted(now.serving & before.silent)]
        if not self.scenario.expect.silent or not names:
            return
        began_s, counts = self.load.mark()

        def resumed() -> bool:
            self.load.workloads.check()
            acked = self.load.workloads.acked()
            return all(acked.get(one, 0) > counts.get(one, 0) for one in names)

        bound_s = self.scenario.bounds["phase_s"]
        if not wait_until(resumed, timeout_s=bound_s):
            self.entry.settle("failed", f"{', '.join(names)} acked nothing {bound_s:.0f} s after one was back")
            return
        told = f"{', '.join(names)} went on {time.monotonic() - began_s:.1f} s after one was back, {step.name} lasting."
        self.entry.notes.append(told)
        self._say(told)

    def _partitions(self) -> list[Partition]:
        names = [topic.name for topic in self.scenario.topics]
        least = self.context.admin.min_in_sync(names)
        return [replace(p, min_in_sync=least[p.topic]) for p in self.context.admin.partitions(names)]

    def _tell(self, step: Step, hosts: list[Host], foreseen: Forecast, controller: int) -> None:
        notes = list(foreseen.notes) if hosts else []
        if any(host.node_id == controller for host in hosts):
            notes.append("The active controller is among them.")
        if self.scenario.workload.consumers and step.fault and step.options.get("cut") != "clients":
            down = {host.node_id for host in hosts if host.node_id is not None}
            offsets = self.context.admin.partitions([OFFSETS_TOPIC])
            least = self.context.admin.min_in_sync([OFFSETS_TOPIC])[OFFSETS_TOPIC] if offsets else 1
            homes = [replace(p, min_in_sync=least) for p in offsets]
            notes += blocked_groups([self.expectation.group], homes, down)
        for note in notes:
            self._say(note)
            if note not in self.entry.notes:
                self.entry.notes.append(note)

    def _hold(self, step: Step, foreseen: Forecast) -> None:
        """As long as the scenario says, and until those who must serve have shown it; workloads must live."""
        since = self.load.mark()
        self._stay(step)
        if len(self.expectation.forecasts) > 1 or len(self.scenario.all_steps) > 1 or step.times > 1:
            return  # judged over all steps together, with the rests between them
        least = self.scenario.progress["acked_per_partition"] * 1.5
        names = [f"{topic}-{index}" for topic, index in foreseen.serving]

        def served() -> bool:
            self.load.workloads.check()
            now = self.load.workloads.acked()
            return all(now.get(one, 0) - since[1].get(one, 0) >= least for one in names)

        if not wait_until(served, timeout_s=self.scenario.bounds["phase_s"], every_s=0.2):
            self._say("not every partition that should serve has acked enough; the judge will say")

    def _stay(self, step: Step) -> None:
        until_s = time.monotonic() + step.hold_s(self.context.cluster.timeouts.session_s)

        def over() -> bool:
            self.load.workloads.check()
            return time.monotonic() >= until_s

        wait_until(over, timeout_s=until_s - time.monotonic() + 5, every_s=0.2)

    def await_whole(self) -> None:
        """Every replica back in sync, every broker there, the quorum caught up. NotHealed if that takes too long."""
        began_s = time.monotonic()
        lacking: list[str] = []

        def whole() -> bool:
            self.load.workloads.check()
            lacking[:] = self.context.admin.not_whole()
            return not lacking

        bound_s = self.scenario.bounds["in_sync_s"]
        if not wait_until(whole, timeout_s=bound_s, every_s=0.5):
            raise NotHealed(
                f"The cluster is not whole {bound_s:.0f} s after healing.",
                details="; ".join(lacking[:8]),
                resolution="python -m validate heal, then look at the named brokers.",
            )
        self._say(f"every replica in sync {time.monotonic() - began_s:.1f} s after healing")

    def _rest(self, rest_s: float) -> None:
        since = self.load.mark()

        def over() -> bool:
            self.load.workloads.check()
            return time.monotonic() - since[0] >= rest_s

        wait_until(over, timeout_s=rest_s + 5, every_s=0.2)
        self.load.note("during", *since)

    def _operate(self, step: Step) -> None:
        """A command of the cluster's own, such as the rolling restart; it bites when the first broker is away."""
        name = step.operation or ""
        operation = self.context.cluster.operations.get(name)
        if operation is None:
            raise KastellanError(f"cluster.json names no operation {name!r}.")
        path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)])
        program = shutil.which(operation.argv[0], path=path) or operation.argv[0]
        everybody = {host.node_id for host in self.context.cluster.brokers}
        self.ledger.write(name, "all", "begin")
        log = self.context.folder.folder("logs") / f"{self.scenario.id}-{name}.log"
        with log.open("w", encoding="utf-8") as out:
            process = subprocess.Popen(
                [program, *operation.argv[1:]], cwd=operation.cwd, env={**os.environ, "PATH": path},
                stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT, start_new_session=True,
            )  # fmt: skip
            try:
                self._follow(step, process, everybody)
            finally:
                if process.poll() is None:
                    process.terminate()
                    process.wait(60)
        self.ledger.write(name, "all", "healed", f"ended with exit code {process.returncode}")
        if process.returncode != 0:
            tail = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()[-6:]
            raise NotHealed(f"{name} ended with exit code {process.returncode}.", details="\n".join(tail))

    def _follow(self, step: Step, process: subprocess.Popen[bytes], everybody: set[int | None]) -> None:
        bitten = [False]

        def ended() -> bool:
            self.load.workloads.check()
            if not bitten[0] and (away := everybody - self._seen_brokers(everybody)):
                bitten[0] = True
                self.ledger.write(step.operation or "", "all", "bit", f"broker {min(n or 0 for n in away)} is away")
            return process.poll() is not None

        if not wait_until(ended, timeout_s=step.bound_s, every_s=0.2):
            raise NotHealed(f"{step.operation} has not ended after {step.bound_s:.0f} s.")
        if not bitten[0]:
            raise KastellanError(f"{step.operation} ended and no broker was seen to be away: it restarted nothing.")

    def _seen_brokers(self, default: set[int | None]) -> set[int | None]:
        try:
            return set(self.context.admin.brokers(timeout_s=2))
        except KastellanError:
            return default

    def _settle(self, broken_promises: list[str]) -> None:
        for told in broken_promises:
            self.entry.settle("failed", told)

    def _say(self, text: str) -> None:
        self.context.folder.say(f"  {text}")
