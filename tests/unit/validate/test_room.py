"""A load ends, and says why, while its ledger can still be sealed; one that breaks off leaves a ledger that is whole."""

from __future__ import annotations

import itertools
import os
import threading
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any
from unittest.mock import MagicMock

import pyarrow.parquet as pq
import pytest

from common.wait import wait_until
from tests.unit.validate.mock_brokers import mock_brokers
from tests.unit.validate.test_load_shapes import send
from tests.unit.validate.test_workload_bulk import spec
from validate import plan, scenario
from validate.ledger.from_json import arrow_schema
from validate.plan import LEDGER_BYTES, LOG_BYTES, SENT_BYTES
from validate.run import one, room
from validate.run.folder import Entry
from validate.run.load import Load
from validate.run.processes import Workloads
from validate.workload import bulk, journal
from validate.workload.seal import seal

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from validate.workload.spec import ProducerSpec


def test_what_is_kept_free_is_enough_to_seal_and_to_read_back(tmp_path: Path) -> None:
    count = 20_000
    send(tmp_path, count=count)
    sealed = room.written_bytes(tmp_path / "sent") + LOG_BYTES * count
    assert room.TIMES_JOURNALS * room.written_bytes(tmp_path / journal.FOLDER) >= sealed > LEDGER_BYTES * count


def test_of_a_load_by_spark_the_rest_is_what_is_read_back() -> None:
    assert room.TIMES_ROWS * 22.8 >= LOG_BYTES  # of a small load; SENT_BYTES is a large one's


def test_a_disk_as_large_as_the_plan_says_is_enough(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "EVERY_S", 0.0)
    records, written = 10**6, 0

    def of_spark(folder: Path) -> int:
        return 0 if folder.name == journal.FOLDER else written

    monkeypatch.setattr(room, "written_bytes", of_spark)
    looked = room.Room(tmp_path, lambda _: int(plan.room_bytes(records)) - written)
    for share in range(101):
        written = int(records * SENT_BYTES * share / 100)
        looked.check()
    written += room.MIB
    with pytest.raises(room.NoRoom):
        looked.check()


def test_room_gets_scarce_with_what_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "EVERY_S", 0.0)
    free = room.LEAST_BYTES + 24 * room.MIB
    looked = room.Room(tmp_path, lambda _: free)
    (tmp_path / "journals").mkdir()
    (tmp_path / "journals" / "w.journal").write_bytes(bytes(9 * room.MIB))
    looked.check()
    (tmp_path / "sent").mkdir()
    (tmp_path / "sent" / "part").write_bytes(bytes(2 * room.MIB))
    with pytest.raises(room.NoRoom, match=r"152 MiB are free; .* may take 153 MiB") as told:
        looked.check()
    assert told.value.exit_code == 2


def test_it_is_looked_for_once_a_second(tmp_path: Path) -> None:
    looks: list[Path] = []

    def free(folder: Path) -> int:
        looks.append(folder)
        return 1 << 50

    looked = room.Room(tmp_path, free)
    for _ in range(100):
        looked.check()
    assert looks == [tmp_path]


def test_folders_that_come_and_go_meanwhile_are_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Spark's _temporary is gone between the look at its parent and the look into it."""
    (tmp_path / "sent" / "_temporary").mkdir(parents=True)
    (tmp_path / "part").write_bytes(bytes(7))
    scan = os.scandir

    def gone(place: Any) -> Any:
        if str(place).endswith("_temporary"):
            raise FileNotFoundError(place)
        return scan(place)

    monkeypatch.setattr(os, "scandir", gone)
    assert room.written_bytes(tmp_path) == 7


def from_look(number: int, free: Any) -> Any:
    """Room enough until that look; then `free` says."""
    looks: list[Path] = []

    def look(folder: Path) -> int:
        looks.append(folder)
        return 1 << 50 if len(looks) < number else int(free())

    return look


def test_beside_a_load_of_spark_it_is_ended_until_it_is_over_and_told_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One call may come between two jobs, and the second would run on."""
    monkeypatch.setattr(room, "EVERY_S", 0.01)
    ended: list[bool] = []
    with room.watched(room.Room(tmp_path, from_look(2, lambda: 0)), lambda: ended.append(True)) as told:
        assert wait_until(lambda: len(ended) > 2, timeout_s=10)
    calls = len(ended)
    assert len(told) == 1
    with room.watched(room.Room(tmp_path, lambda _: 1 << 50), lambda: ended.append(True)) as told:
        pass
    assert (told, len(ended)) == ([], calls)


def test_a_look_that_fails_is_not_the_last_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "EVERY_S", 0.01)
    looks: list[bool] = []

    def free() -> int:
        looks.append(True)
        if len(looks) == 1:
            raise FileNotFoundError("the ledger's folder")
        return 0

    ended = threading.Event()
    with room.watched(room.Room(tmp_path, from_look(2, free)), ended.set) as told:
        assert ended.wait(10)
    assert len(told) == 1


def test_a_writer_whose_disk_fills_up_is_ended_in_order_and_its_ledger_is_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(room, "EVERY_S", 0.0)
    ledger, logs = tmp_path / "ledger", tmp_path / "logs"
    ledger.mkdir()
    logs.mkdir()
    free = [1 << 50]
    with mock_brokers(2) as brokers:
        brokers.make_topic("two")
        shared = {
            "run_id": "r", "client": {"bootstrap.servers": brokers.bootstrap}, "clock": "here",
            "topics": [{"name": "two", "partitions": 2}],
        }  # fmt: skip
        made = Workloads(ledger, logs, shared)
        made._room = room.Room(ledger, lambda _: free[0])
        try:
            made.start("producer", "writer-1", records_per_s=500)
            made.await_ready()
            assert wait_until(lambda: sum(made.acked().values()) > 100, timeout_s=30)
            made.check()
            free[0] = 0
            with pytest.raises(room.NoRoom, match="The disk of the ledger is filling up: the load was ended"):
                made.check()
            assert made.end(made.all) == []
        finally:
            made.kill()
    assert {"sent", "reservations"} <= set(seal(ledger))
    rows = pq.read_table(ledger / "sent").to_pylist()
    reserved = pq.read_table(ledger / "reservations").to_pylist()
    assert len(rows) == sum(row["seq_to"] - row["seq_from"] for row in reserved) > 100
    assert {row["outcome"] for row in rows} == {"acked"}


def loaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception) -> ProducerSpec:
    """A load of which Spark says that it failed."""
    monkeypatch.setattr(bulk, "check_topics", lambda _: None)
    rows = MagicMock()
    rows.write.mode.return_value.parquet.side_effect = error
    monkeypatch.setattr(bulk, "_map_in_arrow", lambda *_: rows)
    spark = MagicMock()
    spark.sparkContext.defaultParallelism, spark.sparkContext.master = 2, "local[2]"
    asked = spec(tmp_path)
    given = {"run_id": "r", "name": "load", "ledger": str(tmp_path), "client": {}, "count": 10,
             "topics": [{"name": "three", "partitions": 3}]}  # fmt: skip
    bulk.load(spark, given)
    return asked


@pytest.mark.parametrize(("words", "brief"), [
    ("ExecutorLostFailure (executor 1 exited)", "The bulk load broke off."),
    ("java.io.IOException: No space left on device", "The disk is full: the bulk load broke off."),
])  # fmt: skip
def test_a_load_that_breaks_off_is_sealed_with_what_is_reserved_and_nothing_else(
    words: str, brief: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(bulk.BrokeOff) as told:
        loaded(tmp_path, monkeypatch, RuntimeError(words))
    assert (told.value.brief, told.value.exit_code) == (brief, 2)
    sent = pq.read_table(tmp_path / "sent")
    assert (sent.num_rows, sent.schema.names) == (0, arrow_schema("sent").names)
    reserved = pq.read_table(tmp_path / "reservations").to_pylist()
    assert sum(row["seq_to"] - row["seq_from"] for row in reserved) == 10


SMALL = {
    "title": "t", "teaches": "t", "explanation": "e", "suites": ["untried"],
    "topics": {"kastellan-t": {"partitions": 2, "replication": 1}},
    "workload": {"kind": "bulk", "count": 5, "consumers": 0, "probes": False}, "expect": {"anomalies": "none"},
}  # fmt: skip


def ran(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, send: Any, outcomes: Any = lambda *_: {"acked": 5}
) -> tuple[bool, Entry]:
    monkeypatch.setattr(bulk, "send", send)
    monkeypatch.setattr(bulk, "outcomes", outcomes)
    cancelled = threading.Event()
    spark = SimpleNamespace(sparkContext=SimpleNamespace(cancelAllJobs=cancelled.set), cancelled=cancelled)
    folder = SimpleNamespace(seed=1, say=lambda _: None)
    context: Any = SimpleNamespace(shared_spec=lambda *_: {}, spark=lambda **_: spark, folder=folder)
    entry = Entry("x", "t", "t", [], "e", "r", {})
    place: Any = SimpleNamespace(settings={})
    ended = one._bulk(context, scenario.parse("x", SMALL, place="x.yaml"), entry, place, tmp_path)
    return ended, entry


def test_a_broken_load_leaves_its_scenario_unknown_and_to_be_judged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise bulk.BrokeOff("The bulk load broke off.", details="an executor died")

    ended, entry = ran(tmp_path, monkeypatch, broken)
    assert (ended, entry.verdict) == (False, "unknown")
    assert entry.reasons == ["The bulk load broke off. an executor died"]


def test_a_load_of_spark_without_room_is_cancelled_and_says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(room, "EVERY_S", 0.01)

    def cancelled(spark: Any, _: object) -> None:
        monkeypatch.setattr(room, "LEAST_BYTES", 1 << 60)
        assert spark.cancelled.wait(10)
        raise bulk.BrokeOff("The bulk load broke off.", details="cancelled")

    ended, entry = ran(tmp_path, monkeypatch, cancelled)
    assert (ended, entry.verdict) == (False, "unknown")
    (reason,) = entry.reasons
    assert reason.startswith("The disk of the ledger is filling up: the load was ended.")


def test_a_load_of_spark_without_room_from_the_start_does_not_begin(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(room, "LEAST_BYTES", 1 << 60)
    begun: list[bool] = []
    with pytest.raises(room.NoRoom):
        ran(tmp_path, monkeypatch, lambda *_: begun.append(True))
    assert begun == []


def test_once_a_load_of_spark_is_sent_nothing_ends_the_count_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(room, "EVERY_S", 0.01)
    threads: list[set[str]] = []

    def sent(*_: object) -> list[str]:
        threads.append({one.name for one in threading.enumerate()})
        return ["loader-0"]

    def outcomes(_: object, ledger: str, producers: list[str]) -> dict[str, int]:
        assert (ledger, producers) == (str(tmp_path), ["loader-0"])
        threads.append({one.name for one in threading.enumerate()})
        return {"acked": 5}

    ended, entry = ran(tmp_path, monkeypatch, sent, outcomes)
    assert (ended, entry.verdict) == (True, None)
    meanwhile, after = threads
    assert ("room" in meanwhile, "room" in after) == (True, False)


def test_a_load_of_spark_takes_the_shape_that_the_scenario_asks_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[dict[str, Any]] = []

    def load(_: object, given: dict[str, Any]) -> list[str]:
        asked.append(given)
        return []

    stage = {"for_s": 1.0, "records_per_s": 5.0}
    sizes, keys = [{"bytes": 200, "share": 1}], {"count": 50, "skew": 1.0}
    monkeypatch.setitem(SMALL["workload"], "shape", [stage])  # type: ignore[arg-type]
    monkeypatch.setitem(SMALL["workload"], "sizes", sizes)  # type: ignore[arg-type]
    monkeypatch.setitem(SMALL["workload"], "drawn_keys", keys)  # type: ignore[arg-type]
    ended, entry = ran(tmp_path, monkeypatch, load)
    assert ended
    assert entry.notes[0].startswith("5 acked in ")
    (given,) = asked
    assert (given["sizes"], given["drawn_keys"], given["records_per_s"]) == (sizes, keys, None)
    assert given["shape"][0]["records_per_s"] == 5.0


@pytest.mark.parametrize(
    ("lag", "said", "slow"),
    [
        (lambda _: 4711, "4711 records behind after 0 s", False),
        (lambda look: 4711 - look, "records behind after 0 s, and still read on", True),
        (lambda look: 4711 - min(look, 3), "4708 records behind after 0 s", False),  # stuck since early
    ],
    ids=["stands still", "reads on", "stopped early"],
)
def test_a_reader_that_does_not_keep_up_ends_the_wait_with_words(
    lag: Callable[[int], int], said: str, slow: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its lag is told and nobody waits for ever; the ledger is sealed after that as after any other end."""
    looks = itertools.count()
    monkeypatch.setattr("validate.run.load.Admin", lambda _: SimpleNamespace(behind=lambda *_: lag(next(looks))))
    monkeypatch.setattr(
        "validate.run.load.wait_until",
        lambda ready, *, timeout_s, every_s: wait_until(ready, timeout_s=timeout_s, every_s=every_s / 50),
    )
    found = scenario.load("baseline")
    found.bounds["catch_up_s"] = 0.4
    context: Any = SimpleNamespace(
        folder=SimpleNamespace(folder=lambda _: tmp_path), shared_spec=lambda *_: {}, cluster=None
    )
    place: Any = SimpleNamespace(settings={})
    made = Load(context, found, place, tmp_path, "kastellan-g")
    monkeypatch.setattr(made.workloads, "of", lambda *kinds: ["reader"] if kinds == ("consumer",) else [])
    monkeypatch.setattr(made.workloads, "end", lambda which, **_: [f"ended {which}"])
    *ended, words, last = made.finish()
    assert (ended, last) == (["ended []", "ended []"], "ended ['reader']")
    assert words.startswith("group kastellan-g was still ")
    assert words.endswith(said)
    assert made.slow_readers is slow
