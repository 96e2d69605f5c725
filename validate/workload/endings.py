"""How transactions ended whose owner died before it heard: told by where its successor found the group.

Offsets are part of a transaction. If the group stands at or behind them, the transaction was committed; if it does not,
it was aborted. Who has no successor stays unknown.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from validate.workload import entries, journal

if TYPE_CHECKING:
    from pathlib import Path

Sight = tuple[int, dict[tuple[str, int], int]]
# Journal, what it opens with, and its other frames.
Life = tuple["Path", dict[str, Any], list[bytes]]


def settle(root: Path) -> None:
    """Rewrites the sealed `transactions` of transformers; doing it again does the same."""
    lives = [life for path in sorted((root / journal.FOLDER).glob(f"*{journal.SUFFIX}")) if (life := _life(path))]
    for life in lives:
        target = root / "transactions" / f"{life[0].stem}.parquet"
        if not target.exists():
            continue
        try:
            table = _settled(pq.read_table(target), life, lives)
        except journal.NONSENSE as error:
            raise journal.senseless(life[0], error) from error
        half = target.with_name(f".{target.name}.half")
        pq.write_table(table, half)
        half.rename(target)


def _settled(table: pa.Table, life: Life, lives: list[Life]) -> pa.Table:
    _, opening, frames = life
    sights = [sight for _, other, told in lives if _heirs(opening, other) for sight in _sights(told)]
    rows = table.to_pylist()
    asked = _asked(opening, frames)
    for row in rows:
        if row["outcome"] == "unknown":
            row["outcome"] = ending(asked.get(row["txn"]), _us(row["begun_at"]), sights)
    return pa.Table.from_pylist(rows, schema=table.schema)


def ending(asked: dict[tuple[str, int], int] | None, begun_us: int, sights: list[Sight]) -> str:
    """By the first sight of the group after the transaction was begun."""
    later = sorted((at_us, found) for at_us, found in sights if at_us > begun_us)
    if not later:
        return "unknown"
    if not asked:
        return "aborted"  # its offsets had not been handed over: nobody can have committed it
    known = [(found[place], offset) for _, found in later[:1] for place, offset in asked.items() if place in found]
    if len(known) < len(asked):
        return "unknown"
    reached = [at >= offset for at, offset in known]
    return "committed" if all(reached) else "aborted" if not any(reached) else "unknown"


def _life(path: Path) -> Life | None:
    frames = list(journal.read(path))
    opening = json.loads(frames[0].removeprefix(journal.OPENING)) if frames else {}
    return (path, opening, frames[1:]) if opening.get("kind") == "transformer" else None


def _heirs(one: dict[str, Any], other: dict[str, Any]) -> bool:
    return all(one[name] == other[name] for name in ("transactional_id", "group"))


def _told(frames: list[bytes]) -> list[Any]:
    return [json.loads(content) for content in frames if content[:1] == b"["]


def _sights(frames: list[bytes]) -> list[Sight]:
    return [(facts[0], {(t, p): n for t, p, n in facts[1]}) for word, *facts in _told(frames) if word == entries.FOUND]


def _asked(opening: dict[str, Any], frames: list[bytes]) -> dict[str, dict[tuple[str, int], int]]:
    return {
        entries.txn_name(opening, facts[0]): {(t, p): n for t, p, n in facts[3]}
        for word, *facts in _told(frames)
        if word == entries.COMMIT
    }


def _us(moment: Any) -> int:
    return int(moment.timestamp() * 1_000_000)
