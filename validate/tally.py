"""The numbers of the summary: classes of acked attempts, sums, and pairs of times that nobody may compare."""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING, Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from validate.checks.classes import CLASSES
from validate.checks.commit_backwards import commit_uncompared
from validate.checks.precommitted_read import precommitted_uncompared
from validate.checks.stale_offset import stale_uncompared

if TYPE_CHECKING:
    from validate.checks.table import Frames
    from validate.stats import Counted

_LOW_BITS = 0xFFFFFFFF


class Tally:
    """Classes, sums and skipped pairs in one job, which also fills the kept frames."""

    def __init__(self, frames: Frames, counted: Counted) -> None:
        self.checked = {
            "sent": counted.rows.get("sent", 0),
            **{name: counted.outcomes.get(name, 0) for name in ("acked", "refused", "unknown")},
            "log": counted.rows.get("log", 0),
            "foreign": 0,
            "delivered": counted.rows.get("delivered", 0),
        }
        self.acked = dict.fromkeys(CLASSES, 0)
        self.sums: dict[str, dict[str, int]] = {}
        self.uncompared = 0
        self.reasons: list[str] = []
        unequal = without_bounds = 0
        for row in tallies(frames, one_clock=counted.one_clock).collect():
            topic = row["topic"]
            if row["kind"] == "uncompared":
                self.uncompared += row["n"]
            elif row["kind"] == "rows":
                self.checked["foreign"] += row["m"]
                self._sums(topic)["read"] += (row["high"] << 32) + row["low"]
                without_bounds += row["k"]
            else:
                self.acked[row["kind"]] += row["n"]
                unequal += row["m"]
                self._sums(topic)["acked"] += (row["high"] << 32) + row["low"]
                self._sums(topic)["found_once"] += (row["high2"] << 32) + row["low2"]
                without_bounds += row["k"]
        self._doubts(counted.acked, unequal, without_bounds)

    def _doubts(self, acked: int, unequal: int, without_bounds: int) -> None:
        total = sum(self.acked.values())
        if total != acked:
            self.reasons.append(f"self-check: {acked} attempts were acked, {total} are in a class")
        if self.acked["undecided"]:
            self.reasons.append(f"{self.acked['undecided']} acked attempts are undecided")
        if unequal:
            self.reasons.append(f"self-check: {unequal} records were read back with another random_int")
        if without_bounds:
            self.reasons.append(f"{without_bounds} rows belong to partitions without a row in log_bounds")

    def _sums(self, topic: str) -> dict[str, int]:
        return self.sums.setdefault(topic, {"acked": 0, "found_once": 0, "read": 0})


def tallies(frames: Frames, *, one_clock: bool) -> DataFrame:
    def halves(value: str, test: str) -> list[Any]:
        """A sum of 64-bit numbers may not fit 64 bits: the upper and lower halves are summed apart."""
        kept = f.when(f.expr(test), f.coalesce(f.expr(value), f.lit(0))).otherwise(f.lit(0))
        return [f.sum(f.shiftright(kept, 32)), f.sum(kept.bitwiseAND(f.lit(_LOW_BITS)))]

    zero = f.lit(0).cast("bigint")
    acked = frames.attempts.filter("outcome = 'acked'").groupBy(f.col("class").alias("kind"), "topic")
    high, low = halves("random_int", "true")
    high2, low2 = halves("coalesce(read_random, random_int)", "n_rows IS NOT NULL")
    by_class = acked.agg(
        f.count("*").alias("n"),
        f.count_if(f.col("read_random") != f.col("random_int")).alias("m"),
        f.count_if(f.col("start_offset").isNull()).alias("k"),
        high.alias("high"), low.alias("low"), high2.alias("high2"), low2.alias("low2"),
    )  # fmt: skip
    columns = by_class.columns
    high, low = halves("random_int", "ours")
    by_topic = frames.rows.groupBy(f.lit("rows").alias("kind"), "topic").agg(
        f.count("*").alias("n"),
        f.count_if(~f.col("ours")).alias("m"),
        f.count_if(f.col("isolation").isNull()).alias("k"),
        high.alias("high"), low.alias("low"), zero.alias("high2"), zero.alias("low2"),
    )  # fmt: skip
    parts = [by_class, by_topic]
    if not one_clock:
        skipped = [stale_uncompared(frames.attempts)]
        if frames.taken is not None and frames.endings is not None:
            skipped.append(precommitted_uncompared(frames.taken, frames.endings))
        if frames.commits is not None:
            skipped.append(commit_uncompared(frames.commits))
        named = {"kind": f.lit("uncompared"), "topic": f.lit(""), "n": f.col("pairs")}
        parts += [part.select(*(named.get(c, zero).alias(c) for c in columns)) for part in skipped]
    return reduce(DataFrame.unionAll, parts)
