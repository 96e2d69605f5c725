"""Workloads as processes: started with a spec, watched by their signs of life, ended in order."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any

from common.errors import KastellanError
from common.wait import wait_until
from validate.run.folder import ROOT
from validate.run.room import Room

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path

READY_S = 60.0
END_S = 330.0  # a producer may wait out its delivery time-out
SILENT_S = 30.0
HEARD_S = 5.0
LAST_LINES = 6


class WorkloadDied(KastellanError):
    """What it would have shown is not known."""

    exit_code = 2


@dataclass
class Workload:
    """One process. `facts` is the last that it told of itself."""

    kind: str
    name: str
    process: subprocess.Popen[str]
    log: Path
    ready: threading.Event = field(default_factory=threading.Event)
    done: threading.Event = field(default_factory=threading.Event)
    facts: dict[str, Any] = field(default_factory=dict)
    ready_s: float = 0.0
    told_s: float = 0.0
    words: str = ""
    """Why it ended, by its own word."""
    closed: threading.Event = field(default_factory=threading.Event)
    doomed: bool = False
    """Whether it is to die by SIGKILL: its own, or the runner's."""
    owned: list[str] = field(default_factory=list)
    """Of a member of a group: the partitions that it said to have."""
    owned_at: datetime | None = None
    on_record: Callable[[dict[str, Any]], None] | None = None
    """Called with each record that it shows."""

    def listen(self) -> None:
        for line in self.process.stdout or ():
            try:
                told = json.loads(line)
            except ValueError:
                continue
            event = told.get("event")
            if event == "ready":
                self.ready_s = time.monotonic()
                self.ready.set()
            elif event in {"progress", "done"}:
                self.facts, self.told_s = told, time.monotonic()
                if event == "done":
                    self.done.set()
            elif event == "failed":
                self.words = str(told["words"])
            elif event == "record" and self.on_record:
                self.on_record(told)
            elif event in {"assigned", "revoked"}:
                self.owned_at = datetime.fromisoformat(told["at"])
                self.owned = told["owned"]
        self.closed.set()

    def kill(self) -> None:
        """SIGKILL, to it and to what it has started: it is the first of a session of its own."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    @property
    def worked_s(self) -> float:
        """From when it was ready to its last word: neither its start nor its end counts."""
        return max(0.0, self.told_s - self.ready_s) if self.ready.is_set() else 0.0

    @property
    def killed(self) -> bool:
        return self.process.poll() == -signal.SIGKILL

    @property
    def ended_badly(self) -> str | None:
        """Why it is no longer there although nobody asked it to end."""
        code = self.process.poll()
        # Its last word may still be on its way when it is gone.
        if code is None or (code == 0 and self.done.wait(HEARD_S)) or (self.doomed and self.killed):
            return None
        try:
            text = self.log.read_text(encoding="utf-8", errors="replace").strip()
        except OSError:
            text = ""
        if not text and code > 0:
            self.closed.wait(HEARD_S)
            text = self.words  # there was no room for a log
        words = text.splitlines()[-LAST_LINES:]
        how = f"signal {-code}" if code < 0 else f"exit code {code}"
        return f"{self.kind} {self.name} died with {how}: {' | '.join(words) or 'without a word'}"


class Workloads:
    """All processes of one scenario."""

    def __init__(self, ledger: Path, logs: Path, shared: dict[str, Any]) -> None:
        self._ledger, self._logs, self._shared = ledger, logs, shared
        self._room = Room(ledger)
        self.all: list[Workload] = []

    def start(self, kind: str, name: str, **more: Any) -> Workload:
        # Beside the logs: it holds a password, and the ledger may be shared with other machines.
        spec = self._logs / f"spec-{self._ledger.name}-{name}.json"
        content = json.dumps({**self._shared, "name": name, "ledger": str(self._ledger), **more})
        descriptor = os.open(spec, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(content)
        log = self._logs / f"{self._ledger.name}-{name}.log"
        with log.open("w", encoding="utf-8") as words:
            # A session of its own: Ctrl-C is for the runner, which then ends them in order.
            process = subprocess.Popen(
                [sys.executable, "-m", "validate.workload", kind, str(spec)],
                cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=words, text=True,
                start_new_session=True,
            )  # fmt: skip
        made = Workload(kind, name, process, log)
        self.all.append(made)
        threading.Thread(target=made.listen, daemon=True).start()
        return made

    def await_ready(self) -> None:
        waiting = list(self.all)

        def ready() -> bool:
            waiting[:] = [one for one in waiting if not one.ready.is_set()]
            self.check()
            return not waiting

        if not wait_until(ready, timeout_s=READY_S):
            names = ", ".join(one.name for one in waiting)
            raise WorkloadDied(f"Not ready after {READY_S:.0f} s: {names}.", details=f"Their words: {self._logs}.")

    def check(self) -> None:
        """One that ended by itself makes the run worthless; one whose ledger lacks room is to end before that."""
        for one in self.all:
            if told := one.ended_badly:
                raise WorkloadDied(f"A workload died: {told}.")
        self._room.check()

    @property
    def all_well(self) -> bool:
        """Each of them runs, or ended as it was asked to."""
        return not any(one.ended_badly for one in self.all)

    def of(self, *kinds: str) -> list[Workload]:
        return [one for one in self.all if one.kind in kinds]

    def acked(self) -> dict[str, int]:
        """Records acked per partition so far, by all producers."""
        total: dict[str, int] = {}
        for one in self.of("producer"):
            for name, count in one.facts.get("acked", {}).items():
                total[name] = total.get(name, 0) + count
        return total

    def sent(self) -> int:
        """What the producers have handed over so far, heard of or not."""
        waiting: int = sum(one.facts.get("in_flight", 0) for one in self.of("producer"))
        return sum(self.acked().values()) + waiting

    def in_flight(self, since_s: float) -> int:
        """What the producers had sent and not heard of, by their words since then; what they said before is history."""
        return sum(one.facts.get("in_flight", 0) for one in self.of("producer") if one.told_s >= since_s)

    def end(self, which: Iterable[Workload], *, bound_s: float = END_S) -> list[str]:
        """Ask to end in order and wait; returns what went wrong, in words. Who does not end is killed.

        That goes for those as well that were gone before they were asked.
        """
        told: list[str] = []
        ending = list(which)
        asked = [one for one in ending if one.process.poll() is None]
        for one in asked:
            with contextlib.suppress(ProcessLookupError):
                one.process.send_signal(signal.SIGTERM)
        for one in asked:
            try:
                one.process.wait(bound_s)
            except subprocess.TimeoutExpired:
                one.kill()
                told.append(f"{one.kind} {one.name} did not end within {bound_s:.0f} s and was killed")
        for one in ending:
            if one.process.returncode == 0:
                one.done.wait(5)  # its last words are read by another thread
            if (problem := one.ended_badly) and not any(one.name in words for words in told):
                told.append(problem)
        return told

    def kill(self) -> None:
        """The last way out: nobody is left behind."""
        for one in self.all:
            if one.process.poll() is None:
                one.kill()
        for spec in self._logs.glob(f"spec-{self._ledger.name}-*.json"):
            spec.unlink(missing_ok=True)


def lagging(workloads: Sequence[Workload]) -> list[str]:
    """For a message: what each said last."""
    return [f"{one.name}: {one.facts or 'nothing yet'}" for one in workloads]
