"""What all scenarios of a run share."""

from __future__ import annotations

import socket
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from validate.pack import is_remote
from validate.plan import LEDGER_BYTES
from validate.run import shared
from validate.workload.clock import Clock

if TYPE_CHECKING:
    from contextlib import AbstractContextManager
    from pathlib import Path

    from pyspark.sql import SparkSession

    from validate.admin import Admin
    from validate.cluster import Cluster
    from validate.faults.record import Record
    from validate.run.folder import RunFolder


@dataclass
class Context:
    cluster: Cluster
    admin: Admin
    folder: RunFolder
    record: Record
    allow_faults: bool
    large: bool
    """Whether Spark is started for millions of records."""
    spark_master: str | None = None
    records: int = 0
    """The most that one scenario sends, as far as it is known."""
    clock: Clock = field(default_factory=Clock)
    machine: str = field(default_factory=socket.gethostname)
    number: int = 0
    _spark: SparkSession | None = None
    _sends: bool = True
    """Whether the tasks of the session at hand may send, and so are never tried again."""

    def spark(self, *, sends: bool = False) -> SparkSession:
        """One session for the whole run, started when first needed: by a remote master's ledger before any load.

        On a cluster, where executors die, load and judgement have each their own: tasks that only read are tried again.
        """
        if self._spark is not None and self._sends != sends and is_remote(self.spark_master):
            self.close()
        if self._spark is None:
            from validate import readback, session  # noqa: PLC0415  Spark's modules, only now

            size = max(LARGE_BYTES, int(self.records * LEDGER_BYTES)) if self.large else PACED_BYTES
            self._sends = sends or not is_remote(self.spark_master)
            self._spark = session.start(
                master=self.spark_master, size_bytes=size, jars=readback.jars(), sends=self._sends
            )
            if is_remote(self.spark_master) and session.is_open(self._spark):
                self.folder.say(OPEN)
        return self._spark

    def require_shared_ledger(self) -> None:
        """Told before the load: its rows are looked for when it is over."""
        if self.spark_master is not None and is_remote(self.spark_master):
            shared.require(self.spark(sends=True), self.folder.folder("ledger"), self.spark_master)

    @staticmethod
    def planned_for(spark: SparkSession, ledger: Path) -> AbstractContextManager[None]:
        """Within the block Spark plans for this ledger; it was started for the largest of the run."""
        from validate import session  # noqa: PLC0415  Spark's modules, only now
        from validate.ledger.read import size_on_disk  # noqa: PLC0415

        size = size_on_disk(ledger)
        return session.planned_for(spark, 0 if size < INTERPRETED_BYTES else size)

    def close(self) -> None:
        if self._spark is not None:
            try:
                self._spark.stop()
            except Exception as error:  # noqa: BLE001  a session that died already
                self.folder.say(f"Spark had ended before: {error}", quiet=True)
            self._spark = None

    def shared_spec(self, client: dict[str, Any], topics: list[dict[str, Any]]) -> dict[str, Any]:
        """What every workload of the scenario at hand is told."""
        return {
            "run_id": self.mark,
            "client": client,
            "clock": self.machine,
            "clock_offset_ns": self.clock.offset,
            "topics": topics,
        }

    @property
    def mark(self) -> str:
        """The run as it stands in every value: one per scenario, for topics may outlive it."""
        return f"{self.folder.run_id}.{self.number}"


OPEN = (
    "Logins of Kafka's clients go to Spark's executors in clear: set spark.authenticate and "
    "spark.network.crypto.enabled in its spark-defaults.conf, on both sides."
)
# What a paced scenario leaves is just too much for a session that interprets its plans instead of compiling them.
PACED_BYTES = 8 * 1024 * 1024
# In a session at work a ledger below this is judged as a small one all the same: making code costs more than it saves.
INTERPRETED_BYTES = 16 * 1024 * 1024
LARGE_BYTES = 256 * 1024 * 1024
