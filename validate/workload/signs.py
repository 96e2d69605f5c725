"""Signs of life on standard output, and the word to end: SIGTERM, SIGINT, `stop` on standard input, a dead parent."""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from validate.workload.clock import Clock

EVERY_S = 0.5


class Signs:
    def __init__(self, clock: Clock, *, outlive_parent: bool = False) -> None:
        self._clock, self._next_s = clock, time.monotonic() + EVERY_S
        self._parent = None if outlive_parent else os.getppid()
        self._ended = threading.Event()

    def listen(self) -> None:
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: self._ended.set())
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        for line in sys.stdin:
            if line.strip() == "stop":
                self._ended.set()

    @property
    def orphaned(self) -> bool:
        """Nobody waits any more for what is still under way."""
        return self._parent is not None and os.getppid() != self._parent

    def ended(self) -> bool:
        if self.orphaned:
            self._ended.set()
        return self._ended.is_set()

    def end(self) -> None:
        self._ended.set()

    def say(self, event: str, **more: Any) -> None:
        """Nobody may be listening any more; that is no reason to leave the ledger unfinished."""
        try:
            print(json.dumps({"event": event, "at": self._clock.now().isoformat(), **more}), flush=True)
        except BrokenPipeError:
            self._ended.set()

    def progress(self, facts: Callable[[], dict[str, Any]]) -> None:
        """Twice a second, no matter how often it is called."""
        if time.monotonic() >= self._next_s:
            self._next_s = time.monotonic() + EVERY_S
            self.say("progress", **facts())
