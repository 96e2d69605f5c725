"""The tools for work by hand as somebody has them: on a terminal, with their live counters, their whole ledger written."""

from __future__ import annotations

import os
import pty
import re
import shutil
import subprocess
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

ROOT = Path(__file__).resolve().parents[2]
TIMEOUT_S = 900
COLUMNS = "200"
_LINE = re.compile(r"(?P<count>[\d,]+) (?:acked|delivered)(?:, [\d,]+ in flight)?, (?P<per_s>[\d,]+) a second")


class HandTools:
    """One user's tools against one described cluster. Each run has a ledger of its own, gone after it."""

    def __init__(self, cluster: Path, folder: Path, records: int) -> None:
        self._cluster, self._folder, self._records, self._runs = cluster, folder, records, 0

    def produce(self, topic: str, *, linger_ms: int, batch_bytes: int) -> float:
        settings = ("--value-bytes", "100", "--linger", str(linger_ms), "--batch", str(batch_bytes))
        return self._run("produce", topic, "--records", str(self._records), *settings)

    def consume(self, topic: str) -> float:
        """Committed by the client every five seconds, as Kafka's own tool does."""
        group = f"kastellan-bench-hand-{self._runs}"
        return self._run("consume", topic, "--group", group, "--auto-commit", "5000", "--count", str(self._records))

    def _run(self, verb: str, topic: str, *words: str) -> float:
        self._runs += 1
        ledger = self._folder / f"hand-{self._runs}"
        where = ("--cluster", str(self._cluster), "--topic", topic, "--ledger", str(ledger))
        shown = on_terminal([sys.executable, "-m", "validate", verb, *where, *words])
        shutil.rmtree(ledger)
        return took_s(shown, self._records)


def took_s(shown: str, records: int) -> float:
    """By its last line: the live counters above it are those of a moment."""
    found = [(int(one["count"].replace(",", "")), int(one["per_s"].replace(",", ""))) for one in _LINE.finditer(shown)]
    if not found or found[-1][0] < records or not found[-1][1]:
        raise SystemExit(f"The hand tool did not do all {records} records:\n{shown[-2000:]}")
    if len(found) < 2:
        raise SystemExit(f"There was no live display, so it cost nothing:\n{shown[-2000:]}")
    count, per_s = found[-1]
    return count / per_s


def on_terminal(argv: Sequence[str]) -> str:
    """All that a terminal was sent; what does not end in time is ended."""
    ours, theirs = pty.openpty()
    env = {**os.environ, "TERM": "xterm", "COLUMNS": COLUMNS}
    process = subprocess.Popen(argv, cwd=ROOT, env=env, stdin=theirs, stdout=theirs, stderr=theirs)
    os.close(theirs)
    late = threading.Timer(TIMEOUT_S, process.kill)
    late.start()
    told = bytearray()
    try:
        while piece := _read(ours):
            told += piece
        code = process.wait(TIMEOUT_S)
    finally:
        late.cancel()
        os.close(ours)
    text = told.decode("utf-8", errors="replace")
    if code:
        raise SystemExit(f"{' '.join(argv)} ended with {code}:\n{text[-2000:]}")
    return text


def _read(terminal: int) -> bytes:
    """Empty once nobody has the other end open any more: Linux says that by an error."""
    try:
        return os.read(terminal, 65536)
    except OSError:
        return b""
