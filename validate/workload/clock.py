"""One clock for a whole run: wall time that never jumps.

The machine's wall clock is looked at once; from then on the monotonic clock, which all processes of a machine share,
carries it on. Processes given the same offset agree to the microsecond whatever is done to the wall clock meanwhile.
"""

from __future__ import annotations

import socket
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def offset_ns() -> int:
    """Wall clock less monotonic clock, now. Taken once per run and handed to every process of it."""
    return time.time_ns() - time.monotonic_ns()


def boot() -> str:
    """Which life of which machine this is: who shares it shares the monotonic clock, in whatever container."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except OSError:
        return socket.gethostname()


class Clock:
    def __init__(self, offset: int | None = None) -> None:
        self.offset = offset_ns() if offset is None else offset

    def now_us(self) -> int:
        return (time.monotonic_ns() + self.offset) // 1000

    def now(self) -> datetime:
        return moment(self.now_us())

    def drift_us(self) -> int:
        """How far the wall clock has gone astray from this one: a jump during the run shows here."""
        return (offset_ns() - self.offset) // 1000


def moment(us: int) -> datetime:
    return _EPOCH + timedelta(microseconds=us)
