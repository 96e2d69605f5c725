"""What was acked and refused when: `sent/` added up by Arrow, never a record in Python."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from validate.ledger.files import parquet_files
from validate.report.moments import SECOND_US, iso

if TYPE_CHECKING:
    from pathlib import Path

OUTCOMES = ("acked", "refused", "unknown")
BUCKET_US = 100_000
# A run of an hour still fits in steps of 100 ms; longer ones, or ones with a mad clock, take the next that fits.
MOST_BUCKETS = 36_000
_WIDER = (1, 2, 5, 10, 20, 50, 100, 600, 6_000, 36_000, 864_000, 864_000_000)
_READ = ("topic", "partition", "outcome", "invoked_at", "done_at", "acks", "idempotent", "max_in_flight")
_BY = ["topic", "partition", "outcome", "bucket"]
_SET = ["topic", "acks", "idempotent", "max_in_flight"]
_ROWS_AT_ONCE = 262_144
_MERGE_AT = 500_000

Counts = dict[str, dict[int, dict[str, list[int]]]]


@dataclass
class Series:
    """Counts per topic, partition and outcome in buckets of `step_ms`, from `start_us` on."""

    start_us: int
    step_ms: int
    buckets: int
    counts: Counts
    settings: list[dict[str, Any]]
    problems: list[str] = field(default_factory=list)

    def total(self, outcome: str) -> int:
        return sum(sum(x[outcome]) for partitions in self.counts.values() for x in partitions.values())

    def to_json(self) -> dict[str, Any]:
        """Outcomes that never came are left out: a refused list of ten thousand zeros says nothing."""
        return {
            "start": iso(self.start_us) if self.buckets else None,
            "step_ms": self.step_ms,
            "buckets": self.buckets,
            "topics": {
                topic: {
                    str(partition): {name: values for name, values in x.items() if any(values)}
                    for partition, x in sorted(partitions.items())
                }
                for topic, partitions in sorted(self.counts.items())
            },
        }


def read(folder: Path) -> Series:
    """Add up every file of `sent/`; one that cannot be read is a problem, the others still count."""
    problems: list[str] = []
    sums = _Sums(_BY)
    sets = _Sums(_SET)
    for path in parquet_files(folder):
        try:
            with pq.ParquetFile(path) as file:
                columns = [name for name in _READ if name in file.schema_arrow.names]
                for batch in file.iter_batches(batch_size=_ROWS_AT_ONCE, columns=columns):
                    table = _shaped(pa.Table.from_batches([batch]))
                    sums.add(table.select(_BY))
                    sets.add(table.select(_SET))
        except (OSError, KeyError, pa.ArrowException) as error:
            problems.append(f"sent/{path.name}: not readable ({str(error).splitlines()[0][:160]})")
    settings = [{name: row[name] for name in (*_SET, "n")} for row in sets.done().to_pylist()]
    return _laid_out(sums.done(), sorted(settings, key=str), problems)


class _Sums:
    """Rows per key, merged now and then so that no more than the keys are held."""

    def __init__(self, keys: list[str]) -> None:
        self._keys = keys
        self._parts: list[pa.Table] = []
        self._rows = 0

    def add(self, table: pa.Table) -> None:
        part = table.group_by(self._keys).aggregate([([], "count_all")]).rename_columns([*self._keys, "n"])
        self._parts.append(part)
        self._rows += part.num_rows
        if self._rows > _MERGE_AT:
            self._parts = [self.done()]
            self._rows = self._parts[0].num_rows

    def done(self) -> pa.Table:
        if not self._parts:
            return pa.table({name: pa.array([], pa.int64()) for name in (*self._keys, "n")})
        whole = pa.concat_tables(self._parts, promote_options="permissive")
        return whole.group_by(self._keys).aggregate([("n", "sum")]).rename_columns([*self._keys, "n"])


def _shaped(table: pa.Table) -> pa.Table:
    """The columns that are counted by, whatever widths and units they were written in."""
    at = micros_of(table["invoked_at"])
    if "done_at" in table.column_names:
        at = pc.coalesce(micros_of(table["done_at"]), at)
    shaped = {
        "topic": table["topic"].cast(pa.string()),
        "partition": table["partition"].cast(pa.int64()),
        "outcome": table["outcome"].cast(pa.string()),
        "bucket": pc.divide(at, BUCKET_US),
    }
    for name in ("acks", "idempotent", "max_in_flight"):
        given = table[name] if name in table.column_names else pa.nulls(table.num_rows)
        shaped[name] = given.cast(pa.string())
    return pa.table(shaped)


def micros_of(column: Any) -> Any:
    """A column of times as microseconds; nanoseconds lose what is finer."""
    kind = column.type
    if pa.types.is_timestamp(kind):
        per = {"s": 1 / SECOND_US, "ms": 1 / 1000, "us": 1, "ns": 1000}[kind.unit]
        whole = column.cast(pa.int64())
        return pc.divide(whole, int(per)) if per >= 1 else pc.multiply(whole, round(1 / per))
    return pa.nulls(len(column), pa.int64()) if pa.types.is_null(kind) else column.cast(pa.int64())


def _laid_out(sums: pa.Table, settings: list[dict[str, Any]], problems: list[str]) -> Series:
    known = sums.filter(pc.and_(pc.is_valid(sums["bucket"]), pc.is_in(sums["outcome"], pa.array(OUTCOMES)))) if (
        sums.num_rows
    ) else sums  # fmt: skip
    if not known.num_rows:
        return Series(0, BUCKET_US // 1000, 0, {}, settings, problems)
    edges = pc.min_max(known["bucket"]).as_py()
    first, span = edges["min"], edges["max"] - edges["min"] + 1
    wider = next((w for w in _WIDER if span <= w * MOST_BUCKETS), _WIDER[-1])
    buckets = span // wider + 1 if wider > 1 else span
    counts: Counts = {}
    columns = (known[name].to_pylist() for name in (*_BY, "n"))
    for topic, partition, outcome, bucket, n in zip(*columns, strict=True):
        one = counts.setdefault(topic, {}).setdefault(partition, {name: [0] * buckets for name in OUTCOMES})
        one[outcome][(bucket - first) // wider] += n
    return Series(first * BUCKET_US, wider * BUCKET_US // 1000, buckets, counts, settings, problems)
