"""A ledger as DataFrames, with the list of what could not be read. Reading decides nothing about records."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyspark.sql import functions as f
from pyspark.sql import types as t

from common.errors import UsageError
from common.texts import from_json
from validate.ledger.files import Batch, Found, Problem, fits, look_at, parquet_files
from validate.ledger.schema import FAULTS_FILE, PHASES, REQUIRED, TABLES, Column, Kind

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pyspark.sql import Column as SparkColumn
    from pyspark.sql import DataFrame, SparkSession

SPARK_TYPE: dict[Kind, t.DataType] = {
    "string": t.StringType(),
    "long": t.LongType(),
    "bool": t.BooleanType(),
    "time": t.TimestampType(),
    "binary": t.BinaryType(),
}


@dataclass(frozen=True)
class Fault:
    """One line of faults.jsonl."""

    fault: str
    target: str
    phase: str
    at: datetime


@dataclass
class Ledger:
    """The tables that could be read; a table that is not there is not in `tables`."""

    tables: dict[str, DataFrame]
    faults: list[Fault] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    sizes: dict[str, int] = field(default_factory=dict)
    batches: dict[str, list[Batch]] = field(default_factory=dict)

    @property
    def size_bytes(self) -> int:
        return sum(self.sizes.values())

    def has(self, *names: str) -> bool:
        return all(name in self.tables for name in names)


def is_url(place: str) -> bool:
    """Hadoop's way of naming a place (hdfs://, s3a://); everything else is a folder of this machine."""
    return "://" in place and not place.startswith("file:")


def size_on_disk(root: Path) -> int:
    """Bytes of the tables alone: the journals that they were sealed from may lie beside them."""
    return sum(path.stat().st_size for table in TABLES for path in parquet_files(root / table))


def open_ledger(spark: SparkSession, place: str, *, without: Iterable[Problem] = ()) -> Ledger:
    """Open every folder of a ledger. Raises only if there is no such place: all else is told in `problems`.

    `without` names files that are known to be broken inside; they are told of and left out.
    """
    if is_url(place):
        return _open_remote(spark, place)
    root = Path(place.removeprefix("file://").removeprefix("file:"))
    if not root.is_dir():
        raise UsageError(
            f"There is no ledger folder {str(root)!r}.",
            details="It is a file." if root.exists() else "",
            resolution="Name the folder that holds sent/, log/ ..., e.g. .kastellan/local/runs/<run>/ledger.",
        )
    ledger = Ledger({}, problems=list(without))
    left_out = {problem.where for problem in ledger.problems}
    for table, columns in TABLES.items():
        there = parquet_files(root / table)
        files = [path for path in there if str(path) not in left_out]
        batches, problems = look_at(table, files, columns)
        ledger.problems.extend(problems)
        ledger.sizes[table] = sum(path.stat().st_size for path in files)
        if batches:
            ledger.tables[table] = _union(spark, columns, batches)
            ledger.batches[table] = batches
        elif table in REQUIRED and not there:
            ledger.problems.append(_missing(root / table))
    _read_faults(ledger, root / FAULTS_FILE)
    return ledger


def valid(table: str, *, full: frozenset[str] = frozenset()) -> SparkColumn:
    """Rows that keep the schema's promises: no null where none may be, no word that is not in the list.

    Columns in `full` are known to hold no null: a column that is needed for nothing else is then not read.
    """
    promise = f.lit(True)  # noqa: FBT003  a literal of the query
    for column in TABLES[table]:
        if not column.optional and column.name not in full:
            promise = promise & f.col(column.name).isNotNull()
        if column.values is not None:
            promise = promise & f.col(column.name).isin(*column.values)
    return f.coalesce(promise, f.lit(False))  # noqa: FBT003


def invalid_rows(ledger: Ledger, table: str) -> list[Problem]:
    """Which column of which file breaks the schema's promises, and how often. Asked only if one does."""
    frame = ledger.tables[table].filter(~valid(table)).withColumn("file", f.input_file_name())
    broken: list[tuple[Column, str, SparkColumn]] = []
    for column in TABLES[table]:
        if not column.optional:
            broken.append((column, "null", f.col(column.name).isNull()))
        if column.values is not None:
            broken.append((column, "word", ~f.col(column.name).isin(*column.values)))
    sums = [f.count_if(test).alias(f"n{i}") for i, (_, _, test) in enumerate(broken)]
    words = [
        f.min(f.when(test, f.col(column.name))).alias(f"w{i}")
        for i, (column, why, test) in enumerate(broken)
        if why == "word"
    ]
    problems = []
    for row in frame.groupBy("file").agg(*sums, *words).orderBy("file").limit(20).collect():
        for i, (column, why, _) in enumerate(broken):
            if row[f"n{i}"]:
                what = "null" if why == "null" else f"{row[f'w{i}']!r}"
                problems.append(_broken_promise(row["file"], table, column, what, row[f"n{i}"]))
    return problems


def _broken_promise(file: str, table: str, column: Column, what: str, count: int) -> Problem:
    good = f"one of {', '.join(column.values)}" if column.values else f"a {column.kind}"
    return Problem(
        file.removeprefix("file://"),
        f"{table}.{column.name} is {what} in {count} rows",
        f"Write {good} there; these rows are not judged.",
    )


def _missing(place: Path | str) -> Problem:
    written_by_hand = Path(f"{place}.jsonl")
    if written_by_hand.is_file():
        return Problem(
            str(written_by_hand),
            "these are JSON lines, a ledger is Parquet",
            f"python -m validate.ledger.from_json {written_by_hand.parent} DIR, then judge DIR.",
        )
    return Problem(
        str(place),
        "a required folder is missing or holds no Parquet file",
        "Seal the journals of the run, or name the folder that holds sent/, log/ and log_bounds/.",
    )


def _union(
    spark: SparkSession, columns: tuple[Column, ...], batches: Iterable[Batch], *, lean: bool = False
) -> DataFrame:
    frames = [_read(spark, columns, batch, lean=lean) for batch in batches]
    whole = frames[0]
    for frame in frames[1:]:
        whole = whole.unionAll(frame)
    # Of a small ledger each table is one partition: no join, group or window then has to exchange its rows first.
    small = spark.conf.get("spark.sql.shuffle.partitions") == "1"
    return whole.coalesce(1) if small and not lean else whole


def lean(spark: SparkSession, ledger: Ledger, table: str) -> DataFrame:
    """The same table, in which columns that hold one value only are told by the footers and not read."""
    batches = ledger.batches.get(table)
    return _union(spark, TABLES[table], batches, lean=True) if batches else ledger.tables[table]


def never_null(ledger: Ledger, table: str) -> frozenset[str]:
    """Columns in which no row of the table has a null, as all footers say."""
    full = [batch.full for batch in ledger.batches.get(table, ())]
    return frozenset.intersection(*full) if full else frozenset()


def _read(spark: SparkSession, columns: tuple[Column, ...], batch: Batch, *, lean: bool) -> DataFrame:
    schema = t.StructType(
        [t.StructField(name, found.spark_type) for name, found in batch.columns.items() if found.spark_type is not None]
    )
    frame = spark.read.schema(schema).parquet(*batch.paths)
    told = batch.constants if lean else {}
    return frame.select(
        *(
            f.lit(told[column.name]).cast(SPARK_TYPE[column.kind]).alias(column.name)
            if column.name in told and column.kind in ("string", "long", "bool")
            else _cast(column, batch.columns.get(column.name))
            for column in columns
        )
    )


def _cast(column: Column, found: Found | None) -> SparkColumn:
    wanted = SPARK_TYPE[column.kind]
    if found is None or found.spark_type is None:
        return f.lit(None).cast(wanted).alias(column.name)
    if found.nanos:
        return f.timestamp_micros(f.expr(f"`{column.name}` div 1000")).alias(column.name)
    return f.col(column.name).cast(wanted).alias(column.name)


def _open_remote(spark: SparkSession, place: str) -> Ledger:
    """A ledger behind a Hadoop URL: Spark itself looks at the files, folder by folder."""
    ledger = Ledger({})
    for table, columns in TABLES.items():
        where = f"{place.rstrip('/')}/{table}"
        try:
            frame = spark.read.parquet(where)
        except Exception as error:  # noqa: BLE001  Hadoop's file systems raise what they like; told as a problem
            if table in REQUIRED or "PATH_NOT_FOUND" not in str(error):
                missing = _missing(where)
                ledger.problems.append(Problem(where, f"{missing.what} ({str(error)[:160]})", missing.resolution))
            continue
        found = {name: Found(frame.schema[name].dataType) for name in frame.columns}
        lacking = [c for c in columns if not c.optional and not (c.name in found and fits(found[c.name], c.kind))]
        for column in lacking:
            ledger.problems.append(
                Problem(
                    where, f"{table} has no column {column.name!r} of kind {column.kind}", "Write it into every file."
                )
            )
        for column in columns:
            if column.optional and column.name in found and not fits(found[column.name], column.kind):
                ledger.problems.append(
                    Problem(
                        where, f"{table}.{column.name} is no {column.kind}", f"Write {column.name} as {column.kind}."
                    )
                )
        if not lacking:
            good = {c.name: found[c.name] for c in columns if c.name in found and fits(found[c.name], c.kind)}
            ledger.tables[table] = frame.select(*(_cast(column, good.get(column.name)) for column in columns))
    try:
        faults = spark.read.text(f"{place.rstrip('/')}/{FAULTS_FILE}*")
        _parse_faults(ledger, FAULTS_FILE, [row[0] for row in faults.collect()])
    except Exception:  # noqa: BLE001  no faults file: nothing was broken on purpose
        ledger.faults = []
    return ledger


def _read_faults(ledger: Ledger, path: Path) -> None:
    if not path.exists():
        return
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        ledger.problems.append(Problem(str(path), f"unreadable ({error})", "Write one JSON object per line in UTF-8."))
        return
    _parse_faults(ledger, str(path), lines)


def _parse_faults(ledger: Ledger, name: str, lines: list[str]) -> None:
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            ledger.faults.append(_fault(from_json(line)))
        except (ValueError, KeyError, TypeError, AttributeError, OverflowError) as error:
            ledger.problems.append(
                Problem(
                    f"{name}:{number}",
                    f"no fault ({type(error).__name__}: {error})",
                    'Write {"fault": ..., "target": ..., "phase": "begin|bit|healed", "at": "2026-11-18T07:00:00Z"}.',
                )
            )
    ledger.faults.sort(key=lambda fault: fault.at)


def _fault(row: Any) -> Fault:
    if row["phase"] not in PHASES:
        raise ValueError(f"phase {row['phase']!r} is none of {', '.join(PHASES)}")
    at = datetime.fromisoformat(row["at"])
    moment = at.astimezone(UTC) if at.tzinfo else at.replace(tzinfo=UTC)
    return Fault(str(row["fault"]), str(row["target"]), row["phase"], moment)
