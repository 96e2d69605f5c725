"""The value of a record, as Python fills and reads it. Spark's side of it: tests/spark/test_value.py."""

from __future__ import annotations

import json
import random
import zlib
from array import array
from typing import Any

import pytest

from common.errors import UsageError
from validate.workload import entries, value

RUN = "20261118T070000Z-s42"


def filled(
    size: int, topic: str = "kastellan-one", count: int = 3, seq_from: int = 7
) -> tuple[list[bytes], array[int]]:
    filler = value.Filler(RUN, "writer-1", topic, 2, size)
    return filler.block(seq_from, array("I", range(5, 5 + count)), 1_763_449_200_000_000, attempt=1)


@pytest.mark.parametrize("size", [value.LEAST_BYTES, 100, 1024, 100_000])
def test_what_is_filled_is_read(size: int) -> None:
    values, crcs = filled(size)
    for place, one in enumerate(values):
        mark = value.read(one)
        assert len(one) == size
        assert mark is not None
        assert (mark.run_id, mark.producer, mark.partition, mark.attempt) == (RUN, "writer-1", 2, 1)
        assert (mark.seq, mark.random_int, mark.sent_at_us) == (7 + place, 5 + place, 1_763_449_200_000_000)
        assert mark.value_crc == mark.payload_crc == crcs[place] == zlib.crc32(one[:-4])
        assert value.seq_of(one) == mark.seq


@pytest.mark.parametrize(("size", "topic", "name"), [
    (value.LEAST_BYTES, "t", None),
    (value.LEAST_BYTES + 1, "t", "t"),
    (100, "kastellan-one", "kastellan-one"),
    (100, "kastellan-three", None),
    (1024, "t" * 249, "t" * 249),
])  # fmt: skip
def test_the_topics_name_is_there_if_it_fits(size: int, topic: str, name: str | None) -> None:
    mark = value.read(filled(size, topic)[0][0])
    assert mark is not None
    assert (mark.topic, mark.topic_hash) == (name, value.topic_hash(topic))


def test_the_extremes_of_each_field() -> None:
    values, _ = value.Filler("r", "p" * 20, "t", 2**31 - 1, 100).block(2**62, array("I", [2**32 - 1]), 2**60, 65_535)
    mark = value.read(values[0])
    assert mark is not None
    assert (mark.seq, mark.random_int, mark.sent_at_us, mark.attempt) == (2**62, 2**32 - 1, 2**60, 65_535)
    assert (mark.producer, mark.partition) == ("p" * 20, 2**31 - 1)


@pytest.mark.parametrize("foreign", [None, b"", b"hello", b"\x00" * 100, b"KST\x02" + b"\x00" * 96, b"KST\x01"])
def test_foreign_values_are_not_ours(foreign: bytes | None) -> None:
    assert value.read(foreign) is None


def test_every_flipped_bit_shows_in_the_checksum_or_the_mark() -> None:
    chance = random.Random(1)
    good = filled(100)[0][0]
    for _ in range(500):
        bad = bytearray(good)
        bad[chance.randrange(100)] ^= 1 << chance.randrange(8)
        mark = value.read(bytes(bad))
        assert mark is None or mark.value_crc != mark.payload_crc


@pytest.mark.parametrize(("run_id", "producer", "size", "message"), [
    ("r" * 29, "p", 100, "run_id 'r"),
    ("r", "p" * 21, 100, "producer 'p"),
    ("r", "", 100, "producer '' does not fit"),
    ("r", "a b", 100, "producer 'a b' does not fit"),
    ("r", "p", value.LEAST_BYTES - 1, "has no room for its marks"),
])  # fmt: skip
def test_names_are_never_cut_off(run_id: str, producer: str, size: int, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        value.Filler(run_id, producer, "t", 0, size)


def test_fields_lie_side_by_side() -> None:
    spans = [value.MARK_AT, value.NAME_LENGTH, value.RUN, value.PRODUCER, value.TOPIC_HASH, value.PARTITION, value.SEQ,
             value.ATTEMPT, value.RANDOM_INT, value.SENT_AT]  # fmt: skip
    assert [span.start for span in spans] == [0, *(span.end for span in spans[:-1])]
    assert spans[-1].end + value.CRC_WIDTH == value.LEAST_BYTES


class Delivered:
    """In place of librdkafka's message."""

    def __init__(self, place: tuple[str, int, int], content: bytes | None) -> None:
        self._place, self._content = place, content

    def topic(self) -> str:
        return self._place[0]

    def partition(self) -> int:
        return self._place[1]

    def offset(self) -> int:
        return self._place[2]

    def value(self) -> bytes | None:
        return self._content


def test_what_is_taken_up_is_noted_under_its_senders_names() -> None:
    """Neighbours of one origin share them; foreign records, tombstones and cut ones have none."""
    ours, other = (value.Filler("run-1", name, "t", 0, 100).block(5, array("I", [1, 2]), 7)[0] for name in ("w", "x"))
    given = [
        (("t", 0, 10), ours[0]), (("t", 0, 12), ours[1]), (("t", 0, 13), other[0]), (("t", 1, 3), other[1]),
        (("t", 1, 4), None), (("t", 1, 5), b"quit"), (("t", 1, 6), ours[0][:60]), (("u", 1, 7), ours[0]),
    ]  # fmt: skip
    messages: Any = [Delivered(*one) for one in given]
    word, *facts, runs = json.loads(entries.taken(2, 40, 99, messages))
    assert (word, facts) == (entries.TAKEN, [2, 40, 99])
    assert runs == [
        ["t", 0, "run-1", "w", [10, 12], [5, 6]], ["t", 0, "run-1", "x", [13], [5]],
        ["t", 1, "run-1", "x", [3], [6]], ["t", 1, None, None, [4, 5, 6], [None] * 3], ["u", 1, "run-1", "w", [7], [5]],
    ]  # fmt: skip
    told = [value.read(content) for _, content in given]
    assert [(mark.run_id, mark.producer, mark.seq) if mark else None for mark in told] == [
        (run[2], run[3], seq) if seq is not None else None for run in runs for seq in run[5]
    ]


def test_nothing_is_noted_of_nothing() -> None:
    assert json.loads(entries.taken(1, 0, 1, [])) == [entries.TAKEN, 1, 0, 1, []]
