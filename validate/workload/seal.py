"""Turns the journals of dead processes into the ledger's Parquet. What a journal does not say is unknown."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from common.errors import UnreadableError
from validate.ledger.from_json import arrow_schema
from validate.ledger.schema import TABLES
from validate.workload import journal
from validate.workload.block import RESERVED, RESULTS, Block, read_reservation, read_results
from validate.workload.home import OPENING
from validate.workload.rows import Identity, Rows

if TYPE_CHECKING:
    from collections.abc import Iterable

Tables = dict[str, pa.Table]


def seal(ledger: Path | str) -> list[str]:
    """Seal every journal of a ledger; gives the tables that were written. Doing it again does the same."""
    root = Path(ledger)
    written: set[str] = set()
    for path in sorted((root / journal.FOLDER).glob(f"*{journal.SUFFIX}")):
        for table, content in _tables(path).items():
            (root / table).mkdir(parents=True, exist_ok=True)
            target = root / table / f"{path.stem}.parquet"
            half = target.with_name(f".{target.name}.half")  # names with a dot are no part of a ledger
            pq.write_table(content, half)
            half.rename(target)
            written.add(table)
    return sorted(written)


def _tables(path: Path) -> Tables:
    frames = journal.read(path)
    first = next(frames, None)
    if first is None:
        return {}  # killed before it had even begun
    try:
        opening: dict[str, Any] = json.loads(first.removeprefix(OPENING))
        kind = opening["kind"]
        if kind == "producer":
            return _sent(opening, frames)
        raise ValueError(f"a journal of kind {kind!r}")
    except (KeyError, ValueError, IndexError) as error:
        raise UnreadableError(
            f"The journal {path} makes no sense.",
            details=f"{type(error).__name__}: {error}",
            resolution="Seal it with the version of Kastellan that wrote it.",
        ) from error


def _sent(opening: dict[str, Any], frames: Iterable[bytes]) -> Tables:
    blocks: dict[tuple[int, int, int], Block] = {}
    for content in frames:
        kind = content[:1]
        if kind == RESERVED:
            block = read_reservation(content)
            blocks[block.name] = block
        elif kind == RESULTS:
            read_results(content, blocks)
        else:
            raise ValueError(f"a frame of kind {kind!r}")
    return sent_tables(Identity(**{name: opening[name] for name in Identity.__annotations__}), opening["lanes"], blocks)


def sent_tables(identity: Identity, lanes: list[tuple[str, int]], blocks: dict[tuple[int, int, int], Block]) -> Tables:
    """`sent` and `reservations` of one producer."""
    lanes_rows = {number: Rows(identity, topic, partition) for number, (topic, partition) in enumerate(lanes)}
    ends = dict.fromkeys(lanes_rows, 0)
    for block in blocks.values():
        lanes_rows[block.lane].add(block)
        ends[block.lane] = max(ends[block.lane], block.seq_from + len(block))
    if not blocks:
        return {}
    sent = pa.Table.from_batches([rows.batch() for rows in lanes_rows.values() if len(rows)])
    return {"sent": sent, "reservations": _table("reservations", reserved(identity, lanes, ends))}


def reserved(identity: Identity, lanes: list[tuple[str, int]], ends: dict[int, int]) -> list[dict[str, Any]]:
    return [
        {
            "run_id": identity.run_id,
            "producer": identity.producer,
            "topic": topic,
            "partition": partition,
            "seq_from": 0,
            "seq_to": ends[number],
        }
        for number, (topic, partition) in enumerate(lanes)
        if ends[number]
    ]


def _table(name: str, rows: list[dict[str, Any]]) -> pa.Table:
    schema = arrow_schema(name)
    names = [column.name for column in TABLES[name]]
    return pa.table({n: pa.array([row.get(n) for row in rows], schema.field(n).type) for n in names}, schema=schema)
