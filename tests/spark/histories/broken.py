"""Ledgers that cannot be judged: each function damages one that could, and names the words a message must have."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from tests.spark.histories.book import History
from tests.spark.histories.writer import RUN

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def sound() -> History:
    """A clean ledger with a row in every folder that these damages touch."""
    h = History()
    h.txn("tx#0")
    h.kept("orders", 0, 2, txn="tx#0")
    h.reserve("orders", 0, 0, 2)
    h.took("readers", "orders", 0, 0, 1)
    h.commit("readers", "orders", 0, 2)
    h.effect("readers", "orders", 0, 0, 1)
    h.probe("orders", 0)
    return h


def file_of(ledger: Path, folder: str) -> Path:
    return next((ledger / folder).glob("*.parquet"))


def change(folder: str, how: Callable[[pa.Table], pa.Table]) -> Callable[[Path], None]:
    def damage(ledger: Path) -> None:
        path = file_of(ledger, folder)
        pq.write_table(how(pq.read_table(path)), path)

    return damage


def without_folder(folder: str) -> Callable[[Path], None]:
    return lambda ledger: shutil.rmtree(ledger / folder)


def without_files(folder: str) -> Callable[[Path], None]:
    return lambda ledger: file_of(ledger, folder).unlink()


def without_column(folder: str, *columns: str) -> Callable[[Path], None]:
    return change(folder, lambda table: table.drop_columns(list(columns)))


def with_values(folder: str, column: str, *values: Any, kind: pa.DataType | None = None) -> Callable[[Path], None]:
    """The column's first values are these instead, the rest stay; `kind` is another type of the whole column."""

    def replaced(table: pa.Table) -> pa.Table:
        index, field = table.schema.get_field_index(column), table.schema.field(column)
        rest = [] if kind else table.column(column).to_pylist()[len(values) :]
        filled = [*values, *rest] if rest or not kind else [values[0]] * table.num_rows
        new = pa.field(column, kind or field.type, nullable=True)
        return table.set_column(index, new, pa.array(filled[: table.num_rows], type=new.type))

    return change(folder, replaced)


def truncated(folder: str) -> Callable[[Path], None]:
    def damage(ledger: Path) -> None:
        path = file_of(ledger, folder)
        path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])

    return damage


def garbled(folder: str) -> Callable[[Path], None]:
    """The first column's bytes are others; the footer is good."""

    def damage(ledger: Path) -> None:
        path = file_of(ledger, folder)
        chunk = pq.read_metadata(path).row_group(0).column(0)
        begin = chunk.dictionary_page_offset or chunk.data_page_offset
        content = bytearray(path.read_bytes())
        content[begin : begin + chunk.total_compressed_size] = b"\xff" * chunk.total_compressed_size
        path.write_bytes(content)

    return damage


def no_parquet(folder: str) -> Callable[[Path], None]:
    def damage(ledger: Path) -> None:
        file_of(ledger, folder).write_text("offset,seq\n1,2\n", encoding="utf-8")

    return damage


def text_for_folder(folder: str) -> Callable[[Path], None]:
    def damage(ledger: Path) -> None:
        shutil.rmtree(ledger / folder)
        (ledger / folder).write_text("offset,seq\n1,2\n", encoding="utf-8")

    return damage


def two_runs(table: pa.Table) -> pa.Table:
    runs = pa.array([RUN, "20250101T000000Z-s1"])
    return table.set_column(table.schema.get_field_index("run_id"), "run_id", runs)


def contradicted(table: pa.Table) -> pa.Table:
    """The first attempt once more, with another outcome."""
    first = table.slice(0, 1)
    outcome = table.schema.get_field_index("outcome")
    other = first.set_column(outcome, table.schema.field("outcome"), pa.array(["refused"]))
    return pa.concat_tables([table, other])


def emptied(ledger: Path) -> None:
    shutil.rmtree(ledger)
    ledger.mkdir()


def gone(ledger: Path) -> None:
    shutil.rmtree(ledger)


def bad_faults(ledger: Path) -> None:
    (ledger / "faults.jsonl").write_text('{"fault": "kill", "phase": \n', encoding="utf-8")


# name: (damage, words that the message must have)
BROKEN: dict[str, tuple[Callable[[Path], None], tuple[str, ...]]] = {
    "no such folder": (gone, ()),
    "empty folder": (emptied, ("sent",)),
    "no sent": (without_folder("sent"), ("sent",)),
    "no log": (without_folder("log"), ("log",)),
    "no bounds": (without_folder("log_bounds"), ("log_bounds",)),
    "sent without files": (without_files("sent"), ("sent",)),
    "no outcome": (without_column("sent", "outcome"), ("sent", "outcome")),
    "no idempotent": (without_column("sent", "idempotent"), ("sent", "idempotent")),
    "no offset": (without_column("log", "offset"), ("log", "offset")),
    "no isolation": (without_column("log_bounds", "isolation"), ("log_bounds", "isolation")),
    "no outcome of transactions": (without_column("transactions", "outcome"), ("transactions", "outcome")),
    "no sink": (without_column("effects", "sink"), ("effects", "sink")),
    "log truncated": (truncated("log"), ("log",)),
    "delivered truncated": (truncated("delivered"), ("delivered",)),
    "log garbled": (garbled("log"), ("log", "behind a good footer")),
    "delivered is a text file": (text_for_folder("delivered"), ("delivered", "not a readable Parquet file")),
    "sent is no Parquet": (no_parquet("sent"), ("sent",)),
    "seq is text": (with_values("sent", "seq", "zero", kind=pa.string()), ("sent", "seq")),
    "offset is a fraction": (with_values("log", "offset", 0.5, kind=pa.float64()), ("log", "offset")),
    "time is a flag": (with_values("sent", "invoked_at", True, kind=pa.bool_()), ("sent", "invoked_at")),  # noqa: FBT003 -- a value
    "null producer": (with_values("sent", "producer", None), ("sent", "producer")),
    "null outcome": (with_values("sent", "outcome", None), ("sent", "outcome")),
    "null offset": (with_values("log", "offset", None), ("log", "offset")),
    "null end": (with_values("log_bounds", "end_offset", None), ("log_bounds", "end_offset")),
    "null group": (with_values("delivered", "group", None), ("delivered", "group")),
    "null seq_to": (with_values("reservations", "seq_to", None), ("reservations", "seq_to")),
    "outcome maybe": (with_values("sent", "outcome", "maybe"), ("sent", "outcome", "maybe")),
    "transaction maybe": (with_values("transactions", "outcome", "maybe"), ("transactions", "outcome", "maybe")),
    "probe maybe": (with_values("probes", "outcome", "maybe"), ("probes", "outcome", "maybe")),
    "acks two": (with_values("sent", "acks", "2"), ("sent", "acks")),
    "isolation dirty": (with_values("log_bounds", "isolation", "dirty"), ("log_bounds", "isolation", "dirty")),
    "reader dirty": (with_values("delivered", "isolation", "dirty"), ("delivered", "isolation", "dirty")),
    "policy burn": (with_values("log_bounds", "cleanup_policy", "burn"), ("log_bounds", "cleanup_policy", "burn")),
    "two runs": (change("sent", two_runs), ("run",)),
    "attempt twice": (change("sent", contradicted), ("sent", "attempt")),
    "faults are no JSON": (bad_faults, ("faults.jsonl",)),
}

# Damages that fit into one ledger, as each has a line of its own in what is said. The others stand alone: they end the
# reading early, send it another way, or another's line would hold their words, too.
TOGETHER: tuple[tuple[str, ...], ...] = (
    (
        "null producer", "null outcome", "acks two", "null end", "isolation dirty", "null group",
        "reader dirty", "null seq_to", "transaction maybe", "probe maybe", "faults are no JSON",
    ),
    ("outcome maybe", "policy burn", "no offset", "no outcome of transactions", "no sink", "delivered truncated"),
    ("no outcome", "no idempotent", "no isolation", "delivered is a text file"),
    ("seq is text", "time is a flag", "no bounds"),
    ("sent is no Parquet", "offset is a fraction"),
)  # fmt: skip

BAD_EXPECTATIONS: dict[str, dict[str, Any]] = {
    "unknown key": {"anomaly": {}},
    "unknown anomaly": {"anomalies": {"lossy": {"count": "0"}}},
    "unknown rule": {"anomalies": {"lost": {"number": "0"}}},
    "unknown count": {"anomalies": {"lost": {"count": "some"}}},
    "count below": {"anomalies": {"lost": {"count": "<3"}}},
    "unknown verdict": {"anomalies": {"lost": {"verdict": "fine"}}},
    "unknown start": {"groups": {"readers": {"topics": ["orders"], "from": "latest"}}},
    "unknown rule of a group": {"groups": {"readers": {"topics": ["orders"], "from": "earliest", "until": "latest"}}},
    "unknown bound": {"progress": {"records_per_s": 5}},
    "bound of no number": {"progress": {"phase_s": "long"}},
    "unknown witness": {"outage": {"warm": {"write_s": 5, "read_s": 5}, "topics": ["orders"]}},
    "unclean is no list": {"unclean": "orders"},
    "never met: must happen and fails": {"anomalies": {"lost": {"count": ">0", "verdict": "violation"}}},
    "never met: nobody claims": {"anomalies": {"unseen": {"count": ">0", "verdict": "expected"}}},
    "never met: no bound": {"anomalies": {"stuck": {"count": ">0", "verdict": "expected"}}},
    "never met: no topic": {"anomalies": {"lost": {"count": ">=1", "verdict": "expected", "topics": []}}},
}


# -- other shapes of the same, which must be read --------------------------------------------------------------------


def as_others_write(ledger: Path) -> None:
    """Narrower numbers, coarser and finer times, columns of their own, and no column that may be missing."""
    change("sent", lambda t: _cast(t, seq=pa.int32(), attempt=pa.int16(), invoked_at=pa.timestamp("ms", tz="UTC")))(
        ledger
    )
    change("log", lambda t: _cast(t, offset=pa.int32(), timestamp=pa.timestamp("ns", tz="UTC")))(ledger)
    optional = {
        "sent": ["key", "value_null", "value_crc", "random_int", "done_at", "error", "clock"],
        "log": ["key", "random_int", "payload_crc", "value_crc"],
        "log_bounds": ["read_to", "topic_id"],
        "transactions": ["ended_at", "clock"],
        "delivered": ["run_id", "producer", "seq", "clock"],
        "commits": ["txn", "clock"],
        "probes": ["error", "clock"],
    }
    for folder, columns in optional.items():
        without_column(folder, *columns)(ledger)
    change("sent", lambda t: t.append_column("host", pa.array(["a"] * t.num_rows)))(ledger)


def _cast(table: pa.Table, **kinds: pa.DataType) -> pa.Table:
    for name, kind in kinds.items():
        column = pc.cast(table.column(name), kind)
        table = table.set_column(table.schema.get_field_index(name), pa.field(name, kind), column)
    return table
