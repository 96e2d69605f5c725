"""Turn a ledger written as JSON lines into Parquet: `python -m validate.ledger.from_json SRC DST`.

SRC holds one `<table>.jsonl` per folder of a ledger (and faults.jsonl, EXPECT.yml); keys are text or base64 after
`base64:`. For people who write a small ledger by hand; nothing here judges what is written, that is the judge's work.
"""

from __future__ import annotations

import argparse
import base64
import shutil
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from common.errors import UsageError
from common.texts import from_json
from validate.ledger.schema import FAULTS_FILE, TABLES, Column, Kind

ARROW_TYPE: dict[Kind, pa.DataType] = {
    "string": pa.string(),
    "long": pa.int64(),
    "bool": pa.bool_(),
    "time": pa.timestamp("us", tz="UTC"),
    "binary": pa.binary(),
}


def arrow_schema(table: str) -> pa.Schema:
    """The schema of one folder as Arrow has it."""
    return pa.schema([pa.field(c.name, ARROW_TYPE[c.kind], nullable=c.optional) for c in TABLES[table]])


def convert(source: Path, target: Path) -> list[str]:
    """Write every table that `source` has; returns their names."""
    target.mkdir(parents=True, exist_ok=True)
    written = []
    for table, columns in TABLES.items():
        lines = source / f"{table}.jsonl"
        if not lines.exists():
            continue
        content = _table(lines, columns)
        (target / table).mkdir(exist_ok=True)
        pq.write_table(content, target / table / "part-0.parquet")
        written.append(table)
    for name in (FAULTS_FILE, "EXPECT.yml"):
        if (source / name).exists():
            shutil.copy(source / name, target / name)
    return written


def _table(path: Path, columns: tuple[Column, ...]) -> pa.Table:
    rows = [_row(path, number, line, columns) for number, line in enumerate(_lines(path), start=1) if line.strip()]
    made = {}
    for column in columns:
        try:
            made[column.name] = pa.array([row[column.name] for row in rows], ARROW_TYPE[column.kind])
        except (pa.ArrowException, ValueError, TypeError, OverflowError) as error:
            raise _wrong(f"{path}: column {column.name} is not {column.kind} in every line.", error) from error
    return pa.table(made)


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="utf-8").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise _wrong(f"{path} cannot be read.", error) from error


def _row(path: Path, number: int, line: str, columns: tuple[Column, ...]) -> dict[str, Any]:
    try:
        row = from_json(line)
        return {column.name: _value(row.get(column.name), column) for column in columns}
    except (ValueError, TypeError, AttributeError) as error:
        raise _wrong(f"{path}, line {number}: no row of a ledger.", error) from error


def _wrong(brief: str, error: Exception) -> UsageError:
    return UsageError(
        brief,
        details=f"{type(error).__name__}: {error}",
        resolution="Write one JSON object a line; docs/reference/judge.md has the columns.",
    )


def _value(value: Any, column: Column) -> Any:
    if value is None:
        return None
    if column.kind == "time":
        at = datetime.fromisoformat(value)
        return at if at.tzinfo else at.replace(tzinfo=UTC)
    if column.kind == "binary":
        text = str(value)
        return base64.b64decode(text.removeprefix("base64:")) if text.startswith("base64:") else text.encode()
    return value


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m validate.ledger.from_json", description=__doc__)
    parser.add_argument("source", type=Path, help="folder with <table>.jsonl files")
    parser.add_argument("target", type=Path, help="folder to write the Parquet ledger into")
    args = parser.parse_args(argv)
    if not args.source.is_dir():
        print(
            f"There is no folder {str(args.source)!r}. Name one that holds sent.jsonl, log.jsonl ...", file=sys.stderr
        )
        return 64
    try:
        print(f"{args.target}: {', '.join(convert(args.source, args.target)) or 'nothing to convert'}")
    except UsageError as error:
        print(error, file=sys.stderr)
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main())
