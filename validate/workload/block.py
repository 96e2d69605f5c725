"""A block: records of one producer and partition with numbers in a row, sent at one go; and how a journal writes it."""

from __future__ import annotations

import json
import struct
from array import array
from dataclasses import dataclass, field

from validate.workload.outcome import UNKNOWN

RESERVED = b"R"
SHAPED = b"S"  # behind a reservation: when each record was due; KEYED: the number of its key
KEYED = b"K"
RESULTS = b"A"
_HEAD = struct.Struct("<HHQQI")  # lane, attempt, first number, invoked at (us), how many
NO_OFFSET = -1
NO_REPORT = 0


@dataclass(slots=True)
class Block:
    """`lane` is the place of (topic, partition) in the list that the journal begins with."""

    lane: int
    seq_from: int
    invoked_us: int
    crcs: array[int]
    randoms: array[int]
    attempt: int = 0
    offsets: array[int] = field(default_factory=lambda: array("q"))
    dones_us: array[int] = field(default_factory=lambda: array("q"))
    failures: dict[int, tuple[str, str]] = field(default_factory=dict)  # place in the block -> error, outcome
    missing: int = 0
    due_us: array[int] | None = None
    keys: array[int] | None = None

    def __post_init__(self) -> None:
        count = len(self.crcs)
        if not self.offsets:
            self.offsets = array("q", (NO_OFFSET,)) * count
            self.dones_us = array("q", (NO_REPORT,)) * count
            self.missing = count

    def __len__(self) -> int:
        return len(self.crcs)

    @property
    def name(self) -> tuple[int, int, int]:
        return self.lane, self.attempt, self.seq_from

    def outcome(self, place: int) -> tuple[str, str | None]:
        """Outcome and error of a record that was not acked, or of which nothing was heard."""
        error, outcome = self.failures.get(place, (None, UNKNOWN))
        return outcome, error

    def reservation(self) -> bytes:
        head = _HEAD.pack(*self.name, self.invoked_us, len(self))
        more = [] if self.due_us is None else [SHAPED, self.due_us.tobytes()]
        more += [] if self.keys is None else [KEYED, self.keys.tobytes()]
        return b"".join((RESERVED, head, self.crcs.tobytes(), self.randoms.tobytes(), *more))

    def results(self) -> bytes:
        head = _HEAD.pack(*self.name, self.invoked_us, len(self))
        failed = json.dumps(list(self.failures.items())).encode() if self.failures else b""
        return b"".join((RESULTS, head, self.offsets.tobytes(), self.dones_us.tobytes(), failed))


def read_reservation(content: bytes) -> Block:
    lane, attempt, seq_from, invoked_us, count = _HEAD.unpack_from(content, 1)
    at = 1 + _HEAD.size
    crcs, randoms = array("I"), array("I")
    crcs.frombytes(content[at : at + 4 * count])
    randoms.frombytes(content[at + 4 * count : at + 8 * count])
    block = Block(lane, seq_from, invoked_us, crcs, randoms, attempt)
    at += 8 * count
    if content[at : at + 1] == SHAPED:
        block.due_us = array("q", content[at + 1 : at + 1 + 8 * count])
        at += 1 + 8 * count
    if content[at : at + 1] == KEYED:
        block.keys = array("I", content[at + 1 : at + 1 + 4 * count])
    return block


def read_results(content: bytes, blocks: dict[tuple[int, int, int], Block]) -> None:
    """File what was reported with the block that was reserved for it."""
    lane, attempt, seq_from, _, count = _HEAD.unpack_from(content, 1)
    block = blocks[lane, attempt, seq_from]
    at = 1 + _HEAD.size
    block.offsets, block.dones_us = array("q"), array("q")
    block.offsets.frombytes(content[at : at + 8 * count])
    block.dones_us.frombytes(content[at + 8 * count : at + 16 * count])
    failed = content[at + 16 * count :]
    block.failures = {place: (error, outcome) for place, (error, outcome) in json.loads(failed)} if failed else {}
