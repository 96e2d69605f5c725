"""The journal, and what its seal makes of it, without a cluster."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from array import array
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from common.errors import KastellanError, UnreadableError, UsageError
from validate.workload import entries, journal
from validate.workload.block import Block
from validate.workload.seal import seal

ROOT = Path(__file__).resolve().parents[3]
LANES = [["orders", 0], ["orders", 1]]
PRODUCER: dict[str, Any] = {
    "kind": "producer", "lanes": LANES, "run_id": "r", "producer": "w", "acks": "all", "idempotent": True,
    "max_in_flight": 5, "clock": "here",
}  # fmt: skip
CONSUMER = {
    "kind": "consumer",
    "lanes": LANES,
    "group": "g",
    "member": "c",
    "isolation": "read_committed",
    "clock": None,
}
PROBE = {**PRODUCER, "kind": "probe", "idempotent": False, "witness": "fresh"}


def written(ledger: Path, opening: dict[str, Any], *frames: bytes, name: str = "w") -> Path:
    path = ledger / journal.FOLDER / f"{name}{journal.SUFFIX}"
    writer = journal.Writer(path)
    writer.append(journal.OPENING + json.dumps(opening).encode())
    for content in frames:
        writer.append(content)
    writer.close()
    return path


def block(lane: int = 0, seq_from: int = 0, count: int = 3) -> Block:
    numbers = range(seq_from, seq_from + count)
    return Block(
        lane, seq_from, 1_000_000, array("I", (n + 100 for n in numbers)), array("I", (3 * n for n in numbers))
    )


def reported(one: Block, *, failed: dict[int, tuple[str, str]] | None = None, silent: tuple[int, ...] = ()) -> bytes:
    for place in range(len(one)):
        if place not in silent:
            one.dones_us[place] = 2_000_000
            one.offsets[place] = -1 if failed and place in failed else 50 + one.seq_from + place
    one.failures = failed or {}
    return one.results()


def rows(ledger: Path, table: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = pq.read_table(ledger / table).to_pylist()
    return found


def test_what_was_written_is_read(tmp_path: Path) -> None:
    path = written(tmp_path, PRODUCER, b"one", b"", b"x" * 100_000)
    assert [content[:3] for content in journal.read(path)][1:] == [b"one", b"", b"xxx"]


@pytest.mark.parametrize("kept", range(1, 20, 3))
def test_a_torn_last_frame_is_dropped(tmp_path: Path, kept: int) -> None:
    path = written(tmp_path, PRODUCER, b"whole", b"the last one")
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) - 22 + kept])
    assert list(journal.read(path))[1:] == [b"whole"]


def test_damage_in_the_middle_is_no_torn_frame(tmp_path: Path) -> None:
    path = written(tmp_path, PRODUCER, b"first", b"second")
    data = bytearray(path.read_bytes())
    data[data.index(b"first")] ^= 1
    path.write_bytes(data)
    with pytest.raises(UnreadableError, match="is damaged"):
        list(journal.read(path))


def test_a_long_rest_without_a_frame_is_damage(tmp_path: Path) -> None:
    path = written(tmp_path, PRODUCER, b"first")
    path.write_bytes(path.read_bytes() + b"\0" * (journal.MOST_BYTES + 100))
    with pytest.raises(UnreadableError, match="is damaged"):
        list(journal.read(path))


def test_a_journal_in_use_is_not_sealed(tmp_path: Path) -> None:
    writer = journal.Writer(tmp_path / journal.FOLDER / f"w{journal.SUFFIX}")
    writer.append(journal.OPENING + json.dumps(PRODUCER).encode())
    with pytest.raises(UsageError, match="still being written"):
        seal(tmp_path)


def test_a_name_is_used_once(tmp_path: Path) -> None:
    written(tmp_path, PRODUCER)
    with pytest.raises(UsageError, match="There is a journal of that name already"):
        journal.Writer(tmp_path / journal.FOLDER / f"w{journal.SUFFIX}")


def test_a_full_disk_is_told(tmp_path: Path) -> None:
    writer = journal.Writer(tmp_path / "w")
    writer._file = os.open("/dev/full", os.O_WRONLY)
    with pytest.raises(KastellanError, match="The disk is full: the ledger cannot be written"):
        writer.append(b"x")


def test_the_seal_of_a_producer(tmp_path: Path) -> None:
    first, second = block(), block(seq_from=3)
    failed = {1: ("_MSG_TIMED_OUT", "unknown"), 2: ("_QUEUE_FULL", "refused")}
    written(
        tmp_path, PRODUCER, first.reservation(), second.reservation(), reported(first), reported(second, failed=failed)
    )
    assert seal(tmp_path) == ["reservations", "sent"]
    found = rows(tmp_path, "sent")
    assert [(r["seq"], r["outcome"], r["error"], r["acked_offset"]) for r in found] == [
        (0, "acked", None, 50), (1, "acked", None, 51), (2, "acked", None, 52), (3, "acked", None, 53),
        (4, "unknown", "_MSG_TIMED_OUT", None), (5, "refused", "_QUEUE_FULL", None),
    ]  # fmt: skip
    assert found[4]["value_crc"] == 104
    assert found[4]["random_int"] == 12
    assert all(r["done_at"].timestamp() == 2 and r["invoked_at"].timestamp() == 1 for r in found)
    assert [(r["partition"], r["seq_from"], r["seq_to"]) for r in rows(tmp_path, "reservations")] == [(0, 0, 6)]


def test_without_acknowledgements_no_offset_is_told(tmp_path: Path) -> None:
    """librdkafka makes them up: no broker answers to acks=0."""
    first = block()
    written(tmp_path, {**PRODUCER, "acks": "0"}, first.reservation(), reported(first))
    seal(tmp_path)
    assert [(r["outcome"], r["acks"], r["acked_offset"]) for r in rows(tmp_path, "sent")] == [("acked", "0", None)] * 3


def test_a_reserved_number_without_a_result_is_unknown(tmp_path: Path) -> None:
    first = block(lane=1)
    written(tmp_path, PRODUCER, first.reservation())
    seal(tmp_path)
    assert {(r["outcome"], r["done_at"], r["acked_offset"], r["partition"]) for r in rows(tmp_path, "sent")} == {
        ("unknown", None, None, 1)
    }


def test_a_half_reported_block(tmp_path: Path) -> None:
    one = block()
    written(tmp_path, PRODUCER, one.reservation(), reported(one, silent=(1,)))
    seal(tmp_path)
    assert [r["outcome"] for r in rows(tmp_path, "sent")] == ["acked", "unknown", "acked"]


def test_sealing_twice_gives_the_same(tmp_path: Path) -> None:
    written(tmp_path, PRODUCER, block().reservation())
    seal(tmp_path)
    before = rows(tmp_path, "sent")
    seal(tmp_path)
    assert rows(tmp_path, "sent") == before
    assert [path.name for path in (tmp_path / "sent").iterdir()] == ["w.parquet"]


def test_results_without_a_reservation_make_no_sense(tmp_path: Path) -> None:
    written(tmp_path, PRODUCER, reported(block()))
    with pytest.raises(UnreadableError, match="makes no sense"):
        seal(tmp_path)


def test_an_empty_journal_gives_nothing(tmp_path: Path) -> None:
    (tmp_path / journal.FOLDER).mkdir()
    (tmp_path / journal.FOLDER / f"w{journal.SUFFIX}").touch()
    assert seal(tmp_path) == []


def test_the_seal_of_a_consumer(tmp_path: Path) -> None:
    runs = [["orders", 0, "r", "w", [7, 8], [0, 1]], ["orders", 1, None, None, [3], [None]]]
    written(
        tmp_path, CONSUMER,
        entries.entry(entries.STARTS, [["orders", 0, 7]]),
        entries.entry(entries.TAKEN, 1, 0, 1_000_000, runs),
        entries.entry(entries.COMMIT, 1, 1, 2_000_000, [["orders", 0, 9], ["orders", 1, 4]]),
        entries.entry(entries.COMMITTED, 1, 3_000_000, [None, "ILLEGAL_GENERATION"]),
        entries.entry(entries.COMMIT, 2, 1, 4_000_000, [["orders", 0, 9]]),
    )  # fmt: skip
    assert seal(tmp_path) == ["commits", "delivered", "group_starts"]
    assert [(r["position"], r["partition"], r["offset"], r["seq"]) for r in rows(tmp_path, "delivered")] == [
        (0, 0, 7, 0), (1, 0, 8, 1), (2, 1, 3, None)
    ]  # fmt: skip
    assert [(r["offset"], r["outcome"], r["committed_at"].timestamp()) for r in rows(tmp_path, "commits")] == [
        (9, "acked", 3), (4, "unknown", 3), (9, "unknown", 4)
    ]  # fmt: skip


def test_the_seal_of_a_witness(tmp_path: Path) -> None:
    ok, refused, silent = block(count=1), block(seq_from=1, count=1), block(seq_from=2, count=1)
    written(
        tmp_path, PROBE,
        ok.reservation(), refused.reservation(), silent.reservation(),
        entries.entry(entries.READ, 1, 1, 1_000_000), entries.entry(entries.READ, 2, 0, 1_000_000),
        reported(ok), reported(refused, failed={0: ("NOT_ENOUGH_REPLICAS", "refused")}),
        entries.entry(entries.ANSWERED, 1, 5_000_000, "_TIMED_OUT"),
        entries.entry(entries.WATERMARKS, 1_000_000, [[0, 77]]),
    )  # fmt: skip
    assert seal(tmp_path) == ["probes", "reservations", "sent", "watermarks"]
    assert [(r["kind"], r["partition"], r["outcome"], r["error"]) for r in rows(tmp_path, "probes")] == [
        ("write", 0, "ok", None), ("write", 0, "failed", "NOT_ENOUGH_REPLICAS"), ("write", 0, "unknown", None),
        ("read", 1, "failed", "_TIMED_OUT"), ("read", 0, "unknown", None),
    ]  # fmt: skip
    assert [r["outcome"] for r in rows(tmp_path, "sent")] == ["acked", "refused", "unknown"]
    assert [(r["witness"], r["high_watermark"]) for r in rows(tmp_path, "watermarks")] == [("w", 77)]


_WRITER = """
import sys
from pathlib import Path
from validate.workload import journal
writer = journal.Writer(Path(sys.argv[1]))
number = 0
while True:
    writer.append(number.to_bytes(8) + b"x" * (number % 3000))
    number += 1
    if number % 50 == 0:
        print(number, flush=True)
"""


def killed_writer(path: Path, after: int) -> int:
    """How many frames it said were safe when SIGKILL came."""
    process = subprocess.Popen([sys.executable, "-c", _WRITER, str(path)], cwd=ROOT, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    said = [int(process.stdout.readline()) for _ in range(after)]
    process.send_signal(signal.SIGKILL)
    said += [int(line) for line in process.stdout if line.endswith("\n") and line.strip()]
    process.wait()
    return said[-1]


@pytest.mark.parametrize("after", [1, 3, 10, 40])
def test_what_was_safe_survives_the_writers_death(tmp_path: Path, after: int) -> None:
    path = tmp_path / "w"
    safe = killed_writer(path, after)
    numbers = [int.from_bytes(content[:8]) for content in journal.read(path)]
    assert numbers == list(range(len(numbers)))
    assert len(numbers) >= safe
