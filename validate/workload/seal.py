"""Turns the journals of dead processes into the ledger's Parquet. What a journal does not say is unknown."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from validate.ledger.from_json import arrow_schema
from validate.ledger.schema import TABLES
from validate.workload import database, endings, entries, journal, promised
from validate.workload.block import RESERVED, RESULTS, Block, read_reservation, read_results
from validate.workload.rows import Identity, Rows

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

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
    endings.settle(root)
    return sorted(written | database.effects(root) | promised.settle(root))


def _tables(path: Path) -> Tables:
    frames = journal.read(path)
    first = next(frames, None)
    if first is None:
        return {}  # killed before it had even begun
    try:
        opening: dict[str, Any] = json.loads(first.removeprefix(journal.OPENING))
        return {name: _whole(name, table) for name, table in KINDS[opening["kind"]](opening, list(frames)).items()}
    except journal.NONSENSE as error:
        raise journal.senseless(path, error) from error


def _whole(name: str, table: pa.Table) -> pa.Table:
    for field in table.schema:
        if not field.nullable and table.column(field.name).null_count:
            raise ValueError(f"{name}.{field.name} is null")
    return table


def _of_producer(opening: dict[str, Any], frames: list[bytes]) -> Tables:
    return _sent(opening, _blocks(frames))


def _of_consumer(opening: dict[str, Any], frames: list[bytes]) -> Tables:
    return _filled(entries.consumer_rows(opening, frames))


def _of_probe(opening: dict[str, Any], frames: list[bytes]) -> Tables:
    """Its writes are records like any other: rows of `sent` besides rows of `probes`."""
    writes = [content for content in frames if content[:1] in {RESERVED, RESULTS}]
    others = [content for content in frames if content[:1] not in {RESERVED, RESULTS}]
    blocks = _blocks(writes)
    return _sent(opening, blocks) | _filled(entries.probe_rows(opening, others, blocks.values()))


def _of_transformer(opening: dict[str, Any], frames: list[bytes]) -> Tables:
    """A block belongs to the transaction that was begun last before it."""
    current = ""
    blocks: dict[tuple[int, int, int], Block] = {}
    txns: dict[tuple[int, int, int], str] = {}
    others: list[bytes] = []
    for content in frames:
        if content[:1] == RESERVED:
            block = read_reservation(content)
            blocks[block.name], txns[block.name] = block, current
        elif content[:1] == RESULTS:
            read_results(content, blocks)
        else:
            others.append(content)
            current = entries.txn_begun(opening, content) or current
    return _sent(opening, blocks, txns) | _filled(entries.transformer_rows(opening, others))


def _of_pipeline(_: dict[str, Any], __: list[bytes]) -> Tables:
    """What it has to write is known without it (validate.workload.promised)."""
    return {}


KINDS: dict[str, Callable[[dict[str, Any], list[bytes]], Tables]] = {
    "producer": _of_producer,
    "consumer": _of_consumer,
    "probe": _of_probe,
    "pipeline": _of_pipeline,
    "storer": _of_consumer,
    "transformer": _of_transformer,
}


def _blocks(frames: list[bytes]) -> dict[tuple[int, int, int], Block]:
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
    return blocks


def _sent(
    opening: dict[str, Any],
    blocks: dict[tuple[int, int, int], Block],
    txns: Mapping[tuple[int, int, int], str] | None = None,
) -> Tables:
    known = {name: opening[name] for name in Identity.__annotations__ if name in opening}
    return sent_tables(Identity(**known), opening["lanes"], blocks, txns)


def _filled(tables: entries.RowsByTable) -> Tables:
    return {name: _table(name, rows) for name, rows in tables.items() if rows}


def sent_tables(
    identity: Identity,
    lanes: list[tuple[str, int]],
    blocks: dict[tuple[int, int, int], Block],
    txns: Mapping[tuple[int, int, int], str] | None = None,
) -> Tables:
    """`sent` and `reservations` of one producer. `txns`: the transaction of each block, of one that has them."""
    counts = Counter(topic for topic, _ in lanes)
    lanes_rows = {number: Rows(identity, t, partition, counts[t]) for number, (t, partition) in enumerate(lanes)}
    ends = dict.fromkeys(lanes_rows, 0)
    for block in blocks.values():
        lanes_rows[block.lane].add(block, txns[block.name] if txns else None)
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
