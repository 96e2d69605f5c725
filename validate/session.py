"""The Spark session of the judge: quiet, local by default, sized by what there is to judge."""

from __future__ import annotations

import atexit
import logging
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from pyspark.sql import SparkSession

from common.errors import UnreadableError, UsageError
from common.wait import wait_until
from validate import spark_home
from validate.pack import ZIP, is_remote, pack_modules

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

LEAST_JAVA = 17  # Spark 4 starts on nothing older
EXECUTORS_S = 30.0  # a cluster that gives none before it has work (or is full) has its load dealt out by its least
SETTLED_S = 2.0
REACH_TIMEOUT_S = 5.0
SMALL_BYTES = 4 * 1024 * 1024  # about a hundred thousand records
# One shuffle partition holds about so much of a ledger on disk: unpacked and joined it fits a task's memory.
BYTES_PER_PARTITION = 16 * 1024 * 1024

# With one compiler Java has room for 48 MB of its code. Who judges hundreds of ledgers in one session, as the mutation
# run does, fills them, and from then on nothing is compiled at all.
_FIRST_COMPILER = ["-XX:TieredStopAtLevel=1", "-XX:ReservedCodeCacheSize=200m"]
_PATIENT_COMPILER = [
    "-XX:Tier4InvocationThreshold=100000",
    "-XX:Tier4MinInvocationThreshold=50000",
    "-XX:Tier4CompileThreshold=200000",
    "-XX:Tier4BackEdgeThreshold=1000000",
    # But for TLS: without the processor's own instructions, which that compiler alone uses, it is a third of the read.
    "-XX:CompileCommand=quiet",
    "-XX:CompileCommand=CompileThresholdScaling,com.sun.crypto.provider.*::*,0.02",
]
# Spark's script starts a JVM just to put the real one's command line together: half of its time went into compiling.
_LAUNCHER = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
_SECRETS = "(?i)secret|password|token|access[.]?key|jaas|keystore|truststore"

_QUIET = Path(__file__).with_name("log4j2.properties")


def check_java() -> None:
    """Spark's own message about a missing or old Java is a stack trace; this one says what to do."""
    home = os.environ.get("JAVA_HOME")
    java = str(Path(home, "bin", "java")) if home else shutil.which("java")
    resolution = f"Install a Java runtime of version {LEAST_JAVA} or newer and put it on PATH, or set JAVA_HOME to it."
    if java is None or not Path(java).exists():
        raise UnreadableError(
            "Java is missing, and Spark needs it.", details=f"looked for: {java}", resolution=resolution
        )
    try:
        said = subprocess.run([java, "-version"], capture_output=True, text=True, timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise UnreadableError("Java does not start.", details=str(error), resolution=resolution) from error
    version = java_version(said.stderr + said.stdout)
    if version is None or version < LEAST_JAVA:
        raise UnreadableError(
            f"Java {version or 'of an unknown version'} is too old, Spark needs {LEAST_JAVA}.",
            details=(said.stderr or said.stdout).strip()[:300],
            resolution=resolution,
        )


def java_version(text: str) -> int | None:
    """The feature number out of `java -version`: 17.0.15 is 17, 1.8.0 is 8."""
    match = re.search(r'version "(\d+)(?:\.(\d+))?', text)
    if match is None:
        return None
    first, second = match.groups()
    return int(second) if first == "1" and second else int(first)


def check_master(master: str) -> str | None:
    """This machine's address as a standalone master sees it. One that does not answer would cost minutes of retries."""
    if master and not re.match(r"spark://|local(\[|$)|local-cluster\[|yarn$|k8s://", master):
        raise UsageError(
            f"{master!r} is no address of a Spark cluster.",
            resolution="Give e.g. spark://HOST:7077, or leave --spark-master out to judge on this machine.",
        )
    failure: object = "no HOST:PORT in it"
    for address in (
        re.findall(r"([^/,\s]+:\d+)", master.removeprefix("spark://")) if master.startswith("spark://") else []
    ):
        host, port = address.rsplit(":", 1)
        try:
            with socket.create_connection((host.strip("[]"), int(port)), timeout=REACH_TIMEOUT_S) as reached:
                return str(reached.getsockname()[0])
        except OSError as error:
            failure = error
    if master.startswith("spark://"):
        raise UnreadableError(
            f"The Spark master {master} cannot be reached.",
            details=str(failure),
            resolution="Start it, mend the address, or leave --spark-master out to judge on this machine.",
        )
    return None


def shuffle_partitions(size_bytes: int) -> int:
    """One for a small ledger, which is then judged in seconds; else enough that each fits a task's memory."""
    return 1 if size_bytes < SMALL_BYTES else max(8, size_bytes // BYTES_PER_PARTITION)


def planning(size_bytes: int) -> dict[str, str]:
    """How Spark plans queries over so much of a ledger."""
    small = size_bytes < SMALL_BYTES
    return {
        "spark.sql.shuffle.partitions": str(shuffle_partitions(size_bytes)),
        # Re-planning pays for large ledgers only: in a small one each stage costs more to plan than to run.
        "spark.sql.adaptive.enabled": str(not small).lower(),
        # The same for code made for each query: compiling it takes longer than walking over a few thousand rows.
        "spark.sql.codegen.wholeStage": str(not small).lower(),
        "spark.sql.codegen.factoryMode": "NO_CODEGEN" if small else "FALLBACK",
        # A broadcast is a job of its own; tables of one partition (validate/ledger/read.py) are joined where they are.
        "spark.sql.autoBroadcastJoinThreshold": "-1" if small else "10MB",
        "spark.sql.optimizer.disableHints": str(small).lower(),
        # What plans are searched for to spare work on rows costs more here than the rows do.
        "spark.sql.constraintPropagation.enabled": str(not small).lower(),
        "spark.sql.subexpressionElimination.enabled": str(not small).lower(),
    }


@contextmanager
def planned_for(spark: SparkSession, size_bytes: int) -> Iterator[None]:
    """Plan for so much within the block: the first pass may leave little of a large ledger."""
    before = {name: str(spark.conf.get(name)) for name in planning(size_bytes)}
    try:
        for name, value in planning(size_bytes).items():
            spark.conf.set(name, value)
        yield
    finally:
        for name, value in before.items():
            spark.conf.set(name, value)


def _settings(
    master: str | None, size_bytes: int, scratch: str | None, jars: Sequence[str], *, sends: bool
) -> dict[str, str]:
    """They become words of a command line: no secret may be among them."""
    small = size_bytes < SMALL_BYTES
    # A short life is not worth the second compiler's work, nor a collector with threads of its own.
    # A long one takes a collector that is after throughput, and the second compiler for the innermost loops alone:
    # by its own thresholds it would spend more on code that runs for a moment than the reading of millions of rows.
    jvm = [*_FIRST_COMPILER, "-XX:+UseSerialGC"] if small else ["-XX:+UseParallelGC", *_PATIENT_COMPILER]
    jvm += spark_home.options()
    settings = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "OFF",
        "spark.sql.session.timeZone": "UTC",
        **planning(size_bytes),
        # A ledger's times are microseconds, as Parquet knows them; left to itself Spark writes an older form (INT96).
        "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
        "spark.sql.execution.arrow.pyspark.enabled": "false",
        # What only reads may be done again when an executor dies; on this machine nobody else would do it better.
        "spark.task.maxFailures": "4" if is_remote(master) and not sends else "1",
        "spark.speculation": "false",
        # Passwords and keys of Kafka's clients are no news for plans and event logs.
        "spark.redaction.regex": _SECRETS,
        "spark.sql.redaction.options.regex": f"{_SECRETS}|url",
        # Asked for with every expression, it triples the calls between Python and the JVM.
        "spark.python.sql.dataFrameDebugging.enabled": "false",
        # The same in the JVM: a stack trace for every expression, in case it fails.
        "spark.sql.dataFrameQueryContext.enabled": "false",
        "spark.driver.extraJavaOptions": " ".join([f"-Dlog4j2.configurationFile={_QUIET.as_uri()}", *jvm]),
    }
    if small:
        # Every sort and every hash table takes a page. By default it is a share of the heap, many megabytes, all of
        # which are to be zeroed and collected for a few rows.
        settings["spark.buffer.pageSize"] = "1m"
    if jars:
        settings["spark.jars"] = ",".join(jars)
    if not is_remote(master):
        # Tasks on this machine are to find the packages that the driver has, whatever `python3` is on PATH.
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        settings["spark.driver.memory"] = os.environ.get("KASTELLAN_SPARK_MEMORY", "2g")
        settings["spark.driver.bindAddress"] = "127.0.0.1"
        settings["spark.driver.host"] = "127.0.0.1"
        settings["spark.local.dir"] = scratch or os.environ.get("SPARK_LOCAL_DIRS") or tempfile.gettempdir()
    else:
        # Driver and executors are two users of one group. Hadoop gives folders modes of its own: by this, not by umask.
        settings["spark.hadoop.fs.permissions.umask-mode"] = "002"
    return settings


def start(
    *,
    master: str | None = None,
    size_bytes: int = 0,
    scratch: str | None = None,
    jars: Sequence[str] = (),
    sends: bool = False,
) -> SparkSession:
    """A session for one judgement. Whatever Spark says before its log is set up goes to a file, not the terminal.

    `jars` are what else it shall know, such as its source for Kafka (validate.readback.jars()). `sends`: its tasks may
    write to Kafka, and none is to be tried twice.
    """
    # PySpark logs an exception as JSON besides raising it.
    logging.getLogger("DataFrameQueryContextLogger").disabled = True
    logging.getLogger("SQLQueryContextLogger").disabled = True
    check_java()
    address = check_master(master or "")
    settings = _settings(master, size_bytes, scratch, jars, sends=sends)
    if address is not None:
        # Executors call the driver back: at the address it has on the way to their master, not by a name of its own.
        settings |= {"spark.driver.host": address, "spark.driver.bindAddress": address}
    os.environ.setdefault("SPARK_LAUNCHER_OPTS", _LAUNCHER)
    builder = SparkSession.builder.master(master or "local[*]").appName("kastellan-judge")
    for key, value in settings.items():
        builder = builder.config(key, value)
    with tempfile.TemporaryFile() as noise:
        try:
            with _stderr_into(noise.fileno()):
                started = builder.getOrCreate()
        except Exception as error:
            noise.seek(0)
            raise _not_started(error, noise.read().decode(errors="replace"), master) from error
    if is_remote(master):
        _hand_out(started)
        if sends:
            _await_executors(started)
    return started


def is_open(spark: SparkSession) -> bool:
    """Whether what driver and executors of a cluster say to each other can be read on the way."""
    settings = spark.sparkContext.getConf()
    return "true" not in {settings.get("spark.network.crypto.enabled"), settings.get("spark.ssl.rpc.enabled")}


def _await_executors(spark: SparkSession) -> None:
    """A load is dealt out by the cores that are there, and a standalone cluster's come one after another."""
    seen, since_s = 0, time.monotonic()

    def settled() -> bool:
        nonlocal seen, since_s
        there = spark.sparkContext._jsc.sc().getExecutorMemoryStatus().size() - 1  # noqa: SLF001  the driver is one too
        if there != seen:
            seen, since_s = there, time.monotonic()
        return seen > 0 and time.monotonic() - since_s > SETTLED_S

    wait_until(settled, timeout_s=EXECUTORS_S, every_s=0.2)


def _hand_out(spark: SparkSession) -> None:
    """Our modules, for tasks elsewhere. Executors fetch the file itself from here, each when it first has a task."""
    folder = tempfile.TemporaryDirectory()
    atexit.register(folder.cleanup)
    spark.sparkContext.addPyFile(str(pack_modules(Path(folder.name, ZIP))))


def _not_started(error: Exception, noise: str, master: str | None) -> UnreadableError:
    """What of Spark's many lines a person can use: not where in its code it stood."""
    lines = [line.strip() for line in f"{error}\n{noise}".splitlines() if line.strip()]
    telling = [x for x in lines if not re.match(r"at |[\w.$]+/|[\w.$]+\([\w$]+\.(java|scala):\d+\)|\S+ \S+ WARN ", x)]
    if master and master.startswith("spark://") and "stopped SparkContext" in str(error):
        return UnreadableError(
            f"What listens at {master} does not answer as a Spark master.",
            details=telling[0][:300],
            resolution="Start a master of this Spark's version there, or leave --spark-master out to judge here.",
        )
    return UnreadableError(
        "Spark does not start.",
        details="\n".join(telling)[:1500],
        resolution="Check Java and --spark-master; the lines above are Spark's own.",
    )


@contextmanager
def _stderr_into(target: int) -> Iterator[None]:
    """The JVM inherits standard error when it starts and keeps it: its warnings are no news to the user."""
    kept = os.dup(2)
    os.dup2(target, 2)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
