"""The class of every acked attempt: found, else expired, else withdrawn, else undecided, else lost."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as f

from validate.checks.finding import RECORD

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

CLASSES = ("found", "expired", "withdrawn", "undecided", "lost")
_KEYED = ["topic", "partition", "key"]


def classified(attempts: DataFrame, sent: DataFrame, rows: DataFrame, *, compacted: bool) -> DataFrame:
    """Add `class` (null unless acked) and `certain`: found, or absent beyond doubt."""
    frame = _superseded(attempts, sent, rows) if compacted else attempts.withColumn("superseded", f.lit(False))  # noqa: FBT003
    present = f.col("n_rows").isNotNull()
    expired = _is_expired()
    doubt = _is_doubtful()
    withdrawn = f.col("txn_outcome").isin("aborted", "unknown")
    name = (
        f.when(present, "found")
        .when(expired, "expired")
        .when(withdrawn, "withdrawn")
        .when(doubt, "undecided")
        .otherwise("lost")
    )
    return frame.withColumns(
        {"class": f.when(f.col("outcome") == "acked", name), "certain": present | (~expired & ~doubt)}
    )


def _true(test: Column) -> Column:
    return f.coalesce(test, f.lit(False))  # noqa: FBT003  a test on a null proves nothing


def _is_expired() -> Column:
    """Below the log's start, or cleaned away: superseded by a later record of its key, or a tombstone itself."""
    cleaned = f.col("compact") & (f.col("superseded") | f.col("value_null"))
    return _true(f.col("acked_offset") < f.col("start_offset")) | _true(cleaned)


def _is_doubtful() -> Column:
    """Absence proves nothing where the log was not read, or where nobody knows where to look."""
    no_offset = f.col("acked_offset").isNull()
    return (
        f.col("start_offset").isNull()
        | _true(f.col("acked_offset") >= f.col("read_to"))
        | (no_offset & (f.col("read_to").isNotNull() | f.col("value_null") | _true(f.col("start_offset") > 0)))
    )


def _superseded(attempts: DataFrame, sent: DataFrame, rows: DataFrame) -> DataFrame:
    """Add `superseded`: the key has a later record in the same partition, in the log or acked and not aborted.

    Later is a higher offset; where one of the two offsets is missing, a higher seq of the same producer.
    """
    sender = ["run_id", "producer"]
    # Only records that are absent and can be superseded are asked about; all others keep null and count as not.
    asking = attempts.filter("compact AND n_rows IS NULL AND outcome = 'acked' AND key IS NOT NULL")
    topics = asking.select("topic", "partition").distinct()
    in_log = rows.filter("key IS NOT NULL").join(topics, on=["topic", "partition"], how="left_semi")
    acked = sent.filter("key IS NOT NULL AND outcome = 'acked' AND txn_outcome <> 'aborted'").join(
        topics, on=["topic", "partition"], how="left_semi"
    )
    later = (
        in_log.select(*_KEYED, *sender, "seq", "offset", "own")
        .withColumn("seq", f.when(f.col("own"), f.col("seq")))
        .drop("own")
        .unionByName(acked.select(*_KEYED, *sender, "seq", f.col("acked_offset").alias("offset")))
    )
    by_offset = later.groupBy(*_KEYED).agg(f.max("offset").alias("top_offset"))
    by_seq = later.groupBy(*_KEYED, *sender).agg(
        f.max("seq").alias("top_seq"),
        f.max(f.when(f.col("offset").isNull(), f.col("seq"))).alias("top_seq_unplaced"),
    )
    compared = asking.select(*RECORD, "attempt", "key", "acked_offset").join(by_offset, on=_KEYED, how="left")
    compared = compared.join(by_seq, on=[*_KEYED, *sender], how="left")
    proof = (
        _true(f.col("top_offset") > f.col("acked_offset"))
        | _true(f.col("top_seq_unplaced") > f.col("seq"))
        | (f.col("acked_offset").isNull() & _true(f.col("top_seq") > f.col("seq")))
    )
    proven = compared.filter(proof).select(*RECORD, "attempt", f.lit(True).alias("superseded"))  # noqa: FBT003
    joined = attempts.join(proven, on=[*RECORD, "attempt"], how="left")
    return joined.withColumn("superseded", f.coalesce("superseded", f.lit(False)))  # noqa: FBT003
