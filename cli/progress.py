"""What is being done and how long it takes: a live display on a terminal, a line at begin and end elsewhere."""

from __future__ import annotations

import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TaskID, TextColumn, TimeElapsedColumn

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


@dataclass(frozen=True)
class Task:
    title: str
    hint: str
    """What it does and how long it usually takes, shown while it runs."""
    work: Callable[[], str]
    """Returns a word on the outcome."""


# Which task's work a thread is doing, and where that is shown.
_TOLD: ContextVar[tuple[_Lines | _Live, Task] | None] = ContextVar("told", default=None)


def run_together(tasks: Sequence[Task]) -> None:
    """All tasks side by side; the first error comes out when all have ended."""
    display = _Live() if sys.stdout.isatty() else _Lines()
    with display, ThreadPoolExecutor(max_workers=max(len(tasks), 1)) as pool:
        futures = [pool.submit(_timed, task, display) for task in tasks]
    for future in futures:
        future.result()


def tell(hint: str) -> None:
    """For work that finds out on the way what it has to do: shown in place of its task's hint."""
    if told := _TOLD.get():
        display, task = told
        display.begin(replace(task, hint=hint))


def _timed(task: Task, display: _Lines | _Live) -> None:
    _TOLD.set((display, task))
    began_s = time.monotonic()
    display.begin(task)
    try:
        outcome = task.work()
    except BaseException:
        display.end(task, time.monotonic() - began_s, "failed", good=False)
        raise
    display.end(task, time.monotonic() - began_s, outcome, good=True)


class _Lines:
    """Whole lines only: several threads write."""

    def __enter__(self) -> None: ...

    def __exit__(self, *_: object) -> None: ...

    def begin(self, task: Task) -> None:
        self._write(f"... {task.title}: {task.hint}")

    def end(self, task: Task, took_s: float, outcome: str, *, good: bool) -> None:
        self._write(f"{'ok ' if good else 'NO '} {task.title:<18} {took_s:6.1f} s  {outcome}")

    @staticmethod
    def _write(line: str) -> None:
        sys.stdout.write(f"{line}\n")
        sys.stdout.flush()


class _Live:
    def __init__(self) -> None:
        self._console = Console(highlight=False)
        columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
        self._progress = Progress(*columns, console=self._console, transient=True)
        self._rows: dict[str, TaskID] = {}

    def __enter__(self) -> None:
        self._progress.start()

    def __exit__(self, *_: object) -> None:
        self._progress.stop()

    def begin(self, task: Task) -> None:
        text = f"{task.title}: {task.hint}"
        if task.title in self._rows:
            self._progress.update(self._rows[task.title], description=text)
        else:
            self._rows[task.title] = self._progress.add_task(text, total=None)

    def end(self, task: Task, took_s: float, outcome: str, *, good: bool) -> None:
        self._progress.remove_task(self._rows[task.title])
        mark = "[green]✓[/green]" if good else "[red]✗[/red]"
        self._console.print(f"{mark} {task.title:<18} {took_s:6.1f} s  {outcome}")
