"""The few joined tables all checks read: every attempt with what became of it, every log row with where it came from.

Names: `topic, partition, offset` is always where a row was read; `in_topic, in_partition` is where its record was
meant to go, as its value says. Columns of the attempt that sent a row begin with `s_`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyspark.sql import functions as f

from validate.checks.classes import classified
from validate.checks.finding import ATTEMPT, PLACE, RECORD

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import Column, DataFrame

_MEANT = ["run_id", "producer", "in_topic", "in_partition", "seq"]
_OF_SENT = ["txn", "txn_outcome", "outcome", "idempotent", "weak", "value_crc", "key"]


@dataclass(frozen=True)
class Facts:
    """What was counted before: it decides which joins are needed at all."""

    run_ids: tuple[str, ...]
    tombstones: bool = True
    compacted: bool = True


def bounds_of(log_bounds: DataFrame) -> DataFrame:
    """One row per partition; where two rows contradict each other neither is believed."""
    facts = ["start_offset", "end_offset", "high_watermark", "read_to", "isolation", "cleanup_policy"]
    rows = log_bounds.select("topic", "partition", *facts).distinct()
    single = rows.groupBy("topic", "partition").agg(
        f.count("*").alias("rows"), *(f.first(name).alias(name) for name in facts)
    )
    return single.filter(f.col("rows") == 1).select(
        "topic", "partition", *facts[:5], f.col("cleanup_policy").contains("compact").alias("compact")
    )


def endings_of(transactions: DataFrame) -> DataFrame:
    """One row per transaction; where two rows contradict each other its outcome is unknown."""
    grouped = transactions.groupBy("txn").agg(
        f.min("outcome").alias("least"),
        f.max("outcome").alias("most"),
        f.min("commit_invoked_at").alias("commit_invoked_at"),
        f.min_by("clock", "commit_invoked_at").alias("txn_clock"),
    )
    outcome = f.when(f.col("least") == f.col("most"), f.col("least")).otherwise("unknown")
    return grouped.select("txn", outcome.alias("ending"), "commit_invoked_at", "txn_clock")


def ended(frame: DataFrame, endings: DataFrame | None) -> DataFrame:
    """Add `txn_outcome`: none, committed, aborted or unknown; a transaction without a row is unknown."""
    if endings is None:
        return frame.withColumn("txn_outcome", f.when(f.col("txn").isNull(), "none").otherwise("unknown"))
    joined = frame.join(f.broadcast(endings.select("txn", "ending")), on="txn", how="left")
    outcome = f.when(f.col("txn").isNull(), "none").otherwise(f.coalesce("ending", f.lit("unknown")))
    return joined.withColumn("txn_outcome", outcome).drop("ending")


def marked_sent(sent: DataFrame, endings: DataFrame | None, unclean: Sequence[str]) -> DataFrame:
    """Sent rows with the outcome of their transaction and whether their acknowledgement is weak."""
    weak = f.col("acks").isin("0", "1") | topic_in(unclean)
    # Clients write -1 for an offset they were not told.
    told = f.when(f.col("acked_offset") >= 0, f.col("acked_offset"))
    return ended(sent, endings).select(
        *ATTEMPT, "key", f.coalesce("value_null", f.lit(False)).alias("value_null"),  # noqa: FBT003
        "value_crc", "random_int", "idempotent", "txn", "txn_outcome", "invoked_at", "done_at", "clock", "outcome",
        told.alias("acked_offset"), weak.alias("weak"),
    )  # fmt: skip


def topic_in(topics: Sequence[str]) -> Column:
    return f.col("topic").isin(*topics) if topics else f.lit(False)  # noqa: FBT003


def named_log(log: DataFrame, sent: DataFrame, facts: Facts) -> DataFrame:
    """Log rows under the name of the attempt they claim to be; null values are named by place and key."""
    columns = ["random_int", "payload_crc", "value_crc"]
    valued = log.filter(~f.col("value_null")) if facts.tombstones else log
    rows = valued.select(
        *PLACE, "key", "value_null", "run_id", "producer", "seq",
        f.coalesce("attempt", f.lit(0)).alias("attempt"),
        f.coalesce("intended_topic", "topic").alias("in_topic"),
        f.coalesce("intended_partition", "partition").alias("in_partition"),
        *columns, f.coalesce(f.col("run_id").isin(*facts.run_ids), f.lit(False)).alias("ours"),  # noqa: FBT003
    )  # fmt: skip
    if not facts.tombstones:
        return rows
    name = ["run_id", "producer", "seq", "attempt"]
    graves = sent.filter("value_null AND acked_offset IS NOT NULL").select(
        "topic", "partition", f.col("acked_offset").alias("offset"), f.col("key").alias("sent_key"), *name
    )
    nulls = log.filter("value_null").select(*PLACE, "key", "value_null", *columns)
    same = [nulls[c] == graves[c] for c in PLACE] + [nulls["key"].eqNullSafe(graves["sent_key"])]
    matched = nulls.join(graves, on=same, how="left").select(
        *(nulls[c] for c in PLACE), nulls["key"], "value_null", *name,
        nulls["topic"].alias("in_topic"), nulls["partition"].alias("in_partition"),
        *columns, f.col("run_id").isNotNull().alias("ours"),
    )  # fmt: skip
    return rows.unionByName(matched)


def traced_rows(
    named: DataFrame, sent: DataFrame, reservations: DataFrame | None, bounds: DataFrame, unclean: Sequence[str]
) -> DataFrame:
    """Log rows with the attempt that wrote them: `known` has a sent row, `covered` at least a reservation."""
    writers = sent.select(
        "run_id", "producer", f.col("topic").alias("in_topic"), f.col("partition").alias("in_partition"), "seq",
        "attempt", *(f.col(name).alias(f"s_{name}") for name in _OF_SENT),
    )  # fmt: skip
    rows = named.join(writers, on=[*_MEANT, "attempt"], how="left")
    rows = rows.withColumn("known", f.col("s_outcome").isNotNull())
    rows = rows.withColumn("s_weak", f.coalesce("s_weak", topic_in(unclean)))
    rows = rows.withColumn("covered", f.col("known")) if reservations is None else _covered(rows, reservations)
    rows = rows.join(
        f.broadcast(bounds.select("topic", "partition", "isolation")), on=["topic", "partition"], how="left"
    )
    own = (f.col("in_topic") == f.col("topic")) & (f.col("in_partition") == f.col("partition"))
    # What a killed writer had reserved and sent may have been part of a transaction nobody knows of.
    outcome = f.coalesce("s_txn_outcome", f.when(f.col("ours"), "unknown").otherwise("none"))
    return rows.withColumn("own", own).withColumn("txn_outcome", outcome)


def _covered(rows: DataFrame, reservations: DataFrame) -> DataFrame:
    """Only rows without a sent row look for a reservation: there are few of them, and the condition is a range."""
    strays = rows.filter("NOT known AND ours")
    wide = reservations.select(
        f.col("run_id").alias("r_run"), f.col("producer").alias("r_producer"), f.col("topic").alias("r_topic"),
        f.col("partition").alias("r_partition"), "seq_from", "seq_to",
    ).distinct()  # fmt: skip
    within = (
        (f.col("run_id") == f.col("r_run"))
        & (f.col("producer") == f.col("r_producer"))
        & (f.col("in_topic") == f.col("r_topic"))
        & (f.col("in_partition") == f.col("r_partition"))
        & (f.col("seq") >= f.col("seq_from"))
        & (f.col("seq") < f.col("seq_to"))
    )
    reserved = strays.join(wide, on=within, how="left_semi").withColumn("covered", f.lit(True))  # noqa: FBT003
    neither = strays.join(wide, on=within, how="left_anti").withColumn("covered", f.lit(False))  # noqa: FBT003
    rest = rows.filter("known OR NOT ours").withColumn("covered", f.col("known"))
    return rest.unionByName(reserved).unionByName(neither)


def judged_attempts(sent: DataFrame, rows: DataFrame, bounds: DataFrame, facts: Facts) -> DataFrame:
    """Every attempt with how often it is in the log, the bounds of its partition and, if acked, its class."""
    present = (
        rows.filter("known")
        .groupBy(*_MEANT, "attempt")
        .agg(
            f.count("*").alias("n_rows"),
            f.count_if("own").alias("n_own"),
            f.min(f.when(f.col("own"), f.col("offset"))).alias("own_min"),
            f.max(f.when(f.col("own"), f.col("offset"))).alias("own_max"),
            f.min("random_int").alias("read_random"),
        )
        .withColumnsRenamed({"in_topic": "topic", "in_partition": "partition"})
    )
    found = sent.join(present, on=ATTEMPT, how="left")
    with_bounds = found.join(
        f.broadcast(bounds.select("topic", "partition", "start_offset", "end_offset", "read_to", "compact")),
        on=["topic", "partition"],
        how="left",
    )
    return classified(with_bounds, sent, rows, compacted=facts.compacted)


def taken_up(delivered: DataFrame, rows: DataFrame, sent: DataFrame) -> DataFrame:
    """Each delivery with every attempt it stands for: the log row at its place, else all of the record it names.

    `prev_offset` is what the same assignment of the member was given just before in that partition.
    """
    mine = ["group", "member", "assignment", "topic", "partition"]
    window = f"PARTITION BY {', '.join(f'`{name}`' for name in mine)} ORDER BY position, offset"
    asked = delivered.withColumns(
        {
            "prev_offset": f.expr(f"lag(offset) OVER ({window})"),
            "prev_position": f.expr(f"lag(position) OVER ({window})"),
        }
    ).withColumnsRenamed({"run_id": "d_run", "producer": "d_producer", "seq": "d_seq"})
    names = ["run_id", "producer", "seq", "attempt", "in_topic", "in_partition"]
    marks = [*names, "s_weak", "s_txn", "s_txn_outcome", "ours"]
    at_place = asked.join(rows.select(*PLACE, *marks), on=PLACE, how="left")
    placed = at_place.filter("ours IS NOT NULL").withColumn("by_name", f.lit(False))  # noqa: FBT003
    by_record = sent.select(
        *(f.col(name).alias(f"m_{name}") for name in ATTEMPT),
        f.col("weak").alias("m_weak"), f.col("txn").alias("m_txn"), f.col("txn_outcome").alias("m_txn_outcome"),
    )  # fmt: skip
    same = (
        (f.col("d_run") == f.col("m_run_id"))
        & (f.col("d_producer") == f.col("m_producer"))
        & (f.col("topic") == f.col("m_topic"))
        & (f.col("partition") == f.col("m_partition"))
        & (f.col("d_seq") == f.col("m_seq"))
    )
    lone = at_place.filter("ours IS NULL").drop(*marks).join(by_record, on=same, how="left")
    named = lone.select(
        *asked.columns, f.col("d_run").alias("run_id"), f.col("d_producer").alias("producer"),
        f.col("d_seq").alias("seq"), f.col("m_attempt").alias("attempt"), f.col("topic").alias("in_topic"),
        f.col("partition").alias("in_partition"), f.col("m_weak").alias("s_weak"), f.col("m_txn").alias("s_txn"),
        f.col("m_txn_outcome").alias("s_txn_outcome"), f.col("m_run_id").isNotNull().alias("ours"),
    ).withColumn("by_name", f.lit(True))  # noqa: FBT003  # fmt: skip
    return placed.unionByName(named)


def positions_of(
    delivered: DataFrame | None, group_starts: DataFrame | None, commits: DataFrame | None
) -> DataFrame | None:
    """Per group and partition: first position asked for, what was committed, and how the group reads."""
    by = ["group", "topic", "partition"]
    parts = []
    if delivered is not None:
        parts.append(
            delivered.groupBy(*by).agg(
                f.min("offset").alias("lowest"),
                f.max(f.col("isolation") == "read_committed").alias("committed_only"),
            )
        )
    if group_starts is not None:
        parts.append(group_starts.groupBy(*by).agg(f.min("offset").alias("asked")))
    if commits is not None:
        parts.append(commits.groupBy(*by).agg(f.max("offset").alias("committed")))
    if not parts:
        return None
    whole = parts[0]
    for part in parts[1:]:
        whole = whole.join(part, on=by, how="full")
    for name, kind in (
        ("lowest", "bigint"),
        ("asked", "bigint"),
        ("committed", "bigint"),
        ("committed_only", "boolean"),
    ):
        if name not in whole.columns:
            whole = whole.withColumn(name, f.lit(None).cast(kind))
    # A group reads one way; where it took nothing up in a partition, what it did elsewhere counts.
    reads = whole.groupBy("group").agg(f.max("committed_only").alias("reads_committed"))
    return whole.join(reads, on="group", how="left").select(
        *by,
        f.coalesce("asked", "lowest").alias("start"),
        "committed",
        f.coalesce("reads_committed", f.lit(True)).alias("reads_committed"),  # noqa: FBT003
    )


def effective_commits(commits: DataFrame, endings: DataFrame | None) -> DataFrame:
    """Commits that took effect: acknowledged, and outside a transaction or in a committed one."""
    return ended(commits, endings).filter("outcome = 'acked' AND txn_outcome IN ('none', 'committed')")


def readable_by(frame: DataFrame) -> DataFrame:
    """Rows a group must see: all, but for one that reads committed data the open and aborted ones of a full log."""
    hidden = (
        f.col("reads_committed")
        & (f.coalesce("isolation", f.lit("read_uncommitted")) == "read_uncommitted")
        & ~f.col("txn_outcome").isin("none", "committed")
    )
    return frame.filter(~hidden)


RECORD_KEYS = [*_MEANT, "foreign_offset"]


def as_records(rows: DataFrame) -> DataFrame:
    """Log rows with what tells records apart: their name, or their place if they are not ours."""
    return rows.withColumn("foreign_offset", f.when(~f.col("ours"), f.col("offset")))


__all__ = [
    "RECORD", "RECORD_KEYS", "Facts", "as_records", "bounds_of", "effective_commits", "ended", "endings_of",
    "judged_attempts", "marked_sent", "named_log", "positions_of", "readable_by", "taken_up", "topic_in", "traced_rows",
]  # fmt: skip
