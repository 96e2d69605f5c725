"""Whether executors see the folder of the ledger, asked before anything is sent: else rows lie on their own disks."""

from __future__ import annotations

import os
import secrets
import socket
from pathlib import Path
from typing import TYPE_CHECKING

from common.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pyspark.sql import SparkSession

SEEN = ""


def require(spark: SparkSession, folder: Path, master: str) -> None:
    """A file of this machine, of a name that was never there, is looked for by a task on each core of the cluster."""
    sign = folder / f".seen-by-executors-{secrets.token_hex(8)}"
    sign.touch()
    try:
        context = spark.sparkContext
        # One task a core: they run side by side, so no executor is left out where each has room for one.
        tasks = max(context.defaultParallelism, 1)
        looked = context.parallelize(range(tasks), tasks).mapPartitions(Look(str(sign))).collect()
    finally:
        sign.unlink(missing_ok=True)
    if blind := sorted({f"{machine}: {trouble}" for machine, trouble in looked if trouble != SEEN}):
        raise UsageError(
            f"The ledger's folder {folder} is not shared with the executors of {master}.",
            details="\n".join(blind),
            resolution="Mount one folder at the same path here and on every worker, writable for the user that runs"
            " executors, and name it: --ledger DIR.",
        )


class Look:
    """What a task does: a class, so that it travels by its name and finds our modules in the zip."""

    def __init__(self, sign: str) -> None:
        self.sign = sign

    def __call__(self, _: Iterable[int]) -> Iterator[tuple[str, str]]:
        yield socket.gethostname(), self.trouble()

    def trouble(self) -> str:
        sign = Path(self.sign)
        if not sign.parent.is_dir():
            return "there is no such folder"
        if not sign.exists():
            return "there is such a folder, but what the driver has just written into it is not there"
        if not os.access(sign.parent, os.W_OK | os.X_OK):
            return f"user {os.geteuid()} may not write into it"
        return SEEN
