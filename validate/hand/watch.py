"""One client on the terminal: its counters live, what it shows of records, its end."""

from __future__ import annotations

import contextlib
import signal
import sys
import time
from typing import TYPE_CHECKING, Any, Self

from rich.console import Console
from rich.live import Live
from rich.text import Text

from common.errors import KastellanError
from validate.run.processes import HEARD_S, READY_S, Workloads

if TYPE_CHECKING:
    from collections.abc import Iterator

    from validate.hand.bench import Bench
    from validate.run.processes import Workload

LOOK_S = 0.25

WORDS = {"producer": "acked", "consumer": "delivered"}


def run(bench: Bench, kind: str, name: str, spec: dict[str, Any], *, crash_allowed: bool = False) -> dict[str, Any]:
    """Until it ends, or until Ctrl-C asks it to. Returns its last counters."""
    logs = bench.ledger / "logs"
    logs.mkdir(parents=True, exist_ok=True)
    workloads = Workloads(bench.ledger, logs, bench.spec(name))
    console = Console(highlight=False)
    try:
        one = workloads.start(kind, name, **spec)
        one.doomed = crash_allowed
        one.on_record = lambda told: _print(console, _record(told))
        with _asked_to_end() as asked:
            _watch(workloads, kind, one, asked, console)
        if problem := one.ended_badly:
            raise KastellanError(f"It ended badly: {problem.rstrip('.')}.")
        if one.killed:
            _print(
                console, f"{name} died by SIGKILL, as it was told to. What it did at the very last, the judge knows."
            )
    finally:
        workloads.kill()
    return one.facts


def _watch(workloads: Workloads, kind: str, one: Workload, asked: list[int], console: Console) -> None:
    began_s = time.monotonic()
    told = False
    with Live(console=console, refresh_per_second=4, transient=True) if sys.stdout.isatty() else _Plain() as live:
        while one.process.poll() is None:
            if asked and not told:
                told = True
                one.process.send_signal(signal.SIGTERM)
            if not one.ready.is_set() and time.monotonic() - began_s > READY_S:
                workloads.check()
                raise KastellanError(f"{one.name} was not ready after {READY_S:.0f} s.")
            live.update(Text(line_of(kind, one, one.worked_s), overflow="fold"))
            with contextlib.suppress(Exception):
                one.process.wait(LOOK_S)
        one.closed.wait(HEARD_S)  # what it said last may be on its way still
    one.owned_at = None  # what it had when it ended is somebody else's by now
    _print(console, line_of(kind, one, one.worked_s))


def _print(console: Console, line: str) -> None:
    """As one line, however wide the terminal is."""
    console.print(line, markup=False, soft_wrap=True)


class _Plain:
    """Where nobody watches, one line at the end is enough."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def update(self, _: Text) -> None:
        pass


def line_of(kind: str, one: Workload, took_s: float) -> str:
    """`writer-1  12,000 acked, 35 in flight, 812 a second  [one-0 6,000, one-1 6,000]`."""
    word, facts = WORDS[kind], one.facts
    counts: dict[str, int] = facts.get(word, {})
    total = sum(counts.values())
    waiting = f", {facts['in_flight']:,} in flight" if facts.get("in_flight") else ""
    failed = "".join(f", {count:,} {name}" for name, count in sorted(facts.get("failed", {}).items()))
    each = ", ".join(f"{place} {count:,}" for place, count in sorted(counts.items()))
    owned = f"  has {', '.join(one.owned) or 'none'}" if one.owned_at else ""
    errors = f"  last errors: {'; '.join(dict.fromkeys(facts['errors'][-2:]))}" if facts.get("errors") else ""
    per_s = total / took_s if took_s else 0
    return f"{one.name}  {total:,} {word}{waiting}{failed}, {per_s:,.0f} a second  [{each}]{owned}{errors}"


def _record(told: dict[str, Any]) -> str:
    sender = f"{told['sender']} #{told['seq']}  " if told.get("sender") else ""
    return f"{told['topic']}-{told['partition']}@{told['offset']}  {sender}{told['value']!r}"


@contextlib.contextmanager
def _asked_to_end() -> Iterator[list[int]]:
    """Ctrl-C and SIGTERM are for the client: it ends in order, its ledger is whole."""
    asked: list[int] = []
    before = {
        number: signal.signal(number, lambda got, _: asked.append(got)) for number in (signal.SIGINT, signal.SIGTERM)
    }
    try:
        yield asked
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
