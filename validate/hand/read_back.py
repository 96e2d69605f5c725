"""Makes a ledger that was written by hand ready for the judge: journals sealed, the topic read to its end."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from common.errors import UsageError
from validate.hand import FILE
from validate.workload import journal

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

    from validate.cluster import Cluster


def require_read(ledger: Path) -> None:
    """What was done by hand since the topic was read last is in no table yet: a verdict would be on the time before."""
    if not (ledger / FILE).is_file():
        return
    written_s = [path.stat().st_mtime for path in (ledger / journal.FOLDER).glob(f"*{journal.SUFFIX}")]
    read_s = [path.stat().st_mtime for path in (ledger / "log_bounds").glob("*.parquet")]
    if written_s and max(written_s) > min(read_s, default=0.0):
        raise UsageError(
            f"Of {ledger} there is more than was read back, or nothing was yet.",
            details="It was written by hand; its topic has to be read once all clients have ended.",
            resolution=f"python -m validate judge {ledger} --read-back",
        )


def read_back(spark: SparkSession, cluster: Cluster, ledger: Path) -> list[str]:
    """Returns what could not be read."""
    from validate import readback  # noqa: PLC0415  Spark's modules, only now
    from validate.workload.seal import seal  # noqa: PLC0415

    path = ledger / FILE
    if not path.is_file():
        raise UsageError(
            f"{ledger} was not written by hand: there is no {FILE}.",
            resolution="--read-back is for ledgers of python -m validate produce and consume; leave it out.",
        )
    known = json.loads(path.read_text(encoding="utf-8"))
    seal(ledger)
    admin = cluster.client(cluster.admin_user)
    found = readback.read(spark, cluster.client(known["user"]), list(known["topics"].items()), ledger, admin=admin)
    return found.problems
