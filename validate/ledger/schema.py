"""What a ledger holds: one table per folder, one line per column. docs/reference/judge.md shows the same to people."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Kind = Literal["string", "long", "bool", "time", "binary"]

OUTCOMES = ("acked", "refused", "unknown")
ENDINGS = ("committed", "aborted", "unknown")
PROBED = ("ok", "failed", "unknown")
ISOLATIONS = ("read_committed", "read_uncommitted")
# Kafka takes the two words of the third policy in either order.
POLICIES = ("delete", "compact", "compact,delete", "delete,compact")


@dataclass(frozen=True)
class Column:
    """One column. Whole numbers are judged as 64 bits whatever their width on disk: widening loses nothing."""

    name: str
    kind: Kind
    optional: bool = False
    values: tuple[str, ...] | None = None


def _columns(kind: Kind, names: str, *, values: tuple[str, ...] | None = None) -> tuple[Column, ...]:
    """Columns of one kind; a name that ends in `?` may be null or missing."""
    return tuple(Column(name.rstrip("?"), kind, name.endswith("?"), values) for name in names.split())


_PLACE = _columns("string", "topic") + _columns("long", "partition")
_RECORD = _columns("string", "run_id producer") + _PLACE
_CLOCK = _columns("string", "clock?")

TABLES: dict[str, tuple[Column, ...]] = {
    "sent": _RECORD
    + _columns("long", "seq attempt")
    + _columns("binary", "key?")
    + _columns("bool", "value_null?")
    + _columns("long", "value_crc? random_int?")
    + _columns("string", "acks", values=("0", "1", "all"))
    + _columns("bool", "idempotent")
    + _columns("long", "max_in_flight")
    + _columns("string", "txn?")
    + _columns("time", "invoked_at done_at?")
    + _columns("string", "outcome", values=OUTCOMES)
    + _columns("string", "error?")
    + _columns("long", "acked_offset?")
    + _CLOCK,
    "reservations": _RECORD + _columns("long", "seq_from seq_to"),
    "transactions": _columns("string", "producer txn")
    + _columns("string", "outcome", values=ENDINGS)
    + _columns("time", "begun_at commit_invoked_at? ended_at?")
    + _CLOCK,
    "log": _PLACE
    + _columns("long", "offset")
    + _columns("time", "timestamp")
    + _columns("binary", "key?")
    + _columns("bool", "value_null")
    + _columns("string", "run_id? producer?")
    + _columns("long", "seq? attempt?")
    + _columns("string", "intended_topic?")
    + _columns("long", "intended_partition? random_int? payload_crc? value_crc?"),
    "log_bounds": _PLACE
    + _columns("long", "start_offset end_offset high_watermark read_to?")
    + _columns("string", "isolation", values=ISOLATIONS)
    + _columns("string", "cleanup_policy", values=POLICIES)
    + _columns("string", "topic_id?"),
    "watermarks": _PLACE
    + _columns("long", "high_watermark")
    + _columns("time", "seen_at")
    + _columns("string", "witness"),
    "replicas": _PLACE + _columns("long", "broker base_offset last_offset batch_crc log_start"),
    "delivered": _columns("string", "group member")
    + _columns("long", "assignment position")
    + _PLACE
    + _columns("long", "offset")
    + _columns("string", "run_id? producer?")
    + _columns("long", "seq?")
    + _columns("time", "polled_at")
    + _columns("string", "isolation", values=ISOLATIONS)
    + _CLOCK,
    "group_starts": _columns("string", "group") + _PLACE + _columns("long", "offset"),
    "commits": _columns("string", "group")
    + _PLACE
    + _columns("long", "offset")
    + _columns("string", "member?")
    + _columns("long", "assignment?")
    + _columns("string", "txn?")
    + _columns("time", "committed_at")
    + _columns("string", "outcome", values=OUTCOMES)
    + _CLOCK,
    "effects": _columns("string", "group sink")
    + _PLACE
    + _columns("long", "offset")
    + _columns("string", "effect_id txn?"),
    "probes": _columns("string", "witness", values=("running", "fresh"))
    + _columns("string", "kind", values=("write", "read"))
    + _PLACE
    + _columns("time", "invoked_at done_at?")
    + _columns("string", "outcome", values=PROBED)
    + _columns("string", "error?")
    + _CLOCK,
}

# Without these nothing can be said of a run.
REQUIRED = ("sent", "log", "log_bounds")

FAULTS_FILE = "faults.jsonl"
PHASES = ("begin", "bit", "healed")
