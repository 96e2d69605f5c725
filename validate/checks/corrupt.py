"""corrupt: checksum or key in the log are not what was sent."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as f

from validate.checks.finding import VIOLATION, findings, firsts

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_KEYS = ["run_id", "producer", "in_topic", "in_partition", "seq", "attempt"]


def corrupt(rows: DataFrame) -> DataFrame:
    """One finding per record and attempt, at the first bad row. A checksum that is null proves nothing, a key does."""
    tests = {
        "value_crc": f.col("value_crc") != f.col("s_value_crc"),
        "payload_crc": f.col("payload_crc") != f.col("s_value_crc"),
        "payload_crc against value_crc": f.col("payload_crc") != f.col("value_crc"),
        "key": f.col("known") & ~f.col("key").eqNullSafe(f.col("s_key")),
    }
    what = f.concat_ws(", ", *(f.when(test, name) for name, test in tests.items()))
    bad = rows.filter("ours").withColumn("what", what).filter("what <> ''")
    return findings(firsts(bad, _KEYS, "what"), "corrupt", VIOLATION, note="what")
