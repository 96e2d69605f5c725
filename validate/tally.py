"""The numbers of the summary: classes of acked attempts, sums, and pairs of times that nobody may compare.

On the way it counts what could make an anomaly: most ledgers have few kinds, and the checks of the others are spared.
"""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f

from validate.checks.classes import CLASSES
from validate.checks.commit_backwards import commit_uncompared
from validate.checks.corrupt import differences
from validate.checks.precommitted_read import precommitted_uncompared
from validate.checks.stale_offset import stale_uncompared

if TYPE_CHECKING:
    from pyspark.sql import Row

    from validate.checks.table import Frames
    from validate.first_pass import Settled
    from validate.stats import Counted

# A sum of 64-bit numbers may not fit 64 bits. So three parts of each are summed apart, the highest with the sign: sums
# of 24 bits fit as long as a topic has at most 2^39 rows.
_PART_BITS = 24
_PARTS = range(3)
_NUMBERS = ("n", "m", "unbounded", *(f"{name}_{part}" for name in ("total", "total2") for part in _PARTS))


def _of_attempts() -> dict[str, Column]:
    """What attempts must show for some check to find anything; each is wider than the check itself."""
    return {
        "several": f.col("n_rows") > 1,
        "moved": f.col("own_min") != f.col("acked_offset"),
        "unwritten": (f.col("outcome") == "unknown") & f.col("n_rows").isNull(),
        "transactional": f.col("txn").isNotNull(),
    }


def _of_rows() -> dict[str, Column]:
    """The same of log rows."""
    return {
        "astray": f.col("ours") & ~f.col("own"),
        "uncovered": f.col("ours") & ~f.col("covered"),
        "unreported": (f.col("s_outcome") == "unknown") | (f.col("covered") & ~f.col("known")),
        "later_attempts": f.col("attempt") > 0,
        "barred": (f.col("s_outcome") == "refused") | (f.col("s_txn_outcome") == "aborted"),
        "altered": f.col("ours") & reduce(Column.__or__, (f.coalesce(x, f.lit(False)) for x in differences().values())),  # noqa: FBT003
    }


def checked_of(counted: Counted) -> dict[str, int]:
    """How many rows of each kind were there; which of the log are foreign is counted later."""
    return {
        "sent": counted.rows.get("sent", 0),
        **{name: counted.outcomes.get(name, 0) for name in ("acked", "refused", "unknown")},
        "log": counted.rows.get("log", 0),
        "foreign": 0,
        "delivered": counted.rows.get("delivered", 0),
    }


def sums_of(settled: Settled) -> dict[str, dict[str, int]]:
    """Of what is settled: there all three are the same."""
    return {topic: dict.fromkeys(("acked", "found_once", "read"), total) for topic, total in settled.sums.items()}


class Tally:
    """Classes, sums and skipped pairs in one job, which also fills the kept frames."""

    def __init__(self, frames: Frames, counted: Counted, settled: Settled) -> None:
        self.checked = checked_of(counted)
        self.acked = dict.fromkeys(CLASSES, 0)
        self.sums = sums_of(settled)
        self.seen: dict[str, int] = {}
        self.uncompared = 0
        self.reasons: list[str] = []
        unequal = unbounded = 0
        for row in _tallies(frames, one_clock=counted.one_clock).collect():
            unbounded += row["unbounded"]
            if row["kind"] != "uncompared":
                frame = "rows" if row["kind"] == "rows" else "attempts"
                self.seen[frame] = self.seen.get(frame, 0) + row["n"]
            for name in (*_of_attempts(), *_of_rows()):
                self.seen[name] = self.seen.get(name, 0) + row[name]
            if row["kind"] == "uncompared":
                self.uncompared += row["n"]
            elif row["kind"] == "rows":
                self.checked["foreign"] += row["m"]
                self._sums(row["topic"])["read"] += _joined(row, "total")
            elif row["kind"] in self.acked:
                self.acked[row["kind"]] += row["n"]
                unequal += row["m"]
                self._sums(row["topic"])["acked"] += _joined(row, "total")
                self._sums(row["topic"])["found_once"] += _joined(row, "total2")
        self.seen |= self.acked
        self.seen["timed"] = self.seen.get("attempts", 0) + len(settled.untimed)
        self.acked["found"] += settled.acked
        self._doubts(counted.acked, unequal, unbounded)

    def _doubts(self, acked: int, unequal: int, unbounded: int) -> None:
        total = sum(self.acked.values())
        if total != acked:
            self.reasons.append(f"self-check: {acked} attempts were acked, {total} are in a class")
        if self.acked["undecided"]:
            self.reasons.append(f"{self.acked['undecided']} acked attempts are undecided")
        if unequal:
            self.reasons.append(f"self-check: {unequal} records were read back with another random_int")
        if unbounded:
            self.reasons.append(f"{unbounded} rows belong to partitions without a row in log_bounds")

    def _sums(self, topic: str) -> dict[str, int]:
        return self.sums.setdefault(topic, {"acked": 0, "found_once": 0, "read": 0})


def _parts(name: str, value: str, test: str) -> list[Column]:
    """Sums of a value's parts, over the rows that pass the test."""
    kept = f.expr(f"CASE WHEN {test} THEN coalesce({value}, 0L) ELSE 0L END")
    shifted = [f.shiftright(kept, part * _PART_BITS) for part in _PARTS]
    cut = [column.bitwiseAND(f.lit((1 << _PART_BITS) - 1)) for column in shifted[:-1]] + shifted[-1:]
    return [f.sum(column).alias(f"{name}_{part}") for part, column in enumerate(cut)]


def _joined(row: Row, name: str) -> int:
    return sum(row[f"{name}_{part}"] << part * _PART_BITS for part in _PARTS)


def _counts(own: dict[str, Column], others: dict[str, Column]) -> list[Column]:
    zero = f.lit(0).cast("bigint")
    return [*(f.count_if(test).alias(name) for name, test in own.items()), *(zero.alias(name) for name in others)]


def _tallies(frames: Frames, *, one_clock: bool) -> DataFrame:
    zero = f.lit(0).cast("bigint")
    guards = (*_of_attempts(), *_of_rows())
    columns = ["kind", "topic", *_NUMBERS, *guards]
    by_class = frames.attempts.groupBy(f.coalesce("class", f.lit("unacked")).alias("kind"), "topic").agg(
        f.count("*").alias("n"),
        f.count_if(f.col("read_random") != f.col("random_int")).alias("m"),
        f.count_if(f.col("start_offset").isNull()).alias("unbounded"),
        *_parts("total", "random_int", "true"),
        *_parts("total2", "coalesce(read_random, random_int)", "n_rows IS NOT NULL"),
        *_counts(_of_attempts(), _of_rows()),
    )  # fmt: skip
    by_topic = frames.rows.groupBy(f.lit("rows").alias("kind"), "topic").agg(
        f.count("*").alias("n"),
        f.count_if(~f.col("ours")).alias("m"),
        f.count_if(f.col("isolation").isNull()).alias("unbounded"),
        *_parts("total", "random_int", "ours"), *(zero.alias(f"total2_{part}") for part in _PARTS),
        *_counts(_of_rows(), _of_attempts()),
    )  # fmt: skip
    parts = [by_class.select(*columns), by_topic.select(*columns)]
    if not one_clock:
        skipped = [stale_uncompared(frames.attempts)]
        if frames.taken is not None and frames.endings is not None:
            skipped.append(precommitted_uncompared(frames.taken, frames.endings))
        if frames.commits is not None:
            skipped.append(commit_uncompared(frames.commits))
        named = {"kind": f.lit("uncompared"), "topic": f.lit(""), "n": f.col("pairs")}
        parts += [part.select(*(named.get(c, zero).alias(c) for c in columns)) for part in skipped]
    return reduce(DataFrame.unionAll, parts)
