"""Log rows a group never took up, and for which it answers: the common half of unseen and lost-in-delivery."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as f

from validate.checks.finding import PLACE

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_NAME = ["run_id", "producer", "in_topic", "in_partition", "seq"]


def unread(rows_by_group: DataFrame, taken: DataFrame | None) -> DataFrame:
    """Rows (with `group`) that no delivery of the group stands for, by place or, where the place is gone, by name."""
    if taken is None:
        return rows_by_group
    at_place = taken.select("group", *PLACE).distinct()
    left = rows_by_group.join(at_place, on=["group", *PLACE], how="left_anti")
    by_name = taken.filter("by_name AND run_id IS NOT NULL").select("group", *_NAME).distinct()
    return left.join(by_name, on=["group", *_NAME], how="left_anti")


def visible_effects(effects: DataFrame) -> DataFrame:
    """Effects that count: a database's, or in committed transactions."""
    return effects.filter(f.col("txn_outcome").isin("none", "committed"))
