"""The value of a record: who sent it, where it was meant to go, and a checksum over all of it.

Fixed width and big-endian, so that Spark takes it apart with substring, hex, conv and crc32 and needs no Python:

    mark+version 4 | length of topic's name 1 | run 28 | producer 20 | crc32 of topic's name 4 | partition 4
    | seq 8 | attempt 2 | random integer 4 | sent at, us 8 | topic's name if it fits, filler | crc32 of all before 4
"""

from __future__ import annotations

import random
import struct
import zlib
from array import array
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from common.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence


class Span(NamedTuple):
    """Where a field lies, counted from 0."""

    start: int
    width: int

    @property
    def end(self) -> int:
        return self.start + self.width


MARK = b"KST\x01"
MARK_AT = Span(0, 4)
NAME_LENGTH = Span(4, 1)
RUN = Span(5, 28)
PRODUCER = Span(33, 20)
TOPIC_HASH = Span(53, 4)
PARTITION = Span(57, 4)
SEQ = Span(61, 8)
ATTEMPT = Span(69, 2)
RANDOM_INT = Span(71, 4)
SENT_AT = Span(75, 8)
NAME_START = SENT_AT.end
CRC_WIDTH = 4
LEAST_BYTES = NAME_START + CRC_WIDTH
DEFAULT_BYTES = 100
FILL = b" "  # behind names, which have no blanks

_HEAD = struct.Struct(f">{MARK_AT.width}sB{RUN.width}s{PRODUCER.width}sII")
_FRONT = struct.Struct(f">{MARK_AT.width}sB{RUN.width}s{PRODUCER.width}sI")
_MIDDLE = struct.Struct(">QHIQ")
_CRC = struct.Struct(">I")
# What differs between runs that are read as one: nothing. The filler only has to be dull to a compressor.
_FILLER_SEED = 20261118


@dataclass(frozen=True)
class Mark:
    """What a value says of itself."""

    run_id: str
    producer: str
    topic: str | None
    topic_hash: int
    partition: int
    seq: int
    attempt: int
    random_int: int
    sent_at_us: int
    payload_crc: int
    value_crc: int


def topic_hash(topic: str) -> int:
    return zlib.crc32(topic.encode())


def check_names(run_id: str, producer: str, size: int) -> None:
    """Names that would be cut off, or a size without room for the marks, are refused before anything is sent."""
    for what, name, span in (("run_id", run_id, RUN), ("producer", producer, PRODUCER)):
        if not name or len(name.encode(errors="replace")) > span.width or not name.isprintable() or " " in name:
            raise UsageError(
                f"{what} {name!r} does not fit into a record's value.",
                details=f"It may have 1 to {span.width} bytes, no blanks and nothing that cannot be printed.",
                resolution=f"Choose a shorter {what}, e.g. 20261118T070000Z-s42 for a run, writer-1 for a producer.",
            )
    if size < LEAST_BYTES:
        raise UsageError(
            f"A value of {size} bytes has no room for its marks.",
            resolution=f"Set value_bytes to {LEAST_BYTES} or more; {DEFAULT_BYTES} is usual.",
        )


def head(run_id: str, producer: str, topic: str, *, named: bool = True) -> bytes:
    """What all values of one producer and topic begin with; `named`: whether there is room for the topic's name."""
    return _FRONT.pack(
        MARK,
        len(topic.encode()) if named else 0,
        run_id.encode().ljust(RUN.width, FILL),
        producer.encode().ljust(PRODUCER.width, FILL),
        topic_hash(topic),
    )


class Filler:
    """Makes the values of one producer, topic and partition, a block at a time: only the middle of a value changes."""

    def __init__(self, run_id: str, producer: str, topic: str, partition: int, size: int = DEFAULT_BYTES) -> None:
        check_names(run_id, producer, size)
        name, room = topic.encode(), size - LEAST_BYTES
        named = name if len(name) <= room else b""
        self._head = head(run_id, producer, topic, named=bool(named)) + partition.to_bytes(PARTITION.width)
        self._named, self._room = topic.encode(), room
        self._tail = named + random.Random(_FILLER_SEED).randbytes(room - len(named))  # noqa: S311  no secret
        self._head_crc = zlib.crc32(self._head)

    def block(
        self,
        seq_from: int,
        randoms: Sequence[int],
        sent_at_us: int,
        attempt: int = 0,
        *,
        texts: Sequence[str] | None = None,
    ) -> tuple[list[bytes], array[int]]:
        """Values for as many records as there are random integers, and the checksum in each.

        `texts`: what each of them says, in place of the filler.
        """
        head, tail, head_crc = self._head, self._tail, self._head_crc
        pack, crc_of, as_bytes = _MIDDLE.pack, zlib.crc32, _CRC.pack
        values: list[bytes] = []
        crcs = array("I")
        for seq, chance in enumerate(randoms, seq_from):
            if texts:
                tail = self._saying(texts[seq - seq_from])
            rest = pack(seq, attempt, chance, sent_at_us) + tail
            crc = crc_of(rest, head_crc)
            crcs.append(crc)
            values.append(head + rest + as_bytes(crc))
        return values, crcs

    def _saying(self, text: str) -> bytes:
        said = self._named + text.encode()
        if len(said) > self._room:
            raise UsageError(
                f"A value of {self._room + LEAST_BYTES} bytes has no room for what it is to say.",
                details=f"{text!r} needs {len(said) + LEAST_BYTES}, the topic's name included.",
                resolution=f"Set value_bytes to {len(said) + LEAST_BYTES} or more, or every one of sizes.",
            )
        return said.ljust(self._room, FILL)


def read(value: bytes | None) -> Mark | None:
    """What a value says; None if it is not of this form. A wrong checksum is told, not hidden."""
    if value is None or len(value) < LEAST_BYTES or value[: MARK_AT.end] != MARK:
        return None
    _, length, run_id, producer, hashed, partition = _HEAD.unpack_from(value)
    seq, attempt, chance, sent_at_us = _MIDDLE.unpack_from(value, SEQ.start)
    name = value[NAME_START : NAME_START + length].decode(errors="replace") if length else None
    return Mark(
        run_id.decode(errors="replace").rstrip(),
        producer.decode(errors="replace").rstrip(),
        name,
        hashed,
        partition,
        seq,
        attempt,
        chance,
        sent_at_us,
        _CRC.unpack_from(value, len(value) - CRC_WIDTH)[0],
        zlib.crc32(memoryview(value)[:-CRC_WIDTH]),
    )


def origin(value: bytes | None) -> tuple[bytes | None, int | None]:
    """What a ledger notes of it, as cheaply as it goes: its sender's names as they stand there, and its number."""
    if value is None or len(value) < LEAST_BYTES or value[: MARK_AT.end] != MARK:
        return None, None
    return value[RUN.start : PRODUCER.end], int.from_bytes(value[SEQ.start : SEQ.end])


def names_of(names: bytes | None) -> tuple[str | None, str | None]:
    """The run and the producer."""
    if names is None:
        return None, None
    run, producer = names[: RUN.width], names[RUN.width :]
    return run.decode(errors="replace").rstrip(), producer.decode(errors="replace").rstrip()


def text_of(value: bytes) -> str:
    """What it says behind its marks, of a value that says something."""
    start = NAME_START + value[NAME_LENGTH.start]
    return value[start:-CRC_WIDTH].rstrip(FILL).decode(errors="replace")


def seq_of(value: bytes) -> int:
    """The number alone: what a delivery report is filed by."""
    return int.from_bytes(value[SEQ.start : SEQ.end])
