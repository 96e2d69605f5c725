"""A disk that is full on the machine that judges: told as that, unknown at most, and hosts are healed all the same."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import resource
import signal
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from common.errors import KastellanError
from common.wait import wait_until
from tests.unit.validate.control import Remembering, cluster, described
from tests.unit.validate.mock_brokers import mock_brokers
from tests.unit.validate.test_faults import field, lines
from tests.unit.validate.test_workload_journal import PRODUCER, block, written
from validate import __main__ as door
from validate import readback
from validate.aloud import aloud
from validate.faults.inject import broken
from validate.faults.ledger import FaultLedger
from validate.faults.record import OpenFault, Record
from validate.full import NotWritten, is_full
from validate.run import one, own_topics, processes
from validate.run.folder import Entry, RunFolder
from validate.workload.journal import Writer
from validate.workload.seal import seal

if TYPE_CHECKING:
    from collections.abc import Iterator

    from validate.cluster import Host

FULL = Path("/dev/full")
ROOT = Path(__file__).resolve().parents[3]


def no_space(*_: object, **__: object) -> Any:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "somewhere")


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[RunFolder]:
    made = RunFolder(tmp_path / "run", run_id="20261118T070000Z-s1", seed=1, suite="smoke", command=["x"])
    yield made
    with contextlib.suppress(OSError):
        made._log.close()


def test_hosts_are_healed_although_nothing_can_be_written_down(tmp_path: Path) -> None:
    """The healing is no failure of the cluster, and stays on record: its end is missing in the ledger."""
    shell = Remembering()
    place = field(tmp_path, shell)

    def fill() -> None:
        (tmp_path / "faults.jsonl").rename(tmp_path / "before")
        (tmp_path / "faults.jsonl").symlink_to(FULL)

    with (
        pytest.raises(NotWritten, match="The disk is full: the ledger") as told,
        broken(place, "stop", [place.cluster.hosts[0]]),
    ):
        fill()
    assert told.value.exit_code == 2
    assert "systemctl start" in shell.scripts[-1][1]
    assert [entry.host for entry in Record(tmp_path).all()] == ["broker-1"]


def test_nothing_is_broken_that_cannot_be_put_on_record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shell = Remembering()
    place = field(tmp_path, shell)
    monkeypatch.setattr("validate.faults.record.write_whole", no_space)
    with pytest.raises(NotWritten, match="The disk is full"), broken(place, "stop", [place.cluster.hosts[0]]):
        pytest.fail("nobody could heal it")
    assert shell.scripts == []
    assert lines(tmp_path) == []


class Gone:
    """Standard output of which nobody takes a word."""

    def __init__(self, number: int) -> None:
        self._number = number

    def write(self, _: str) -> int:
        raise OSError(self._number, os.strerror(self._number))

    flush = write


def test_half_a_line_does_not_swallow_the_next(tmp_path: Path) -> None:
    """A disk that fills up takes a piece of it, as does a file at the bound of its length."""
    ledger = FaultLedger(tmp_path)
    ledger.write("stop", "broker-1", "begin")
    least, most = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (ledger.path.stat().st_size + 20, most))
    try:
        with pytest.raises(NotWritten):
            ledger.write("stop", "broker-1", "bit")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (least, most))
    ledger.write("stop", "broker-1", "healed")
    assert lines(tmp_path) == [("stop", "broker-1", phase) for phase in ("begin", "healed")]


def test_a_line_that_a_power_cut_tore_stays_alone(tmp_path: Path) -> None:
    """It goes on telling that something is missing; the next one is whole."""
    ledger = FaultLedger(tmp_path)
    ledger.path.write_text('{"fault": "stop", "tar')
    ledger.write("stop", "broker-1", "healed")
    ledger.write("stop", "broker-2", "healed")
    torn, *whole = ledger.path.read_text().splitlines()
    assert torn == '{"fault": "stop", "tar'
    assert [json.loads(line)["target"] for line in whole] == ["broker-1", "broker-2"]


@pytest.mark.parametrize("number", [errno.EPIPE, errno.EIO, errno.ENOSPC])
def test_what_cannot_be_said_stops_no_healing(
    number: int, folder: RunFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The log is on the full disk, the terminal was closed, or `| head` has seen enough."""

    os.dup2(os.open(FULL, os.O_WRONLY), folder._log.fileno())
    monkeypatch.setattr(sys, "stdout", Gone(number))
    shell = Remembering()
    place = field(tmp_path, shell)
    place.say = folder.say
    with broken(place, "stop", [place.cluster.hosts[0]]):
        pass
    assert lines(tmp_path) == [("stop", "broker-1", phase) for phase in ("begin", "bit", "healed")]
    assert Record(tmp_path).all() == []
    print("goes nowhere, and does not fail either")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGHUP])
def test_a_signal_during_a_healing_that_nobody_hears_of_cuts_nothing_off(
    number: signal.Signals, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A closed terminal sends a signal and takes no word; the main thread joins the healing ones just then."""

    class Closing(Remembering):
        def __call__(self, host: Host, script: str, *, timeout_s: float) -> str:
            if "kill -CONT" in script:
                os.kill(os.getpid(), number)
                assert wait_until(lambda: not isinstance(sys.stdout, Gone), timeout_s=10), "no handler has spoken"
            return super().__call__(host, script, timeout_s=timeout_s)

    monkeypatch.setattr(sys, "stdout", Gone(errno.EIO))
    place = field(tmp_path, Closing())
    with pytest.raises(KeyboardInterrupt), broken(place, "pause", [place.cluster.hosts[0]]):
        pass
    assert lines(tmp_path)[-1] == ("pause", "broker-1", "healed")
    assert Record(tmp_path).all() == []
    print("goes nowhere, and does not fail either")


def test_a_second_signal_in_the_midst_of_the_words_on_the_first_is_borne(monkeypatch: pytest.MonkeyPatch) -> None:
    """Python refuses to write to a buffer that the same thread is writing to."""

    class Busy:
        def write(self, _: str) -> int:
            raise RuntimeError("reentrant call inside <_io.BufferedWriter name='<stdout>'>")

        flush = write

    monkeypatch.setattr(sys, "stdout", Busy())
    aloud("Healing first.")


def test_a_run_that_meets_a_full_disk_is_unknown_and_says_so(
    folder: RunFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Wherever in a scenario it was met."""
    from validate import scenario  # noqa: PLC0415
    from validate.run.context import Context  # noqa: PLC0415

    monkeypatch.setattr(one, "_run", no_space)
    nothing: Any = None
    context = Context(cluster(tmp_path), nothing, folder, nothing, allow_faults=True, large=False)
    entry = Entry("baseline", "t", "t", ["load"], "e", "r", {})
    one.run_one(context, scenario.load("baseline"), entry)
    assert (entry.verdict, entry.unhealed) == ("unknown", False)
    assert "The disk is full: the ledger cannot be written" in entry.reasons[0]


def test_a_verb_that_meets_a_full_disk_says_so_without_a_trace(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("validate.faults.mend.mend", lambda _: ([], []))
    monkeypatch.setattr(own_topics.OwnTopics, "remove", no_space)
    assert door.main(["heal", "--cluster", str(described(tmp_path))]) == 2
    told = capsys.readouterr().err
    assert told.startswith("The disk is full: the ledger cannot be written.")
    assert "Traceback" not in told


def test_a_ledger_that_cannot_be_sealed_is_told_and_has_no_half(tmp_path: Path) -> None:
    first = block()
    written(tmp_path, PRODUCER, first.reservation())
    (tmp_path / "sent").mkdir()
    (tmp_path / "sent" / ".w.parquet.half").symlink_to(FULL)
    with pytest.raises(OSError, match=r".") as told:
        seal(tmp_path)
    assert is_full(told.value)
    assert not (tmp_path / "sent" / "w.parquet").exists()


def test_a_final_read_that_cannot_be_written_is_no_unreadable_partition(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise RuntimeError("Job aborted.\n\tat a.b\njava.io.IOException: No space left on device")

    nothing: Any = None
    reading = sys.modules["validate.readback.read"]
    monkeypatch.setattr("validate.readback.bounds.take", lambda *_, **__: SimpleNamespace(bounds=[], problems=[]))
    monkeypatch.setattr(reading, "_write", refuse)
    monkeypatch.setattr(reading, "read_to", lambda *_: pytest.fail("no record is to blame"))
    with pytest.raises(NotWritten, match="The disk is full"):
        readback.read(nothing, {}, [("t", 1)], tmp_path)


def test_a_workload_whose_words_found_no_room_either_is_told_by_its_pipe(tmp_path: Path) -> None:
    """Its log lies on the same disk as its journal."""
    logs = tmp_path / "logs"
    logs.mkdir()
    ledger = tmp_path / "ledger"
    (ledger / "journals").mkdir(parents=True)
    small = tmp_path / "small.py"
    small.write_text(
        "import os, sys\n"
        "from validate.workload import __main__ as door, journal\n"
        "before = journal.Writer.__init__\n"
        "def there(self, path):\n"
        "    before(self, path)\n"
        "    os.dup2(os.open('/dev/full', os.O_WRONLY), self._file)\n"
        "journal.Writer.__init__ = there\n"
        "os.dup2(os.open('/dev/full', os.O_WRONLY), 2)\n"
        "sys.exit(door.main(sys.argv[1:]))\n"
    )
    with mock_brokers(1) as brokers:
        brokers.make_topic("t")
        spec = {
            "run_id": "r", "name": "writer-1", "ledger": str(ledger), "count": 5, "clock": "here",
            "client": {"bootstrap.servers": brokers.bootstrap}, "topics": [{"name": "t", "partitions": 1}],
        }  # fmt: skip
        path = tmp_path / "spec.json"
        path.write_text(json.dumps(spec))
        process = subprocess.Popen(
            [sys.executable, str(small), "producer", str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            text=True, env={**os.environ, "PYTHONPATH": str(ROOT)},
        )  # fmt: skip
        made = processes.Workload("producer", "writer-1", process, logs / "none.log")
        made.listen()
        process.wait(30)
    assert process.stdin is not None
    process.stdin.close()
    assert "The disk is full: the ledger cannot be written." in (made.ended_badly or "")


def test_other_errors_are_told_as_what_they_are() -> None:
    assert not is_full(PermissionError(errno.EACCES, "no"))
    assert not is_full(KastellanError("There is no room for doubt"))


@pytest.mark.parametrize(
    ("number", "brief", "remedy"),
    [
        (errno.ENOSPC, "The disk is full: the {} cannot be written.", "Free some space and run again"),
        (errno.EACCES, "The {} cannot be written.", "Make it writable"),
        (errno.EROFS, "The {} cannot be written.", "Make it writable"),
    ],
)
def test_what_was_to_be_written_is_named_with_a_way_out_that_fits(
    number: int, brief: str, remedy: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: object, **__: object) -> Any:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr("validate.faults.record.write_whole", refused)
    with pytest.raises(NotWritten) as record:
        Record(tmp_path).open(OpenFault("stop", "broker-1"))
    monkeypatch.setattr(FaultLedger, "_append", refused)
    with pytest.raises(NotWritten) as ledger:
        FaultLedger(tmp_path).write("stop", "broker-1", "begin")
    writer = Writer(tmp_path / "w")
    with monkeypatch.context() as broken_disk:
        broken_disk.setattr(os, "write", refused)
        broken_disk.setattr(Path, "unlink", refused)
        with pytest.raises(KastellanError) as journal:
            writer.append(b"x")
        with pytest.raises(NotWritten) as emptied:
            Record(tmp_path).close(OpenFault("stop", "broker-1"))
    nouns = (
        (record, "record of open faults"),
        (emptied, "record of open faults"),
        (ledger, "ledger"),
        (journal, "ledger"),
    )
    for told, noun in nouns:
        assert told.value.brief == brief.format(noun)
        assert told.value.resolution.startswith(remedy)
