"""Which faults are open, on the disk: `python -m validate heal` goes by it after a run that died."""

from __future__ import annotations

import json
import threading
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING

from common.errors import UsageError
from common.files import write_whole
from validate.full import NotWritten

if TYPE_CHECKING:
    from pathlib import Path

RECORD_FILE = "open-faults.json"


@dataclass(frozen=True)
class OpenFault:
    fault: str
    host: str
    options: dict[str, str] = field(default_factory=dict)
    ledger: str = ""
    """The folder whose faults.jsonl waits for the healing."""
    since: str = ""


class Record:
    """All open faults of a cluster; rewritten whole, so that a power cut leaves the old or the new."""

    def __init__(self, state_dir: Path) -> None:
        self.path = state_dir / RECORD_FILE
        self._lock = threading.Lock()

    def all(self) -> list[OpenFault]:
        try:
            entries = json.loads(self.path.read_text(encoding="utf-8"))
            return [OpenFault(**entry) for entry in entries]
        except FileNotFoundError:
            return []
        except (ValueError, TypeError) as error:
            raise UsageError(
                f"The record of open faults {self.path} is broken.",
                details=str(error),
                resolution="Remove it and run `python -m validate heal`: marks on the hosts say what is open.",
            ) from error

    def open(self, *faults: OpenFault) -> None:
        with self._lock:
            self._write([*self.all(), *faults])

    def close(self, fault: OpenFault) -> None:
        with self._lock:
            self._write([entry for entry in self.all() if entry != fault])

    def _write(self, entries: list[OpenFault]) -> None:
        try:
            if not entries:
                self.path.unlink(missing_ok=True)
                return
            write_whole(self.path, json.dumps([asdict(entry) for entry in entries], indent=1) + "\n", mode=0o600)
        except OSError as error:
            raise NotWritten(error, self.path, what="record of open faults") from error
