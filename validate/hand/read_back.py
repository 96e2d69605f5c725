"""Makes a ledger that was written by hand ready for the judge: journals sealed, the topic read to its end."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from common.errors import UsageError
from common.files import write_whole
from validate.hand import FILE
from validate.workload import journal

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

    from validate.cluster import Cluster

READ = "read"  # journals and their sizes, as they were when the topic was read


def require_read(ledger: Path) -> None:
    """What was done by hand since the topic was read last is in no table yet: a verdict would be on the time before."""
    if not (ledger / FILE).is_file():
        return
    from validate.hand.bench import known_of  # noqa: PLC0415  its client of Kafka, only now

    known = known_of(ledger) or {}
    if known.get(READ, {}) != _journals(ledger):
        raise UsageError(
            f"Not all of {ledger} was read back.",
            details="Clients worked on it since, by hand; when they have ended its topic has to be read.",
            resolution=f"python -m validate judge {ledger} --read-back, with the --stack or --cluster that they had.",
        )


def read_back(spark: SparkSession, cluster: Cluster, ledger: Path) -> list[str]:
    """Returns what could not be read."""
    from validate import readback  # noqa: PLC0415  Spark's modules, only now
    from validate.hand.bench import check_same, known_of  # noqa: PLC0415
    from validate.workload.seal import seal  # noqa: PLC0415
    from validate.workplace import Workplace  # noqa: PLC0415

    known = known_of(ledger)
    if known is None:
        raise UsageError(
            f"{ledger} was not written by hand: there is no {FILE}.",
            resolution="--read-back is for ledgers of python -m validate produce and consume; leave it out.",
        )
    check_same(Workplace(cluster, known["user"]), ledger, known)
    sealed = _journals(ledger)
    seal(ledger)
    admin = cluster.client(cluster.admin_user)
    found = readback.read(spark, cluster.client(known["user"]), list(known["topics"].items()), ledger, admin=admin)
    write_whole(ledger / FILE, json.dumps(known | {READ: sealed}) + "\n")
    return found.problems


def _journals(ledger: Path) -> dict[str, int]:
    return {path.name: path.stat().st_size for path in sorted((ledger / journal.FOLDER).glob(f"*{journal.SUFFIX}"))}
