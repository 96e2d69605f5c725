"""How long records took from the moment they were due: of loads with a shape, whose schedule is in the ledger.

A client that waits for a slow cluster sends less, and what it did not send has no latency: counted from the send, the
slowest times are left out (coordinated omission). Counted from when a record was due they are not.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from validate.ledger.files import parquet_files
from validate.report.histogram import Histogram
from validate.report.moments import SECOND_US
from validate.report.series import micros_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

LATE_S = 1.0  # a partition of which every record of a second takes longer than this takes less than it is asked to
SHOWN = 5
_READ = ("topic", "partition", "outcome", "invoked_at", "done_at", "due_at")
_ROWS_AT_ONCE = 262_144
_NEVER_US = 1 << 60
Lane = tuple[str, int]


@dataclass
class Second:
    """Of one partition: what was due in it, the quickest of that, and what was acked in it."""

    due: int = 0
    quickest_us: int = _NEVER_US
    acked: int = 0


@dataclass
class Latency:
    """Of all records that had a time at which they were due."""

    due: int = 0
    acked: int = 0
    topics: dict[str, Histogram] = field(default_factory=dict)
    from_send: Histogram = field(default_factory=Histogram)
    sent_late: Histogram = field(default_factory=Histogram)
    seconds: dict[Lane, dict[int, Second]] = field(default_factory=dict)

    def whole(self) -> Histogram:
        whole = Histogram()
        for one in self.topics.values():
            whole.merge(one)
        return whole

    def overloaded(self) -> list[dict[str, Any]]:
        """Partitions that took less than they were asked to, the worst first: asked when that began, taken since."""
        told = []
        for (topic, partition), seconds in self.seconds.items():
            late = [at for at, one in seconds.items() if one.due and one.quickest_us > LATE_S * SECOND_US]
            if late:
                taken = sum(seconds[at].acked for at in late) / len(late)
                told.append({
                    "topic": topic, "partition": partition, "from_s": min(late), "seconds": len(late),
                    "asked_per_s": seconds[min(late)].due, "taken_per_s": round(taken, 1),
                })  # fmt: skip
        return sorted(told, key=lambda x: (-x["seconds"], x["topic"], x["partition"]))

    def to_json(self) -> dict[str, Any] | None:
        if not self.due:
            return None
        return {
            "due": self.due,
            "not_acked": self.due - self.acked,
            "all": self.whole().to_json(),
            "topics": {topic: one.to_json() for topic, one in sorted(self.topics.items())},
            "from_send": self.from_send.to_json(),
            "sent_late": self.sent_late.to_json(),
            "overloaded": self.overloaded(),
        }


def read(folder: Path) -> Latency:
    """Of every file of `sent/` that can be read; the timeline tells of the others. Seconds count from the first due."""
    starts = [start for table in _tables(folder, ["due_at"]) if (start := pc.min(micros_of(table["due_at"])).as_py())]
    told = Latency()
    for table in _tables(folder, list(_READ)):
        _add(told, table, min(starts, default=0))
    return told


def _tables(folder: Path, columns: list[str]) -> Iterator[pa.Table]:
    """A bit of a file at a time, of those that have a schedule."""
    for path in parquet_files(folder):
        try:
            with pq.ParquetFile(path) as file:
                if set(_READ) <= set(file.schema_arrow.names):
                    for batch in file.iter_batches(batch_size=_ROWS_AT_ONCE, columns=columns):
                        yield pa.Table.from_batches([batch])
        except (OSError, pa.ArrowException):
            continue


def _add(told: Latency, table: pa.Table, start_us: int) -> None:
    rows = pa.table({
        "topic": table["topic"].cast(pa.string()), "partition": table["partition"].cast(pa.int64()),
        "acked": pc.equal(table["outcome"].cast(pa.string()), "acked"),
        **{name: micros_of(table[f"{name}_at"]) for name in ("invoked", "done", "due")},
    })  # fmt: skip
    rows = rows.filter(pc.is_valid(rows["due"]))
    if not rows.num_rows:
        return
    acked = rows.filter(pc.and_(rows["acked"], pc.is_valid(rows["done"])))
    told.due += rows.num_rows
    told.acked += acked.num_rows
    told.sent_late.add(pc.subtract(rows["invoked"], rows["due"]))
    told.from_send.add(pc.subtract(acked["done"], acked["invoked"]))
    for topic in pc.unique(rows["topic"]).to_pylist():
        of_topic = acked.filter(pc.equal(acked["topic"], topic))
        told.topics.setdefault(topic, Histogram()).add(pc.subtract(of_topic["done"], of_topic["due"]))
    _add_seconds(told, rows, acked, start_us)


def _add_seconds(told: Latency, rows: pa.Table, acked: pa.Table, start_us: int) -> None:
    took = pc.if_else(rows["acked"], pc.subtract(rows["done"], rows["due"]), pa.scalar(None, pa.int64()))
    due = pa.table({
        "topic": rows["topic"], "partition": rows["partition"],
        "at": pc.divide(pc.subtract(rows["due"], start_us), SECOND_US),
        "took": pc.coalesce(took, _NEVER_US),
    })  # fmt: skip
    keys = ["topic", "partition", "at"]
    for one in due.group_by(keys).aggregate([("took", "min"), ([], "count_all")]).to_pylist():
        second = told.seconds.setdefault((one["topic"], one["partition"]), {}).setdefault(one["at"], Second())
        second.due += one["count_all"]
        second.quickest_us = min(second.quickest_us, one["took_min"])
    done = pa.table({
        "topic": acked["topic"], "partition": acked["partition"],
        "at": pc.divide(pc.subtract(acked["done"], start_us), SECOND_US),
    })  # fmt: skip
    for one in done.group_by(keys).aggregate([([], "count_all")]).to_pylist():
        seconds = told.seconds.setdefault((one["topic"], one["partition"]), {})
        seconds.setdefault(one["at"], Second()).acked += one["count_all"]


def sentence(told: dict[str, Any]) -> str:
    """The percentiles in a line, for the terminal."""
    of = told["all"]
    if not of["n"]:
        return "latency: nothing was acknowledged"
    parts = (f"{word} {of[name]:,.1f}" for name, word in WORDS.items())
    return f"latency in ms, from when records were due: {', '.join(parts)}"


WORDS = {"p50": "p50", "p90": "p90", "p99": "p99", "p99_9": "p99.9", "max": "max"}


def not_taken(told: dict[str, Any]) -> list[str]:
    """The rates that partitions were asked for and did not take, in words."""
    every = told["overloaded"]
    lines = [
        f"{x['topic']}-{x['partition']} did not take {x['asked_per_s']:,} records/s: from second {x['from_s']} on, for "
        f"{x['seconds']} s, each took over {LATE_S:g} s; {x['taken_per_s']:,.0f} a second were acknowledged"
        for x in every[:SHOWN]
    ]
    return [*lines, *([f"and {len(every) - SHOWN} more partitions"] if len(every) > SHOWN else [])]
