"""A workload as a process of its own: spec in, journal out, signs of life on standard output."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from validate.workload import journal
from validate.workload.clock import Clock
from validate.workload.journal import OPENING
from validate.workload.shape import check_topics
from validate.workload.signs import Signs

if TYPE_CHECKING:
    from validate.workload.spec import Spec


class Home:
    """What every kind of process needs: its clock, its signs and its journal, opened with what all rows share."""

    def __init__(self, spec: Spec, opening: dict[str, Any]) -> None:
        check_topics(spec)
        self.clock = Clock(spec.clock_offset_ns)
        self.signs = Signs(self.clock, outlive_parent=spec.outlive_parent)
        path = Path(spec.ledger) / journal.FOLDER / f"{spec.name}{journal.SUFFIX}"
        self.journal = journal.Writer(path)
        facts = {"kind": spec.kind, "lanes": spec.lanes, **opening}
        self.journal.append(OPENING + json.dumps(facts).encode())
        self.signs.listen()

    def done(self, **facts: Any) -> None:
        self.journal.close()
        self.signs.say("done", **facts)
