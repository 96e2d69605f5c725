"""Turn a ledger written as JSON lines into Parquet: `python -m validate.ledger.from_json SRC DST`.

SRC holds one `<table>.jsonl` per folder of a ledger (and faults.jsonl, EXPECT.yml); keys are text or base64 after
`base64:`. For people who write a small ledger by hand; nothing here checks what is written, that is the judge's work.
"""

from __future__ import annotations

import argparse
import base64
import json
import shutil
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

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
        rows = [json.loads(line) for line in lines.read_text(encoding="utf-8").splitlines() if line.strip()]
        (target / table).mkdir(exist_ok=True)
        content = {c.name: pa.array([_value(row.get(c.name), c) for row in rows], ARROW_TYPE[c.kind]) for c in columns}
        pq.write_table(pa.table(content), target / table / "part-0.parquet")
        written.append(table)
    for name in (FAULTS_FILE, "EXPECT.yml"):
        if (source / name).exists():
            shutil.copy(source / name, target / name)
    return written


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
    print(f"{args.target}: {', '.join(convert(args.source, args.target)) or 'nothing to convert'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
