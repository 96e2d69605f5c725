"""Blocks as rows of the ledger's table `sent`: columns are handed to Arrow whole, not row by row."""

from __future__ import annotations

from array import array
from dataclasses import asdict, dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from validate.ledger.from_json import arrow_schema
from validate.workload.block import NO_REPORT, Block
from validate.workload.keys import key_of, keys_of
from validate.workload.outcome import ACKED

SENT = arrow_schema("sent")
# Besides the contract's columns, of a load that has a shape: when a record was due. The judge does not look at it.
DUE = pa.field("due_at", SENT.field("invoked_at").type, nullable=True)


@dataclass(frozen=True)
class Identity:
    """What all records of one producer have in common."""

    run_id: str
    producer: str
    acks: str
    idempotent: bool
    max_in_flight: int
    clock: str | None
    keyed: dict[str, Any] | None = None
    """What its keys are made of (validate.workload.keys)."""

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


class Rows:
    """Rows of one topic and partition, gathered block by block."""

    def __init__(self, identity: Identity, topic: str, partition: int, partitions: int = 1) -> None:
        self._identity, self._topic, self._partition = identity, topic, partition
        self._keys = keys_of(identity.keyed, partition, partitions)
        self._seqs, self._attempts, self._invoked = array("q"), array("q"), array("q")
        self._crcs, self._randoms = array("I"), array("I")
        self._offsets, self._dones = array("q"), array("q")
        self._dues, self._drawn = array("q"), array("I")
        self._txns: list[str | None] = []
        self._not_acked: dict[int, tuple[str, str | None]] = {}

    def __len__(self) -> int:
        return len(self._seqs)

    def add(self, block: Block, txn: str | None = None) -> None:
        self._txns.extend([txn] * len(block) if txn or self._txns else [])
        first, count = len(self), len(block)
        self._seqs.extend(range(block.seq_from, block.seq_from + count))
        self._attempts.extend(array("q", (block.attempt,)) * count)
        self._invoked.extend(array("q", (block.invoked_us,)) * count)
        self._crcs.extend(block.crcs)
        self._randoms.extend(block.randoms)
        self._offsets.extend(block.offsets)
        self._dones.extend(block.dones_us)
        self._dues.extend(block.due_us or ())
        self._drawn.extend(block.keys or ())
        if block.failures or NO_REPORT in block.dones_us:
            silent = {place for place, done in enumerate(block.dones_us) if done == NO_REPORT}
            self._not_acked |= {first + place: block.outcome(place) for place in silent | block.failures.keys()}

    def batch(self) -> pa.RecordBatch:
        n, same = len(self), self._identity
        offsets, dones = _longs(self._offsets), _longs(self._dones)
        outcomes: list[str] | None = None
        errors: list[str | None] | None = None
        if self._not_acked:
            outcomes, errors = [ACKED] * n, [None] * n
            for place, (outcome, error) in self._not_acked.items():
                outcomes[place], errors[place] = outcome, error
        columns: dict[str, Any] = {
            **{name: _same(getattr(same, name), n) for name in ("run_id", "producer", "acks", "idempotent", "clock")},
            "topic": _same(self._topic, n),
            "partition": _same(self._partition, n),
            "max_in_flight": _same(same.max_in_flight, n),
            "seq": _longs(self._seqs),
            "attempt": _longs(self._attempts),
            **self._content(n),
            "invoked_at": _longs(self._invoked).cast(SENT.field("invoked_at").type),
            "done_at": _null_if(pc.equal(dones, NO_REPORT), dones).cast(SENT.field("done_at").type),
            "outcome": _same(ACKED, n) if outcomes is None else pa.array(outcomes, pa.string()),
            "error": pa.nulls(n, pa.string()) if errors is None else pa.array(errors, pa.string()),
            # No broker answers to acks=0: the offsets that the client tells then are made up.
            "acked_offset": pa.nulls(n) if same.acks == "0" else _null_if(pc.less(offsets, 0), offsets),
            "txn": pa.array(self._txns, pa.string()) if self._txns else pa.nulls(n, pa.string()),
        }
        schema = SENT
        if self._dues:
            schema = SENT.append(DUE)
            columns[DUE.name] = _longs(self._dues).cast(DUE.type)
        arrays = [columns.get(f.name, pa.nulls(n, f.type)) for f in schema]
        return pa.RecordBatch.from_arrays(
            [a if a.type == f.type else a.cast(f.type) for a, f in zip(arrays, schema, strict=True)], schema=schema
        )

    def _content(self, n: int) -> dict[str, Any]:
        """Of a record without a value nothing but its key is known to the ledger."""
        keyed, keys = self._identity.keyed, {}
        if self._keys:
            keys = {"key": pa.array([self._keys[seq % len(self._keys)] for seq in self._seqs])}
        elif self._drawn:
            prefix = (keyed or {})["prefix"]
            keys = {"key": pa.array([key_of(number, prefix) for number in self._drawn], pa.binary())}
        if keyed and keyed["null"]:
            return {**keys, "value_null": _same(True, n)}  # noqa: FBT003  a value of the column
        return {
            **keys,
            "value_null": _same(False, n),  # noqa: FBT003
            "value_crc": pa.array(self._crcs, pa.uint32()).cast(pa.int64()),
            "random_int": pa.array(self._randoms, pa.uint32()).cast(pa.int64()),
        }


def _same(value: Any, count: int) -> pa.Array:
    return pa.nulls(count, pa.string()) if value is None else pa.repeat(pa.scalar(value), count)


def _longs(numbers: array[int]) -> pa.Array:
    return pa.Array.from_buffers(pa.int64(), len(numbers), [None, pa.py_buffer(numbers)])


def _null_if(test: pa.Array, numbers: pa.Array) -> pa.Array:
    return pc.if_else(test, pa.scalar(None, numbers.type), numbers)
