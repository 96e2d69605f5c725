"""What goes to the executors of a Spark cluster, and what does not: modules, packages, logins, clocks, secrets."""

from __future__ import annotations

import json
import os
import pickle
import re
import socket
import subprocess
import sys
import zipfile
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from common.errors import UnreadableError, UsageError
from common.wait import wait_until
from tests.system.spark import running
from validate import pack, session
from validate.__main__ import main
from validate.readback.options import java_settings
from validate.run import runner, shared
from validate.run.context import Context
from validate.run.folder import RunFolder
from validate.run.runner import Wish, shared_folder
from validate.workload import bulk
from validate.workload.clock import Clock, boot
from validate.workload.settings import inlined
from validate.workload.spec import ProducerSpec

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

NONE: Any = None
MASTER = "spark://127.0.0.1:7077"
# Runs in a Python that has our modules from the zip alone, and says whose packages they ask for.
IMPORTS = """
import json, sys
sys.path = [sys.argv[1], *(p for p in sys.path if p != sys.argv[2] and p)]
before = set(sys.modules)
import validate.workload.bulk as bulk
asked = {name.partition(".")[0] for name in set(sys.modules) - before} - set(sys.stdlib_module_names)
print(json.dumps([bulk.__file__, sorted(asked)]))
"""


def test_a_task_of_the_load_runs_from_the_zip_and_the_listed_packages(tmp_path: Path) -> None:
    modules, packages = pack.pack(tmp_path)
    argv = [sys.executable, "-c", IMPORTS, str(modules), str(pack.ROOT)]
    done = subprocess.run(argv, cwd=tmp_path, capture_output=True, text=True, check=True)
    place, asked = json.loads(done.stdout)
    assert place.startswith(str(modules))
    listed = {name.replace("-", "_") for name in re.findall(r"^([\w-]+)==", packages.read_text("utf-8"), re.MULTILINE)}
    executors_have = {"pyspark", "py4j"}
    of_packages = {name for name in asked if not name.startswith(("_", "cython_"))} - set(pack.ROOMS) - executors_have
    assert of_packages == listed == {"confluent_kafka", "pyarrow"}


def test_the_same_modules_make_the_same_zip_and_nothing_else_is_in_it(tmp_path: Path) -> None:
    one, other = pack.pack_modules(tmp_path / "one.zip"), pack.pack_modules(tmp_path / "other.zip")
    assert one.read_bytes() == other.read_bytes()
    names = zipfile.ZipFile(one).namelist()
    assert {name.partition("/")[0] for name in names} == {"common", "validate"}
    assert {Path(name).suffix for name in names} == {".py"}


def test_packages_are_pinned_with_checksums(tmp_path: Path) -> None:
    _, packages = pack.pack(tmp_path)
    lines = packages.read_text(encoding="utf-8").splitlines()
    pins = [line for line in lines if not line.startswith(" ")]
    assert all(re.fullmatch(r"[\w-]+==[\d.]+ \\", pin) for pin in pins)
    assert len(lines) > 2 * len(pins)
    assert all(re.fullmatch(r"    --hash=sha256:[0-9a-f]{64}( \\)?", line) for line in lines if line not in pins)


def test_a_lock_without_them_is_told() -> None:
    with pytest.raises(UnreadableError, match="does not pin confluent-kafka"):
        pack.requirements("pyarrow==1 \\\n    --hash=sha256:00\n")


def test_the_verb_says_what_to_do(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["pack", "--out", str(tmp_path / "new")]) == 0
    said = capsys.readouterr().out
    assert "pip install -r requirements-executors.txt" in said
    assert (tmp_path / "new" / pack.ZIP).is_file()


def test_logins_travel_with_what_their_files_hold(tmp_path: Path) -> None:
    for name in ("ca", "cert", "key"):
        (tmp_path / name).write_text(f"PEM of {name}", encoding="ascii")
    client = {
        "bootstrap.servers": "b:9092", "ssl.ca.location": str(tmp_path / "ca"),
        "ssl.certificate.location": str(tmp_path / "cert"), "ssl.key.location": str(tmp_path / "key"),
    }  # fmt: skip
    made = inlined(client)
    assert not any(str(tmp_path) in str(value) for value in made.values())
    assert (made["ssl.ca.pem"], made["ssl.key.pem"]) == ("PEM of ca", "PEM of key")
    assert java_settings(client) == java_settings(made)
    assert java_settings(client)["ssl.keystore.certificate.chain"] == "PEM of cert"
    with pytest.raises(UsageError, match=r"ssl\.ca\.location cannot be read"):
        inlined({"ssl.ca.location": str(tmp_path / "none")})


def test_tasks_on_a_cluster_are_told_no_file_names(tmp_path: Path) -> None:
    (tmp_path / "ca").write_text("PEM of ca", encoding="ascii")
    given = {"run_id": "r", "name": "l", "ledger": "l", "client": {"ssl.ca.location": str(tmp_path / "ca")}, "count": 5,
             "topics": [{"name": "t", "partitions": 30}], "shape": [{"for_s": 1, "records_per_s": 5}],
             "sizes": [{"bytes": 100, "share": 1}], "drawn_keys": {"count": 500}}  # fmt: skip
    spec = ProducerSpec.parse(given)
    there, here = (bulk.told_to_tasks(spec, master) for master in (MASTER, "local[*]"))
    assert (there["client"], here["client"]) == ({"ssl.ca.pem": "PEM of ca"}, given["client"])
    assert ProducerSpec.parse(here) == spec


def test_a_task_on_another_machine_has_a_clock_of_its_own() -> None:
    given: dict[str, Any] = {"run_id": "r", "name": "load-1", "ledger": "l", "client": {}, "clock": "driver",
                             "topics": [{"name": "t", "partitions": 1}], "clock_offset_ns": 5}  # fmt: skip
    spec = ProducerSpec.parse(given)
    assert bulk.on_this_clock(spec, boot()) is spec
    there = bulk.on_this_clock(spec, "another life")
    assert (there.clock, there.clock_offset_ns) == (f"{socket.gethostname()}/load-1", None)


class Started:
    """As much of a session as is asked of it here."""

    def __init__(self) -> None:
        self.sparkContext = self
        self.files: list[Path] = []
        self.registered = iter([1, 2, 2, 3])  # the driver, then one executor after another
        self._jsc = SimpleNamespace(sc=lambda: SimpleNamespace(getExecutorMemoryStatus=lambda: self))

    def size(self) -> int:
        return next(self.registered, 3)

    def addPyFile(self, path: str) -> None:  # noqa: N802  Spark's name
        self.files.append(Path(path))


class Builder:
    """Stands for Spark's, whose settings become words of a command line that everybody on the machine can read."""

    def __init__(self) -> None:
        self.settings: dict[str, str] = {}
        self.started = Started()

    def master(self, url: str) -> Builder:
        self.settings["spark.master"] = url
        return self

    def appName(self, _: str) -> Builder:  # noqa: N802  Spark's name
        return self

    def config(self, key: str, value: str) -> Builder:
        self.settings[key] = value
        return self

    def getOrCreate(self) -> Started:  # noqa: N802  Spark's name
        return self.started


@pytest.fixture
def builder(monkeypatch: pytest.MonkeyPatch) -> Builder:
    made = Builder()
    monkeypatch.setattr(session, "SparkSession", type("SparkSession", (), {"builder": made}))
    monkeypatch.setattr(session, "check_java", lambda: None)
    return made


def test_a_session_on_a_cluster_hands_our_modules_out(builder: Builder) -> None:
    with socket.create_server(("127.0.0.1", 0)) as master:
        session.start(master=f"spark://127.0.0.1:{master.getsockname()[1]}")
    assert [path.name for path in builder.started.files] == [pack.ZIP]
    assert builder.started.files[0].is_file(), "executors fetch it from here when they have a task, not now"
    assert builder.settings["spark.driver.host"] == "127.0.0.1"
    assert builder.settings["spark.task.maxFailures"] == "4", "what only reads is read again when an executor dies"
    assert builder.settings["spark.hadoop.fs.permissions.umask-mode"] == "002"
    assert "spark.local.dir" not in builder.settings


@pytest.mark.parametrize(("settings", "is_open"), [
    ({}, True),
    ({"spark.network.crypto.enabled": "false"}, True),
    ({"spark.network.crypto.enabled": "true"}, False),
    ({"spark.ssl.rpc.enabled": "true"}, False),
])  # fmt: skip
def test_a_cluster_that_can_be_listened_to_is_told(settings: dict[str, str], is_open: bool) -> None:
    spark: Any = SimpleNamespace(sparkContext=SimpleNamespace(getConf=lambda: settings))
    assert session.is_open(spark) is is_open


def test_what_may_send_is_never_tried_twice(builder: Builder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session, "SETTLED_S", 0.5)
    with socket.create_server(("127.0.0.1", 0)) as master:
        session.start(master=f"spark://127.0.0.1:{master.getsockname()[1]}", sends=True)
    assert next(builder.started.registered, None) is None, "cores that come later would have no share"
    assert builder.settings["spark.task.maxFailures"] == "1"
    assert builder.settings["spark.speculation"] == "false"


def test_on_this_machine_nothing_is_handed_out(builder: Builder) -> None:
    session.start()
    assert builder.started.files == []
    assert builder.settings["spark.task.maxFailures"] == "1"


def test_no_secret_is_a_setting_and_what_looks_like_one_is_hidden(builder: Builder) -> None:
    session.start(size_bytes=1 << 30)
    for key in builder.settings:
        assert key == "spark.redaction.regex" or not re.search(builder.settings["spark.redaction.regex"], key)
    hidden = builder.settings["spark.sql.redaction.options.regex"]
    java = java_settings({
        "bootstrap.servers": "b", "security.protocol": "SASL_SSL", "sasl.mechanism": "SCRAM-SHA-512",
        "sasl.username": "u", "sasl.password": "p", "ssl.ca.pem": "c", "ssl.certificate.pem": "c", "ssl.key.pem": "k",
        "ssl.key.password": "s",
    })  # fmt: skip
    open_ones = {"bootstrap.servers", "security.protocol", "sasl.mechanism"}
    assert {key for key in java if not re.search(hidden, f"kafka.{key}")} == open_ones


def test_a_cluster_needs_a_folder_that_it_sees(tmp_path: Path) -> None:
    def wish(**more: Any) -> Wish:
        return Wish(suite="load", ids=(), **more)

    assert shared_folder(wish()) is None
    assert shared_folder(wish(spark_master="local[2]")) is None
    assert shared_folder(wish(spark_master=MASTER, ledger=str(tmp_path))) == tmp_path
    assert shared_folder(wish(spark_master=MASTER, ledger=f"file://{tmp_path}")) == tmp_path
    with pytest.raises(UsageError, match="do not see the run's folder"):
        shared_folder(wish(spark_master=MASTER))
    with pytest.raises(UsageError, match="cannot keep its ledger at s3a://bucket/x"):
        shared_folder(wish(spark_master=MASTER, ledger="s3a://bucket/x"))
    with pytest.raises(UsageError, match="There is no folder"):
        shared_folder(wish(ledger=str(tmp_path / "none")))


class Executors:
    """A Spark whose tasks run here, once `elsewhere` has made this machine look like theirs."""

    defaultParallelism = 2  # noqa: N815  Spark's name

    def __init__(self, elsewhere: Callable[[], object]) -> None:
        self.sparkContext, self.elsewhere = self, elsewhere

    def parallelize(self, parts: range, count: int) -> Executors:
        self.parts = [parts[n : n + 1] for n in range(count)]
        return self

    def mapPartitions(self, work: Callable[[range], Iterable[Any]]) -> Executors:  # noqa: N802  the same
        self.work = pickle.loads(pickle.dumps(work))  # noqa: S301  our own
        return self

    def collect(self) -> list[Any]:
        self.elsewhere()
        return [row for part in self.parts for row in self.work(part)]


def _lacks(folder: Path, *, of_its_own: bool) -> None:
    folder.rename(folder.with_name("mounted"))
    if of_its_own:
        folder.mkdir()


@pytest.mark.parametrize(
    ("of_its_own", "told"),
    [(False, "there is no such folder"), (True, "what the driver has just written into it is not there")],
)
def test_a_folder_that_executors_do_not_see_is_told_before_the_load(
    of_its_own: bool, told: str, tmp_path: Path
) -> None:
    folder = tmp_path / "ledger"
    folder.mkdir()
    made: Any = SimpleNamespace(folder=lambda _: folder)
    context = Context(NONE, NONE, made, NONE, False, False, spark_master=MASTER)  # noqa: FBT003
    context._spark = Executors(lambda: _lacks(folder, of_its_own=of_its_own))  # type: ignore[assignment]
    with pytest.raises(UsageError) as refusal:
        context.require_shared_ledger()
    assert refusal.value.brief == f"The ledger's folder {folder} is not shared with the executors of {MASTER}."
    assert refusal.value.details.startswith(f"{socket.gethostname()}: ")
    assert told in refusal.value.details
    assert "--ledger DIR" in refusal.value.resolution


def test_a_folder_that_executors_see_holds_nothing_afterwards(tmp_path: Path) -> None:
    spark: Any = Executors(lambda: None)
    shared.require(spark, tmp_path, MASTER)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_executors_may_not_write_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "access", lambda *_: False)
    spark: Any = Executors(lambda: None)
    with pytest.raises(UsageError, match=f"user {os.geteuid()} may not write into it"):
        shared.require(spark, tmp_path, MASTER)


@pytest.mark.parametrize(("master", "started"), [(MASTER, [True, False, True]), (None, [True]), ("local[2]", [True])])
def test_on_a_cluster_what_judges_is_tried_again_and_what_sends_is_not(
    master: str | None, started: list[bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    """On this machine one session does for all: no executor dies alone."""
    told: list[bool] = []
    stopped: list[bool] = []

    def start(*, sends: bool, **_: object) -> Any:
        told.append(sends)
        return SimpleNamespace(stop=lambda: stopped.append(sends))

    monkeypatch.setattr(session, "start", start)
    monkeypatch.setattr(session, "is_open", lambda _: False)
    context = Context(NONE, NONE, NONE, NONE, False, False, spark_master=master)  # noqa: FBT003
    for sends in (True, True, False, False, True):
        context.spark(sends=sends)
    assert told == started
    context.close()
    assert stopped == started


@pytest.mark.parametrize("master", [None, "local[2]"])
def test_tasks_of_this_machine_are_not_asked(master: str | None) -> None:
    Context(NONE, NONE, NONE, NONE, False, False, spark_master=master).require_shared_ledger()  # noqa: FBT003


def test_executors_of_the_folders_group_may_write_beside_the_driver(tmp_path: Path) -> None:
    (tmp_path / "shared").mkdir(mode=0o775)
    cluster: Any = SimpleNamespace(state_dir=tmp_path)
    before = os.umask(0o077)
    try:
        made = runner._folder(cluster, Wish(suite="load", ids=()), tmp_path / "shared", Clock())
        ledger = made.folder("ledger", "baseline")
        assert [path.stat().st_mode & 0o777 for path in (ledger, *list(ledger.parents)[:2])] == [0o775] * 3
        assert made.folder("logs").stat().st_mode & 0o777 == 0o700, "nobody else of that group has to see the rest"
    finally:
        assert os.umask(before) == 0o077, "it would be the mode of all that follows"


def test_a_shared_ledger_is_named_as_executors_know_it_and_found_from_the_run(tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    made = RunFolder(tmp_path / "run", run_id="r1", seed=1, suite="load", command=[], shared=shared)
    ledger = made.folder("ledger", "baseline")
    assert ledger == shared / "r1" / "ledger" / "baseline"
    assert (tmp_path / "run" / "ledger" / "baseline").is_dir()
    assert made.folder("verdicts") == tmp_path / "run" / "verdicts"


TWO = "sleep 600 & echo $!; sleep 600"  # a program, and what it started: both hold the pipe


def is_alive(pid: int) -> bool:
    stat = Path(f"/proc/{pid}/stat")
    return stat.exists() and stat.read_text(encoding="ascii").rpartition(")")[2].split()[0] != "Z"


def test_a_driver_of_a_test_that_fails_is_gone_with_its_jvm(tmp_path: Path) -> None:
    seen: list[int] = []

    def fail() -> None:
        with running.held(["bash", "-c", TWO], tmp_path, dict(os.environ)) as process:
            assert process.stdout is not None
            seen.extend((process.pid, int(process.stdout.readline())))
            raise RuntimeError("a host does not answer")

    with pytest.raises(RuntimeError, match="a host does not answer"):
        fail()
    assert len(seen) == 2
    assert wait_until(lambda: not any(is_alive(pid) for pid in seen), timeout_s=10, every_s=0.1)


def test_one_that_ended_too_soon_is_told_though_its_jvm_holds_the_pipe(tmp_path: Path) -> None:
    with (
        running.held(["bash", "-c", "sleep 600 & echo no master"], tmp_path, dict(os.environ)) as process,
        pytest.raises(AssertionError, match="no master"),
    ):
        running.meanwhile(process, lambda: False)
