"""Results and offsets in one database: what was stored together was committed together."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq

from validate.ledger.from_json import arrow_schema

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from confluent_kafka import Message

FILE = "results.sqlite"
_FORM = """
create table if not exists results (topic text, partition integer, place integer, "group" text, value_bytes integer);
create table if not exists offsets (topic text, partition integer, next integer, primary key (topic, partition));
"""
_STAND = "insert into offsets values (?, ?, ?) on conflict (topic, partition) do update set next = excluded.next"


class Database:
    def __init__(self, path: Path, group: str) -> None:
        self._group = group
        self._open = sqlite3.connect(path, isolation_level=None)
        self._open.execute("pragma journal_mode = wal")
        self._open.executescript(_FORM)

    def offsets(self) -> dict[tuple[str, int], int]:
        return {(t, p): n for t, p, n in self._open.execute("select topic, partition, next from offsets")}

    def store(self, batch: Iterable[Message], offsets: dict[tuple[str, int], int]) -> None:
        """Within a transaction that `commit` ends."""
        self._open.execute("begin immediate")
        self._open.executemany(
            "insert into results values (?, ?, ?, ?, ?)",
            [(m.topic(), m.partition(), m.offset(), self._group, len(m.value() or b"")) for m in batch],
        )
        self._open.executemany(_STAND, [(*place, offset) for place, offset in offsets.items()])

    def commit(self) -> None:
        self._open.execute("commit")

    def close(self) -> None:
        self._open.close()


def effects(root: Path) -> set[str]:
    """The ledger's `effects` from what lies in the database, no matter what its writers believed."""
    path = root / FILE
    if not path.exists():
        return set()
    with closing(sqlite3.connect(path)) as found:
        rows = found.execute('select "group", topic, partition, place, rowid from results').fetchall()
    schema = arrow_schema("effects")
    table = pa.Table.from_pylist(
        [
            {"group": group, "sink": FILE, "topic": t, "partition": p, "offset": offset, "effect_id": f"row {number}"}
            for group, t, p, offset, number in rows
        ],
        schema=schema,
    )
    (root / "effects").mkdir(exist_ok=True)
    pq.write_table(table, root / "effects" / "database.parquet")
    return {"effects"}
