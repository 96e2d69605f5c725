"""watermark-backwards: one witness saw a partition's high watermark fall."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import Window
from pyspark.sql import functions as f

from validate.checks.finding import EXPECTED, findings, unless
from validate.checks.frames import topic_in

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import DataFrame


def watermark_backwards(watermarks: DataFrame, unclean: Sequence[str]) -> DataFrame:
    """One finding per fall against the value just before. It is bound to no attempt, so only the topic excuses it."""
    order = Window.partitionBy("witness", "topic", "partition").orderBy("seen_at", "high_watermark")
    falls = watermarks.withColumn("before", f.lag("high_watermark").over(order)).filter("high_watermark < before")
    note = f.format_string("%s saw %d before", "witness", "before")
    return findings(
        falls, "watermark-backwards", unless(topic_in(unclean), EXPECTED),
        offset="high_watermark", detail="witness", note=note,
    )  # fmt: skip
