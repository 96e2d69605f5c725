"""Plays the acts of a scenario: records first, then members of groups that start, die and take over from each other."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from common.errors import KastellanError
from common.wait import wait_until
from validate import counting, quotas
from validate.act import NO_MEMBERS
from validate.admin import LEAST_SESSION
from validate.run.expected import group_of
from validate.run.load import DELIVERY_MS
from validate.run.processes import READY_S, Workloads

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime
    from pathlib import Path

    from validate.act import Act
    from validate.run.context import Context
    from validate.run.folder import Entry
    from validate.run.processes import Workload
    from validate.scenario import Scenario
    from validate.workplace import Workplace


USUAL_MS = 6000  # group.min.session.timeout.ms unless it is set


class NotMade(KastellanError):
    """The situation that a scenario is about did not come about: nothing is known of it."""

    exit_code = 2


class Acts:
    def __init__(
        self, context: Context, scenario: Scenario, entry: Entry, place: Workplace, ledger: Path, group: str
    ) -> None:
        self._context, self._scenario, self._entry, self._group = context, scenario, entry, group
        topics = [{"name": topic.name, "partitions": topic.partitions} for topic in scenario.topics]
        shared, self._client = context.shared_spec(place.settings, topics), place.settings
        self.workloads = Workloads(ledger, context.folder.folder("logs"), shared)
        self._members: dict[str, Workload] = {}
        self._ended_at: dict[str, datetime] = {}
        self._marks: dict[str, datetime] = {}
        self._quotas: list[str] = []

    def play(self) -> None:
        self._require_sessions()
        self._write()
        for act in self._scenario.acts:
            self.workloads.check()
            {
                "start": self._start, "kill": self._kill, "stop": self._stop, "await": self._await, "mark": self._mark,
                "quota": self._quota,
            }[act.verb](act)  # fmt: skip

    def _require_sessions(self) -> None:
        """Only where one is shorter than a broker's usual least is it asked: strangers' clusters need not tell."""
        shared = self._scenario.workload.consumer
        members = [one for one in self._scenario.acts if one.verb == "start" and one.kind not in NO_MEMBERS]
        sessions = [{**shared, **one.settings}.get("session_timeout_ms", USUAL_MS) for one in members]
        asked_ms = min(sessions, default=USUAL_MS)
        if asked_ms >= USUAL_MS:
            return
        least_ms = self._context.admin.least_session_ms()
        if asked_ms < least_ms:
            raise NotMade(
                f"Brokers allow no session below {least_ms} ms; this scenario has one of {asked_ms} ms.",
                details=f"{LEAST_SESSION} forbids it (kafka_config in the inventory; docs/how-to/labs.md).",
            )

    def finish(self) -> list[str]:
        return self.workloads.end(self.workloads.all)

    def _write(self) -> None:
        """All records are there before the first member: what it meets does not depend on who is faster."""
        load = self._scenario.workload
        if not load.count:
            return
        writer = self.workloads.start(
            "producer", "writer", **{**self._sending(), "topics": self._inputs(), "count": load.count}
        )  # fmt: skip
        if not self._within(writer.done.is_set, self._scenario.bounds["load_s"]):
            raise NotMade(f"The records were not written within {self._scenario.bounds['load_s']:.0f} s.")
        self._say(f"{sum(writer.facts.get('acked', {}).values()):,} records written")

    def _sending(self) -> dict[str, Any]:
        load = self._scenario.workload
        return {
            "value_bytes": load.value_bytes,
            "seed": self._context.folder.seed,
            "delivery_timeout_ms": DELIVERY_MS,
            **load.sending,
        }

    def _start(self, act: Act) -> None:
        if act.kind == "producer":
            settings = {**self._sending(), "topics": self._inputs(), **act.settings}
        elif act.kind == "pipeline":
            settings = {**act.settings}
        else:
            settings = {"group": group_of(self._group, act.group), **self._scenario.workload.consumer, **act.settings}
        if act.at is not None:
            settings["begin_ms"] = int(self._marks[act.at].timestamp() * 1000)
        made = self.workloads.start(act.kind, act.who, **settings)
        made.doomed = settings.get("crash_after") is not None
        self._members[act.who] = made
        if not self._within(made.ready.is_set, READY_S):
            raise NotMade(f"{act.who} was not ready after {READY_S:.0f} s.")

    def _inputs(self) -> list[dict[str, Any]]:
        return [{"name": topic.name, "partitions": topic.partitions} for topic in self._scenario.inputs]

    def _mark(self, act: Act) -> None:
        self._marks[act.who] = self._context.clock.now()

    def _quota(self, act: Act) -> None:
        self._quotas.append(act.who)
        quotas.set_quota(self._administrator(), act.who, float(act.count))

    def undo(self) -> None:
        """Quotas go, however it ended."""
        while self._quotas:
            quotas.set_quota(self._administrator(), self._quotas.pop(), None)

    def _administrator(self) -> dict[str, Any]:
        return self._context.cluster.client(self._context.cluster.admin_user)

    def _kill(self, act: Act) -> None:
        victim = self._members[act.who]
        victim.doomed = True
        victim.kill()
        self._ended(act.who, "was killed")

    def _stop(self, act: Act) -> None:
        told = self.workloads.end([self._members[act.who]])
        if told:
            raise NotMade(told[0])
        self._ended(act.who, "ended in order")

    def _ended(self, who: str, how: str) -> None:
        self._ended_at[who] = self._context.clock.now()
        self._say(f"{who} {how}")

    def _await(self, act: Act) -> None:
        bound_s = self._scenario.bounds["act_s"]
        conditions = {
            "died": lambda: self._members[act.who].killed,
            "done": self._members[act.who].done.is_set if act.who in self._members else lambda: False,
            "delivered": lambda: self._delivered(act.who) >= act.count,
            "owns": lambda: len(self._members[act.who].owned) == act.count,
            "caught-up": lambda: self._behind(act.group) == 0,
            "holds": lambda: self._holds(act.who).records <= act.count,
            "keys": lambda: self._holds(act.who).keys <= act.count,
        }
        if not self._within(conditions[act.what], bound_s):
            raise NotMade(f"{' '.join((act.who, act.what, str(act.count or ''))).strip()}: not within {bound_s:.0f} s.")
        if act.what == "died":
            self._ended(act.who, "died by SIGKILL of its own hand")
        elif act.what == "owns" and act.since:
            self._note_since(act)

    def _note_since(self, act: Act) -> None:
        taken_at, ended_at = self._members[act.who].owned_at, self._ended_at.get(act.since or "")
        if taken_at is None or ended_at is None:
            raise NotMade(f"When {act.who} took over from {act.since} was not seen.")
        took_s = (taken_at - ended_at).total_seconds()
        told = f"{act.who} had {act.count} partitions {took_s:.1f} s after {act.since} was gone."
        self._entry.notes.append(told)
        self._say(told)

    def _within(self, condition: Callable[[], bool], bound_s: float) -> bool:
        def met() -> bool:
            self.workloads.check()
            return condition()

        return wait_until(met, timeout_s=bound_s)

    def _delivered(self, who: str) -> int:
        return sum(self._members[who].facts.get("delivered", {}).values())

    def _behind(self, suffix: str) -> int:
        try:
            return self._context.admin.behind(group_of(self._group, suffix), self._scenario.inputs)
        except KastellanError:
            return -1  # asked again until the bound

    def _holds(self, topic: str) -> counting.Held:
        """What can still be read of it."""
        shape = self._scenario.topic(topic)
        try:
            return counting.holds(self._client, topic, shape.partitions)
        except KastellanError:
            return counting.Held(sys.maxsize, sys.maxsize)  # asked again until the bound

    def _say(self, text: str) -> None:
        self._context.folder.say(f"  {text}")
