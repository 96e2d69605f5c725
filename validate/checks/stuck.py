"""stuck: after healing no probe ended ok within the scenario's bound."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as f

from validate.checks.finding import VIOLATION, findings
from validate.checks.outage import Bounds, bound_of, seconds

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from pyspark.sql import DataFrame


def stuck(probes: DataFrame, bounds: Bounds, topics: Sequence[str] | None, healed_at: datetime) -> DataFrame:
    """One finding per witness, kind and partition; `client-stuck` where the fresh witness got through meanwhile."""
    by = ["kind", "topic", "partition"]
    healed = f.lit(healed_at)
    since = seconds("done_at") - f.unix_micros(healed) / f.lit(1e6)
    soon = (f.col("outcome") == "ok") & (since > 0) & (since <= f.col("bound"))
    waiting = (f.col("outcome") != "ok") & f.coalesce(f.col("done_at") > healed, f.lit(True))  # noqa: FBT003
    # Nothing is stuck before the bound has passed: some probe must have been watching until then.
    watched = probes.agg(f.max(f.coalesce("done_at", "invoked_at")).alias("watched_to"))
    each = (
        probes.withColumn("bound", bound_of(bounds, topics))
        .groupBy("witness", *by)
        .agg(
            f.max("bound").alias("bound"),
            f.count_if(soon).alias("oks"),
            f.count_if(waiting).alias("waiting"),
            f.count_if((f.col("outcome") == "ok") & (since > 0)).alias("oks_ever"),
        )
        .crossJoin(f.broadcast(watched))
    )
    long_enough = seconds("watched_to") - f.unix_micros(healed) / f.lit(1e6) >= f.col("bound")
    hung = each.filter(long_enough & (f.col("oks") == 0) & (f.col("waiting") > 0))
    fine = each.filter("witness = 'fresh' AND oks_ever > 0 AND (oks > 0 OR bound IS NULL)")
    fine = fine.select(*by, f.lit("running").alias("witness"), f.lit(True).alias("fresh_fine"))  # noqa: FBT003
    told = hung.join(fine, on=["witness", *by], how="left")
    detail = f.when(f.col("fresh_fine"), "client-stuck").otherwise("stuck")
    note = f.format_string("%s %s, no ok within %.1f s", "witness", "kind", "bound")
    return findings(told.withColumns({"what": detail, "more": note}), "stuck", VIOLATION, detail="what", note="more")
