"""Findings on their way out: one write, exact counts, and the first of them for the summary."""

from __future__ import annotations

import os
import shutil
import tempfile
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from common.errors import UnreadableError, UsageError
from validate import hand
from validate.checks.finding import FINDING, VERDICTS
from validate.checks.table import CHECKS
from validate.full import is_full
from validate.ledger.read import is_url
from validate.summary import SHOWN

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pyspark.sql import SparkSession

    from validate.expect import Rule

SCHEMA = (
    "anomaly string, verdict string, topic string, partition int, producer string, seq bigint, attempt int,"
    " offset bigint, detail string, note string"
)
_NARROW = ("partition", "attempt")
_KINDS = {"string": pa.string(), "int": pa.int32(), "bigint": pa.int64()}
_NONE = pa.schema([(name, _KINDS[kind]) for name, kind in map(str.split, SCHEMA.split(","))]).empty_table()


def place_beside(ledger: str) -> str:
    """Where findings go unless told: `findings/` beside the ledger, else a temporary directory.

    A folder of that name that holds anything but findings is somebody else's and is left alone. Ledgers written by hand
    lie side by side; each has findings of its own there.
    """
    if not is_url(ledger):
        whole = Path(ledger).resolve()
        beside = whole.parent / (f"findings-{whole.name}" if (whole / hand.FILE).is_file() else "findings")
        try:
            if _holds_findings_alone(beside):
                beside.mkdir(exist_ok=True)
                with tempfile.TemporaryFile(dir=beside):
                    return str(beside)
        except OSError:  # not ours to write to
            pass
    return tempfile.mkdtemp(prefix="kastellan-findings-")


def place_named(out: str, ledger: str) -> str:
    """Where the user wants the findings. They replace what is there, so it must be findings of before or nothing."""
    folder = Path(out.removeprefix("file://").removeprefix("file:"))
    if not is_url(out) and not is_url(ledger) and folder.resolve().is_relative_to(Path(ledger).resolve()):
        raise UsageError(
            f"{str(folder)!r} is in the ledger itself.",
            details="Findings there would be taken for records, or take their place.",
            resolution="Name a folder outside it with --out, e.g. findings.",
        )
    if not is_url(out) and not _holds_findings_alone(folder):
        raise UsageError(
            f"{str(folder)!r} is {'a folder that holds other things' if folder.is_dir() else 'a file'}.",
            details="Findings would take its place.",
            resolution="Name a new or an empty folder with --out, e.g. findings.",
        )
    return out


def _holds_findings_alone(folder: Path) -> bool:
    """Also where nothing is at all."""
    if not folder.is_dir():
        return not os.path.lexists(folder)
    for entry in folder.iterdir():
        if entry.name == "_temporary":  # of a judge that was ended while it wrote
            continue
        if entry.is_dir() or not entry.name.lstrip("._").startswith(("part-", "SUCCESS")):
            return False
        if entry.name.endswith(".parquet") and not _is_of_findings(entry):
            return False  # whatever Spark writes has such names
    return True


def _is_of_findings(part: Path) -> bool:
    try:
        return list(pq.read_schema(part).names) == list(FINDING)
    except (OSError, pa.ArrowInvalid):
        return False


def nothing(spark: SparkSession) -> DataFrame:
    """Findings of a ledger in which no check has anything to read."""
    return spark.createDataFrame([], SCHEMA).select(
        *(f.col(name).cast("bigint") if name in _NARROW else f.col(name) for name in FINDING)
    )


def write(found: list[tuple[str, DataFrame]], out: str) -> list[str]:
    """Write all findings at once. If that fails, find out which checks crash, and write what the others found."""
    try:
        _write([frame for _, frame in found], out)
    except Exception as error:
        _refuse_full_disk(error, out)
        good, crashed = [], []
        for name, frame in found:
            try:
                frame.write.format("noop").mode("overwrite").save()
            except Exception as cause:  # noqa: BLE001  the same
                crashed.append(crash(name, cause))
            else:
                good.append(frame)
        if not crashed:
            raise _not_written(error, out) from error
        if good:
            _write(good, out)
        else:
            _write([found[0][1].limit(0)], out)
        return crashed
    return []


def _write(frames: Iterable[DataFrame], out: str) -> None:
    whole = reduce(DataFrame.unionAll, frames)
    # try_cast: a partition number beyond 32 bits is nonsense, but no reason to crash.
    narrow = [f.col(name).try_cast("int").alias(name) if name in _NARROW else f.col(name) for name in FINDING]
    frame = whole.select(*narrow)
    if frame.sparkSession.conf.get("spark.sql.shuffle.partitions") == "1":
        frame = frame.coalesce(1)  # a small ledger: one task and one file instead of dozens
    frame.write.mode("overwrite").parquet(out)


def write_none(out: str) -> None:
    """Findings of a ledger that has none, in a folder of this machine. They take the place of those of before."""
    folder = Path(out.removeprefix("file://").removeprefix("file:"))
    try:
        # Emptied, not removed: it may be a link, and what cannot be removed must not pass for findings of this ledger.
        folder.mkdir(parents=True, exist_ok=True)
        for entry in folder.iterdir():
            if entry.is_dir() and not entry.is_symlink():
                shutil.rmtree(entry)
            else:
                entry.unlink()
        pq.write_table(_NONE, folder / "part-00000.parquet")
    except OSError as error:
        _refuse_full_disk(error, out)
        raise _not_written(error, out) from error


def _not_written(error: Exception, out: str) -> UnreadableError:
    return UnreadableError(
        f"The findings cannot be written to {out}.",
        details=first_lines(error),
        resolution="Name a folder that can be written with --out.",
    )


def _refuse_full_disk(error: Exception, out: str) -> None:
    if not is_full(error):
        return
    shutil.rmtree(out, ignore_errors=True)  # half of the findings would pass for all of them
    raise UnreadableError(
        f"The disk is full: the findings could not be written to {out}.",
        details=first_lines(error),
        resolution="Free some space, or name another place with --out; Spark's scratch space is SPARK_LOCAL_DIRS.",
    ) from error


def unreadable(error: Exception) -> UnreadableError:
    """Why the first look at a ledger broke off: its files, or Spark itself."""
    ended = isinstance(error, OSError) or "SparkContext was shut down" in str(error) or "Java side" in str(error)
    if ended:
        return UnreadableError(
            "Spark ended before the judgement did.",
            details=first_lines(error),
            resolution="Look who stopped it (too little memory, a signal), and judge again.",
        )
    return BrokenError(
        "A part of the ledger cannot be read.",
        details=first_lines(error),
        resolution="Seal or copy the named file again.",
    )


class BrokenError(UnreadableError):
    """Something in the ledger's files is broken, and Spark alone does not say all of it."""


class Written:
    """Findings as they were written: what is counted here is what everybody can read there."""

    def __init__(self, spark: SparkSession, out: str) -> None:
        self._frame = spark.read.schema(SCHEMA).parquet(out)
        self.counts = {check.anomaly: dict.fromkeys(VERDICTS, 0) for check in CHECKS}
        self._by_topic: dict[tuple[str, str | None], int] = {}
        for row in self._frame.groupBy("anomaly", "verdict", "topic").agg(f.count("*").alias("n")).collect():
            self.counts[row["anomaly"]][row["verdict"]] += row["n"]
            key = (row["anomaly"], row["topic"])
            self._by_topic[key] = self._by_topic.get(key, 0) + row["n"]

    def seen(self, rule: Rule) -> int:
        """How many findings a rule of the expectation is about."""
        return sum(n for (name, topic), n in self._by_topic.items() if name == rule.anomaly and rule.covers(topic))

    def first(self, *, inconclusive: bool) -> list[dict[str, Any]]:
        """The first thousand, violations before all else."""
        if not self._by_topic:
            return []
        rank = f.array_position(f.lit(list(VERDICTS)), f.col("verdict"))
        order = ["anomaly", "topic", "partition", "producer", "seq", "attempt", "offset", "detail", "note"]
        shown = [row.asDict() for row in self._frame.orderBy(rank, *order).limit(SHOWN).collect()]
        if inconclusive:
            for finding in shown:
                finding["inconclusive"] = True
        return shown


def crash(name: str, error: Exception) -> str:
    return f"check {name} crashed: {first_lines(error)}"


def first_lines(error: Exception) -> str:
    """The part of a Java stack trace that a person can use."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip() and not line.lstrip().startswith("at ")]
    return " | ".join(lines[:4])[:600]
