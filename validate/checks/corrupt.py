"""corrupt: checksum or key in the log are not what was sent."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as f

from validate.checks.finding import VIOLATION, findings, firsts

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

_KEYS = ["run_id", "producer", "in_topic", "in_partition", "seq", "attempt"]


def differences() -> dict[str, Column]:
    """What may differ. A checksum that is null proves nothing, a key that is null does."""
    return {
        "value_crc": f.col("value_crc") != f.col("s_value_crc"),
        "payload_crc": f.col("payload_crc") != f.col("s_value_crc"),
        "payload_crc against value_crc": f.col("payload_crc") != f.col("value_crc"),
        "key": f.col("known") & ~f.col("key").eqNullSafe(f.col("s_key")),
    }


def corrupt(rows: DataFrame) -> DataFrame:
    """One finding per record and attempt, at the first bad row."""
    what = f.concat_ws(", ", *(f.when(test, name) for name, test in differences().items()))
    bad = rows.filter("ours").withColumn("what", what).filter("what <> ''")
    return findings(firsts(bad, _KEYS, "what"), "corrupt", VIOLATION, note="what")
