"""Findings that the judge's first thousand leave out: some of every kind, so that each can be looked at."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from validate.ledger.files import parquet_files

if TYPE_CHECKING:
    from pathlib import Path

EACH = 100
_KIND = ("anomaly", "verdict")


def rare_findings(folder: Path, summary: dict[str, Any] | None) -> list[dict[str, Any]]:
    """Up to EACH of every kind that was counted and is not among the listed ones."""
    if summary is None:
        return []
    listed = {tuple(x.get(name) for name in _KIND) for x in summary.get("findings") or []}
    counted = {(name, word): n for name, of in (summary.get("counts") or {}).items() for word, n in of.items() if n}
    wanted = {kind: min(n, EACH) for kind, n in counted.items() if kind not in listed}
    found: list[dict[str, Any]] = []
    for path in parquet_files(folder):
        if not wanted:
            break
        try:
            with pq.ParquetFile(path) as file:
                for batch in file.iter_batches():
                    found += _take(pa.Table.from_batches([batch]), wanted)
        except (OSError, KeyError, pa.ArrowException):
            continue  # the counts, which are exact, stand beside it
    return found


def _take(table: pa.Table, wanted: dict[tuple[str, str], int]) -> list[dict[str, Any]]:
    """What this table has of the wanted kinds; what was taken is wanted no more."""
    taken: list[dict[str, Any]] = []
    for anomaly, verdict in list(wanted):
        here = table.filter(pc.and_(pc.equal(table["anomaly"], anomaly), pc.equal(table["verdict"], verdict)))
        rows = here.slice(0, wanted[anomaly, verdict]).to_pylist()
        taken += rows
        wanted[anomaly, verdict] -= len(rows)
        if not wanted[anomaly, verdict]:
            del wanted[anomaly, verdict]
    return taken
