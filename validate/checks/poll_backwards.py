"""poll-backwards: within one assignment a member was handed an offset that is not above the one just before."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as f

from validate.checks.finding import EXPECTED, findings, unless
from validate.checks.frames import topic_in

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import DataFrame


def poll_backwards(taken: DataFrame, unclean: Sequence[str]) -> DataFrame:
    """One finding per fall; weak if any attempt that the delivery stands for is."""
    fall = ["group", "member", "assignment", "position", "topic", "partition", "offset", "prev_offset"]
    back = taken.filter(f.col("offset") <= f.col("prev_offset"))
    each = back.groupBy(*fall).agg(
        f.min(f.struct("seq", "attempt", "producer")).alias("first"), f.max("s_weak").alias("weak")
    )
    weak = f.coalesce("weak", topic_in(unclean))
    note = f.format_string("%s/%s: after %d", "group", "member", "prev_offset")
    return findings(
        each, "poll-backwards", unless(weak, EXPECTED),
        producer="first.producer", seq="first.seq", attempt="first.attempt", detail="group", note=note,
    )  # fmt: skip
