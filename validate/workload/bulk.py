"""Bulk load by Spark: each topic and partition is one task, so the load grows with the Spark cluster.

The driver writes all reservations before the job begins; the tasks give their rows back as Arrow batches. A task that
Spark would run a second time refuses: its records may be on the brokers already, and nobody may send them again unseen.
"""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark import TaskContext
from pyspark.sql import DataFrame
from pyspark.sql.udf import UserDefinedFunction
from pyspark.util import PythonEvalType

from common.errors import KastellanError, UsageError
from validate.ledger.from_json import arrow_schema
from validate.workload.clock import Clock
from validate.workload.producer import Sending, identity
from validate.workload.rows import Rows
from validate.workload.seal import reserved
from validate.workload.shape import check_topics
from validate.workload.spec import ProducerSpec

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pyspark.sql import SparkSession

    from validate.workload.block import Block

ROWS_PER_BATCH = 10_000
CLAIMS = "claims"
TASKS = "topic string, partition int, producer string"
SENT = (
    "run_id string, producer string, topic string, partition long, seq long, attempt long, key binary,"
    " value_null boolean, value_crc long, random_int long, acks string, idempotent boolean, max_in_flight long,"
    " txn string, invoked_at timestamp, done_at timestamp, outcome string, error string, acked_offset long,"
    " clock string"
)


def load(spark: SparkSession, given: dict[str, Any]) -> dict[str, int]:
    """Send what a producer's spec asks for (`count` per topic) and write `reservations` and `sent`; gives the outcomes.

    The ledger is a folder that driver and tasks share. Each task is a producer of its own: `<name>-<number>`.
    """
    spec = ProducerSpec.parse(given)
    if spec.count is None:
        raise UsageError("A bulk load needs a count.", resolution='Add "count": 1000000 (records per topic).')
    check_topics(spec)
    lanes = spec.lanes
    specs = [replace(spec, name=f"{spec.name}-{number}") for number in range(len(lanes))]
    _reserve(spec, specs)
    tasks = [(topic, partition, one.name) for (topic, partition), one in zip(lanes, specs, strict=True)]
    # One row a task: what it is to do. The client's secrets travel inside the function, which no plan shows.
    frame = spark.createDataFrame(spark.sparkContext.parallelize(tasks, len(tasks)), TASKS)
    rows = _map_in_arrow(frame, _task(asdict(spec) | {"topics": [asdict(t) for t in spec.topics]}), SENT)
    before = spark.conf.get("spark.sql.session.timeZone")
    spark.conf.set("spark.sql.session.timeZone", "UTC")
    try:
        rows.write.mode("append").parquet(f"{spec.ledger}/sent")
    except Exception as error:
        raise KastellanError(
            "The bulk load broke off.",
            details=_first_lines(error),
            resolution="What was sent is covered by its reservations; judge it or begin again under another name.",
        ) from error
    finally:
        spark.conf.set("spark.sql.session.timeZone", before or "UTC")
    names = [one.name for one in specs]
    sent = spark.read.parquet(f"{spec.ledger}/sent")
    counted = sent.filter(sent.producer.isin(names)).groupBy("outcome").count().collect()
    return {row["outcome"]: row["count"] for row in counted}


def _reserve(spec: ProducerSpec, specs: list[ProducerSpec]) -> None:
    folder = Path(spec.ledger) / "reservations"
    folder.mkdir(parents=True, exist_ok=True)
    target = folder / f"{spec.name}.parquet"
    if target.exists():
        raise UsageError(
            f"There is a load named {spec.name!r} in this ledger already.",
            resolution="Give each load a name of its own, e.g. load-2.",
        )
    rows = []
    for place, one in zip(spec.lanes, specs, strict=True):
        rows += reserved(identity(one), [place], {0: spec.share(*place) or 0})
    pq.write_table(pa.Table.from_pylist(rows, schema=arrow_schema("reservations")), target)


def _map_in_arrow(frame: DataFrame, work: Callable[[Any], Any], schema: str) -> DataFrame:
    """DataFrame.mapInArrow without its demand for pandas, which the way of Arrow batches never touches."""
    function = UserDefinedFunction(work, returnType=schema, evalType=PythonEvalType.SQL_MAP_ARROW_ITER_UDF)
    column: Any = function(*[frame[name] for name in frame.columns])
    made = frame._jdf.mapInArrow(column._jc, False, None)  # noqa: FBT003, SLF001  no barrier, no profile
    return DataFrame(made, frame.sparkSession)


def _task(given: dict[str, Any]) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def send(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        _refuse_repetition()
        for batch in batches:
            for row in batch.to_pylist():
                yield from _send(ProducerSpec.parse(given | {"name": row["producer"]}), row["topic"], row["partition"])

    return send


def _refuse_repetition() -> None:
    context = TaskContext.get()
    if context is not None and (context.attemptNumber() or _stage_attempt(context)):
        raise KastellanError(
            "Spark runs a task of the load a second time: refused, its records may have been sent already.",
            resolution="Set spark.task.maxFailures=1 and spark.speculation=false, and load under another name.",
        )


def _stage_attempt(context: TaskContext) -> int:
    return int(getattr(context, "stageAttemptNumber", lambda: 0)())


def _send(spec: ProducerSpec, topic: str, partition: int) -> Iterator[pa.RecordBatch]:
    """One producer of one partition; rows as soon as there are enough of them."""
    _claim(spec)
    gathered = Rows(identity(spec), topic, partition)
    pace = None if spec.records_per_s is None else spec.records_per_s / len(spec.lanes)
    sending = Sending(
        replace(spec, records_per_s=pace), Clock(spec.clock_offset_ns), _reserved_before, [(topic, partition)]
    )
    for block in sending.run(lambda: False):
        gathered.add(block)
        if len(gathered) >= ROWS_PER_BATCH:
            yield gathered.batch()
            gathered = Rows(identity(spec), topic, partition)
    if len(gathered):
        yield gathered.batch()


def _reserved_before(_: Block) -> None:
    """The driver has written down what this task may send."""


def _claim(spec: ProducerSpec) -> None:
    """A second life of the same task finds the first one's claim, whatever Spark says about it."""
    folder = Path(spec.ledger) / CLAIMS
    folder.mkdir(parents=True, exist_ok=True)
    try:
        (folder / spec.name).open("x").close()
    except FileExistsError:
        raise KastellanError(
            f"{spec.name} has begun to send before: refused, its records may have been sent already.",
            resolution="Load again under another name.",
        ) from None


def _first_lines(error: Exception) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip() and not line.lstrip().startswith("at ")]
    return " | ".join(lines[:6])[:1000]
