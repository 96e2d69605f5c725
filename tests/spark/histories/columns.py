"""The columns of every folder of a ledger, as Arrow schemas, written down from the contract once more.

On purpose not imported from the judge: a column that the judge misspells must not be misspelt here too.
"""

from __future__ import annotations

import pyarrow as pa

TIME = pa.timestamp("us", tz="UTC")
TYPES = {
    "string": pa.string(),
    "int": pa.int32(),
    "long": pa.int64(),
    "bool": pa.bool_(),
    "bytes": pa.binary(),
    "time": TIME,
}

RECORD = "run_id:string producer:string topic:string partition:int seq:long"

# name:type; a ? behind the type means that the column may be null.
FOLDERS = {
    "sent": (
        RECORD + " attempt:int key:bytes? value_null:bool? value_crc:long? random_int:long? acks:string idempotent:bool"
        " max_in_flight:int txn:string? invoked_at:time done_at:time? outcome:string error:string? acked_offset:long?"
        " clock:string?"
    ),
    "reservations": "run_id:string producer:string topic:string partition:int seq_from:long seq_to:long",
    "transactions": (
        "producer:string txn:string outcome:string begun_at:time commit_invoked_at:time? ended_at:time? clock:string?"
    ),
    "log": (
        "topic:string partition:int offset:long timestamp:time key:bytes? value_null:bool run_id:string?"
        " producer:string? seq:long? attempt:int? intended_topic:string? intended_partition:int? random_int:long?"
        " payload_crc:long? value_crc:long?"
    ),
    "log_bounds": (
        "topic:string partition:int start_offset:long end_offset:long high_watermark:long read_to:long?"
        " isolation:string cleanup_policy:string topic_id:string?"
    ),
    "watermarks": "topic:string partition:int high_watermark:long seen_at:time witness:string",
    "replicas": (
        "topic:string partition:int broker:int base_offset:long last_offset:long batch_crc:long log_start:long"
    ),
    "delivered": (
        "group:string member:string assignment:int position:long topic:string partition:int offset:long"
        " run_id:string? producer:string? seq:long? polled_at:time isolation:string clock:string?"
    ),
    "group_starts": "group:string topic:string partition:int offset:long",
    "commits": (
        "group:string topic:string partition:int offset:long member:string? assignment:int? txn:string?"
        " committed_at:time outcome:string clock:string?"
    ),
    "effects": (
        "group:string sink:string topic:string partition:int offset:long effect_id:string txn:string?"
    ),
    "probes": (
        "witness:string kind:string topic:string partition:int invoked_at:time done_at:time? outcome:string"
        " error:string? clock:string?"
    ),
}  # fmt: skip

REQUIRED_FOLDERS = ("sent", "log", "log_bounds")


def schema(folder: str) -> pa.Schema:
    """What one folder holds."""
    fields = []
    for column in FOLDERS[folder].split():
        name, kind = column.split(":")
        fields.append(pa.field(name, TYPES[kind.rstrip("?")], nullable=kind.endswith("?")))
    return pa.schema(fields)


def column_names(folder: str) -> list[str]:
    return [str(name) for name in schema(folder).names]
