"""Spark reads every partition between fixed bounds into `log`; what it could not read is told in `log_bounds`."""

from __future__ import annotations

import json
import sys
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from common.errors import UnreadableError
from common.run import run
from validate.full import NotWritten, is_full
from validate.ledger.from_json import arrow_schema
from validate.readback import bounds as asking
from validate.readback.broken import read_to
from validate.readback.decode import log_rows
from validate.readback.options import java_settings

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from pyspark.sql import DataFrame, SparkSession

    from validate.readback.bounds import Bounds

ROOT = Path(__file__).resolve().parents[2]
FETCH_TIMEOUT_S = 1200
STABLE_WAIT_S = 60.0
# Each poll of Spark's costs two requests for offsets besides the fetch: few large ones are several times faster.
POLL_RECORDS = 50_000
FETCH_BYTES = 8 * 1024 * 1024
POLL_TIMEOUT_MS = 15_000
RECORDS_PER_TASK = 50_000
TASKS_PER_CORE = 3
WORTH_COMPILING = 100_000
# Columns in which hardly a number stands twice: looking for it in a dictionary, as Parquet does first, is in vain.
UNIQUE = {
    f"parquet.enable.dictionary#{name}": "false" for name in ("offset", "seq", "random_int", "payload_crc", "value_crc")
}


@dataclass(frozen=True)
class ReadBack:
    """What was read, and why it may not be all: any problem means that nobody may say `passed`."""

    bounds: list[Bounds]
    problems: list[str]

    @property
    def offsets(self) -> int:
        return sum(b.end_offset - b.start_offset for b in self.bounds)


def jars() -> list[str]:
    """Spark's source for Kafka, fetched once into the cache by the tool that knows its checksums."""
    out = run([sys.executable, "-m", "tools.spark.fetch"], timeout_s=FETCH_TIMEOUT_S, cwd=ROOT)
    found: list[str] = json.loads(out)
    return found


def read(
    spark: SparkSession,
    client: Mapping[str, Any],
    topics: Iterable[tuple[str, int]],
    ledger: Path | str,
    *,
    admin: Mapping[str, Any] | None = None,
    wait_s: float = STABLE_WAIT_S,
) -> ReadBack:
    """Write `log` and `log_bounds` of these topics (name, partitions). `client` and `admin` are librdkafka's settings.

    `admin` is who may describe the topics, if the reader may not.
    """
    shapes = list(topics)
    taken = asking.take(client if admin is None else admin, shapes, wait_s=wait_s)
    found, problems = taken.bounds, list(taken.problems)
    root = Path(ledger)
    names = [topic for topic, _ in shapes]
    try:
        _write(spark, client, found, names, root / "log")
    except Exception as error:  # of many types; where the read broke off is found out now
        if is_full(error):
            raise NotWritten(error, root / "log") from error
        found = [replace(one, read_to=read_to(client, one)) for one in found]
        short = [one for one in found if one.read_to is not None]
        problems += [f"{one.topic}-{one.partition} is unreadable from offset {one.read_to}" for one in short]
        if not short:
            raise _failed(error) from error
        _write_readable(spark, client, found, names, root / "log")
    _write_bounds(found, root / "log_bounds")
    return ReadBack(found, problems)


def _write_readable(
    spark: SparkSession, client: Mapping[str, Any], found: list[Bounds], names: list[str], target: Path
) -> None:
    try:
        _write(spark, client, found, names, target)
    except Exception as error:
        raise _failed(error) from error


def _failed(error: Exception) -> UnreadableError:
    lines = [line.strip() for line in str(error).splitlines() if line.strip() and not line.lstrip().startswith("at ")]
    return UnreadableError(
        "The final read failed, and not because of a record.",
        details=" | ".join(lines[:6])[:1000],
        resolution="See the reason above: the cluster, the reader's rights, or Spark itself.",
    )


def _write(spark: SparkSession, client: Mapping[str, Any], found: list[Bounds], names: list[str], target: Path) -> None:
    records = log_rows(kafka_records(spark, client, found), names)
    with _compiled(spark, sum(one.end_offset - one.start_offset for one in found)):
        records.write.mode("overwrite").options(**UNIQUE).parquet(str(target))


@contextmanager
def _compiled(spark: SparkSession, count: int) -> Iterator[None]:
    """A session for a small ledger compiles nothing; from some number of records on, compiling the read pays."""
    wanted = {"spark.sql.codegen.wholeStage": "true", "spark.sql.codegen.factoryMode": "FALLBACK"}
    before = {key: spark.conf.get(key) for key in wanted} if count >= WORTH_COMPILING else {}
    for key in before:
        spark.conf.set(key, wanted[key])
    try:
        yield
    finally:
        for key, value in before.items():
            spark.conf.set(key, value or "")


def kafka_records(spark: SparkSession, client: Mapping[str, Any], found: list[Bounds]) -> DataFrame:
    """Kafka's records between the bounds, as Spark's source gives them. Nothing is read before somebody asks."""
    ends = {one.place: one.end_offset if one.read_to is None else one.read_to for one in found}
    total = sum(ends[one.place] - one.start_offset for one in found)
    cores = spark.sparkContext.defaultParallelism
    tasks = min(TASKS_PER_CORE * cores, total // RECORDS_PER_TASK)
    settings = {
        **java_settings(client),
        "isolation.level": asking.READ_COMMITTED,
        "max.poll.records": str(POLL_RECORDS),
        "max.partition.fetch.bytes": str(FETCH_BYTES),
        "fetch.max.bytes": str(2 * FETCH_BYTES),
        "receive.buffer.bytes": "1048576",
        # At a log's end a fetch waits for more, and the consumer's next request to that broker waits behind it.
        "fetch.max.wait.ms": "10",
    }
    source = spark.read.format("kafka").options(**{f"kafka.{key}": value for key, value in settings.items()})
    return source.options(
        assign=_by_topic({one.place: None for one in found}),
        startingOffsets=_by_topic({one.place: one.start_offset for one in found}),
        endingOffsets=_by_topic(ends),
        failOnDataLoss="true",
        **{"kafkaConsumer.pollTimeoutMs": str(POLL_TIMEOUT_MS)},
        **({"minPartitions": str(tasks)} if tasks > len(found) else {}),
    ).load()


def _by_topic(places: Mapping[tuple[str, int], int | None]) -> str:
    """Spark's way of naming partitions: {"topic": [0, 1]}, or with offsets {"topic": {"0": 23}}."""
    named: dict[str, Any] = {}
    for (topic, partition), offset in places.items():
        if offset is None:
            named.setdefault(topic, []).append(partition)
        else:
            named.setdefault(topic, {})[str(partition)] = offset
    return json.dumps(named)


def _write_bounds(found: list[Bounds], target: Path) -> None:
    target.mkdir(parents=True, exist_ok=True)
    table = pa.Table.from_pylist([asdict(one) for one in found], schema=arrow_schema("log_bounds"))
    pq.write_table(table, target / "final.parquet")
