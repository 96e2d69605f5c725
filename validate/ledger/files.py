"""What lies on the disk: the Parquet files of each folder, their columns, and what is wrong with them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, cast

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import types as t

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from validate.ledger.schema import Column, Kind

# Arrow's name of a type -> how Spark is to read it. Nanoseconds come as plain numbers (spark.sql.legacy...nanosAsLong).
_SPARK_TYPES: tuple[tuple[str, t.DataType], ...] = (
    ("bool", t.BooleanType()),
    ("int8", t.ByteType()),
    ("int16", t.ShortType()),
    ("int32", t.IntegerType()),
    ("int64", t.LongType()),
    ("uint8", t.ShortType()),
    ("uint16", t.IntegerType()),
    ("uint32", t.LongType()),
    ("string", t.StringType()),
    ("large_string", t.StringType()),
    ("string_view", t.StringType()),
    ("binary", t.BinaryType()),
    ("large_binary", t.BinaryType()),
    ("binary_view", t.BinaryType()),
)
_BY_NAME = dict(_SPARK_TYPES)
_WHOLE = (t.ByteType, t.ShortType, t.IntegerType, t.LongType)


@dataclass(frozen=True)
class Problem:
    """Why a ledger is not complete: where, what, and what to do about it."""

    where: str
    what: str
    resolution: str

    def __str__(self) -> str:
        return f"{self.where}: {self.what}. {self.resolution}"


@dataclass(frozen=True)
class Found:
    """How one column lies on disk: as which type Spark reads it; nanos are whole numbers that mean a time."""

    spark_type: t.DataType | None  # None: a column without a single value, written without a type
    nanos: bool = False


Constant = str | int | bool | None
_UNSET = object()


@dataclass
class Batch:
    """Files of one folder that have the same columns; one read serves them all."""

    columns: dict[str, Found]
    paths: list[str] = field(default_factory=list)
    # Columns with one value, or nothing but nulls, in all files, as their footers say: they need not be read.
    constants: dict[str, Constant] = field(default_factory=dict)
    full: frozenset[str] = frozenset()  # columns without a null in any file, as their footers say

    def add(self, path: str, constants: dict[str, Constant], full: frozenset[str]) -> None:
        same = {name: value for name, value in constants.items() if self.constants.get(name, _UNSET) == value}
        self.constants = same if self.paths else constants
        self.full = self.full & full if self.paths else full
        self.paths.append(path)


def parquet_files(folder: Path) -> list[Path]:
    """Every data file under a folder. Names with `_` or `.` in front are marks of writers, as Hadoop has it."""

    def walk(place: Path) -> Iterator[Path]:
        for entry in sorted(place.iterdir()):
            if entry.name[0] in "._":
                continue
            if entry.is_dir():
                yield from walk(entry)
            else:
                yield entry

    # A file in a folder's place is a table all the same: what cannot be read must not pass for what is not there.
    return list(walk(folder)) if folder.is_dir() else [folder] if folder.is_file() else []


def look_at(table: str, files: list[Path], columns: tuple[Column, ...]) -> tuple[list[Batch], list[Problem]]:
    """Sort the readable files by their columns; tell of the unreadable ones."""
    batches: dict[str, Batch] = {}
    problems: list[Problem] = []
    for path in files:
        try:
            with pq.ParquetFile(path) as file:
                found = _columns_of(file)
                constants, full = _constants_of(file.metadata), _full_of(file.metadata)
        except (OSError, pa.ArrowException) as error:
            problems.append(
                Problem(
                    str(path),
                    f"not a readable Parquet file ({_first_line(error)})",
                    "Seal or copy this file again; until then its rows are not judged.",
                )
            )
            continue
        wrong, fatal = _wrong_columns(table, str(path), found, columns)
        problems.extend(wrong)
        if fatal:
            continue
        kept = {c.name: found[c.name] for c in columns if c.name in found and fits(found[c.name], c.kind)}
        batches.setdefault(repr(sorted(kept.items())), Batch(kept)).add(str(path), constants, full)
    return list(batches.values()), problems


def broken_inside(batches: Iterable[Batch]) -> list[Problem]:
    """Files that cannot be read although their footers are good: all of them is read, which takes its time."""
    problems = []
    for batch in batches:
        for path in batch.paths:
            try:
                with pq.ParquetFile(path) as file:
                    for _ in file.iter_batches(columns=sorted(batch.columns)):
                        pass
            except (OSError, pa.ArrowException) as error:
                problems.append(
                    Problem(
                        path,
                        f"broken behind a good footer ({_first_line(error)})",
                        "Seal or copy this file again; until then its rows are not judged.",
                    )
                )
    return problems


def fits(found: Found, kind: Kind) -> bool:
    """Whether a column of this type becomes `kind` and loses nothing."""
    if found.spark_type is None:
        return True
    if found.nanos:
        return kind == "time"
    wanted: dict[Kind, tuple[type[t.DataType], ...]] = {
        "string": (t.StringType,),
        "long": _WHOLE,
        "bool": (t.BooleanType,),
        "time": (t.TimestampType, t.TimestampNTZType),
        "binary": (t.BinaryType, t.StringType),
    }
    return isinstance(found.spark_type, wanted[kind])


def _wrong_columns(
    table: str, path: str, found: dict[str, Found], columns: tuple[Column, ...]
) -> tuple[list[Problem], bool]:
    problems, fatal = [], False
    for column in columns:
        if column.name not in found:
            if not column.optional:
                fatal = True
                problems.append(
                    Problem(
                        path,
                        f"{table} has no column {column.name!r}",
                        f"Write {column.name} ({column.kind}) into every file of {table}/.",
                    )
                )
        elif not fits(found[column.name], column.kind):
            fatal = fatal or not column.optional
            problems.append(
                Problem(
                    path,
                    f"{table}.{column.name} is {_type_name(found[column.name])}, which is no {column.kind}",
                    f"Write {column.name} as {column.kind}; only casts that lose nothing are made.",
                )
            )
    return problems, fatal


def _columns_of(file: pq.ParquetFile) -> dict[str, Found]:
    physical = {file.schema.column(i).path: file.schema.column(i).physical_type for i in range(len(file.schema))}
    return {column.name: _found(column.type, physical.get(column.name, "")) for column in file.schema_arrow}


def _constants_of(footer: pq.FileMetaData) -> dict[str, Constant]:
    """What the footer says of columns that hold the same in every row."""
    groups = [group for i in range(footer.num_row_groups) if (group := footer.row_group(i)).num_rows]
    constants: dict[str, Constant] = {}
    for index in range(footer.num_columns if groups else 0):
        chunks = [group.column(index) for group in groups]
        values = {_constant_of(chunk.statistics, group.num_rows) for chunk, group in zip(chunks, groups, strict=True)}
        if len(values) == 1 and _UNSET not in values:
            constants[chunks[0].path_in_schema] = cast("Constant", values.pop())
    return constants


def _full_of(footer: pq.FileMetaData) -> frozenset[str]:
    """Columns that the footer says hold no null in any row."""
    chunks = [footer.row_group(i).column(k) for i in range(footer.num_row_groups) for k in range(footer.num_columns)]
    return frozenset(chunk.path_in_schema for chunk in chunks) - {
        chunk.path_in_schema
        for chunk in chunks
        if chunk.statistics is None or not chunk.statistics.has_null_count or chunk.statistics.null_count
    }


def _constant_of(statistics: pq.Statistics | None, rows: int) -> object:
    if statistics is None or not statistics.has_null_count:
        return _UNSET
    if statistics.null_count == rows:
        return None
    if statistics.null_count or not statistics.has_min_max or statistics.min != statistics.max:
        return _UNSET
    # Texts that were cut off differ: the least is cut, the greatest cut and raised. Below 0 a number may be unsigned.
    least = statistics.min
    return least if isinstance(least, str) or (isinstance(least, int) and least >= 0) else _UNSET


def _found(kind: pa.DataType, physical: str) -> Found:
    if pa.types.is_null(kind):
        return Found(None)
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    if pa.types.is_timestamp(kind):
        if physical == "INT96":  # Arrow calls it nanoseconds, Spark reads it as a time
            return Found(t.TimestampType())
        if kind.unit == "ns":
            return Found(t.LongType(), nanos=True)
        return Found(t.TimestampType() if kind.tz else t.TimestampNTZType())
    if pa.types.is_fixed_size_binary(kind):
        return Found(t.BinaryType())
    return Found(_BY_NAME.get(str(kind), t.ArrayType(t.NullType())))


def _type_name(found: Found) -> str:
    if isinstance(found.spark_type, t.ArrayType):
        return "of a type the ledger does not know (a fraction, a list or a structure)"
    return "nothing but nulls" if found.spark_type is None else found.spark_type.simpleString()


def _first_line(error: BaseException) -> str:
    return str(error).split("\n", maxsplit=1)[0][:200]
