"""Spark with its classes loaded beforehand: `python -m validate.spark_home` makes it, once a machine and Java.

Of the 25 seconds that two million records took to judge, 11 went into finding, checking and linking twelve thousand
classes out of 280 jars. Java can keep them as it needs them in a file of its own (class data sharing), which holds for
jars at the same paths only. So the cache has a Spark home with hard links to PySpark's jars, and that file beside them.
Without it everything works as well, later. docs/adr/0090 has the figures.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from common.cache import cache_dir
from common.lock import locked
from common.run import run

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

RECIPE = "1"  # what the training below does; another one makes another file
ARCHIVE = "classes.jsa"
NONE = "no-classes"  # stands there if this Java writes no such file: it is not asked again
TRAINING_TIMEOUT_S = 600
_EXIT_TIMEOUT_S = 300  # Java writes the file when it ends


def place() -> Path | None:
    """Where the home of this PySpark and this Java belongs; None without one of the two."""
    spec = importlib.util.find_spec("pyspark")
    java = _java()
    if spec is None or spec.origin is None or java is None:
        return None
    jars = sorted((path.name, path.stat().st_size) for path in (Path(spec.origin).parent / "jars").glob("*.jar"))
    known = f"{RECIPE} {importlib.metadata.version('pyspark')} {jars} {java}"
    return cache_dir() / "spark" / f"home-{hashlib.sha256(known.encode()).hexdigest()[:12]}"


def ready() -> Path | None:
    """The home, if it is whole."""
    home = place()
    return home if home is not None and (home / ARCHIVE).exists() else None


def options() -> list[str]:
    """What the JVM is told to use it; puts the home into the environment, where PySpark looks for it."""
    home = ready()
    if home is None or os.environ.setdefault("SPARK_HOME", str(home)) != str(home):  # the user's own home goes first
        return []
    return [f"-XX:SharedArchiveFile={home / ARCHIVE}", "-Xlog:cds*=off"]  # if it does not fit, Java goes on without


def ensure() -> str:
    """Make it unless it is there; two callers at once make it once. Gives a word on the outcome."""
    home = place()
    if home is None:
        return "not made: there is no Java yet"
    with locked(home.with_suffix(".lock")):
        if not (home / ARCHIVE).exists() and not (home / NONE).exists():
            _make(home)
    return "ready" if (home / ARCHIVE).exists() else "this Java keeps no classes; judging takes longer"


def _java() -> str | None:
    home = os.environ.get("JAVA_HOME")
    java = str(Path(home, "bin", "java")) if home else "java"
    with suppress(OSError, subprocess.TimeoutExpired):
        done = subprocess.run([java, "-version"], capture_output=True, text=True, timeout=60, check=False)
        return done.stderr if done.returncode == 0 else None
    return None


def _make(home: Path) -> None:
    spec = importlib.util.find_spec("pyspark")
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError("pyspark")
    shutil.rmtree(home, ignore_errors=True)
    packed = Path(spec.origin).parent
    for part in ("jars", "bin"):
        shutil.copytree(packed / part, home / part, copy_function=_link)
    half = home / "half.jsa"
    environ = {**os.environ, "SPARK_HOME": str(home), "SPARK_SUBMIT_OPTS": f"-XX:ArchiveClassesAtExit={half}"}
    root = Path(__file__).resolve().parents[1]
    run([sys.executable, "-m", "validate.spark_home", "--train"], timeout_s=TRAINING_TIMEOUT_S, cwd=root, env=environ)
    if half.exists():
        half.rename(home / ARCHIVE)
    else:
        (home / NONE).touch()


def _link(source: str, target: str) -> None:
    try:
        os.link(source, target)
    except OSError:  # another file system
        shutil.copy2(source, target)


def train() -> None:
    """Judge a small ledger as a large one is judged, and as a small one: what that loads is what is kept."""
    from validate import session  # noqa: PLC0415 - it asks this module whether there is a home
    from validate.expect import Expectation  # noqa: PLC0415 - the same
    from validate.judge import judge  # noqa: PLC0415 - the same

    with tempfile.TemporaryDirectory(prefix="kastellan-classes-") as scratch:
        spark = session.start(size_bytes=session.SMALL_BYTES, scratch=scratch)
        gateway = spark.sparkContext._gateway  # noqa: SLF001 - the JVM is told to end, and waited for
        ledger = Path(scratch, "ledger")
        _write(spark, ledger)
        for number, size in enumerate((session.SMALL_BYTES, 0)):
            with session.planned_for(spark, size):
                judge(spark, str(ledger), Expectation(), f"{scratch}/{number}", sums_first=size > 0)
        spark.stop()
        if gateway is None:
            return
        jvm = gateway.proc
        gateway.shutdown()
        jvm.stdin.close()
        jvm.wait(timeout=_EXIT_TIMEOUT_S)


def _write(spark: SparkSession, ledger: Path) -> None:
    """A hundred records of which one is lost and one is there twice: so nearly every check has something to do."""
    sent = spark.range(100).selectExpr(
        "'20260301T120000Z-s7' AS run_id", "'load-0' AS producer", "'some' AS topic",
        "CAST(id % 2 AS INT) AS partition", "id AS seq", "0 AS attempt", "CAST(NULL AS BINARY) AS key",
        "false AS value_null", "id AS value_crc",
        "id AS random_int", "'all' AS acks", "true AS idempotent", "5 AS max_in_flight", "CAST(NULL AS STRING) AS txn",
        "timestamp_micros(1772366400000000 + id * 1000) AS invoked_at",
        "timestamp_micros(1772366400000500 + id * 1000) AS done_at", "'acked' AS outcome",
        "CAST(NULL AS STRING) AS error", "id DIV 2 AS acked_offset", "'controller' AS clock",
    )  # fmt: skip
    log = sent.filter("seq <> 98").selectExpr(
        "topic", "partition", "acked_offset AS offset", "invoked_at AS timestamp", "key", "value_null", "run_id",
        "producer", "IF(seq = 51, 49L, seq) AS seq", "attempt", "topic AS intended_topic",
        "partition AS intended_partition", "random_int", "value_crc AS payload_crc", "value_crc",
    )  # fmt: skip
    bounds = spark.range(2).selectExpr(
        "'some' AS topic", "CAST(id AS INT) AS partition", "0L AS start_offset", "50L AS end_offset",
        "50L AS high_watermark", "CAST(NULL AS BIGINT) AS read_to", "'read_committed' AS isolation",
        "'delete' AS cleanup_policy", "CAST(NULL AS STRING) AS topic_id",
    )  # fmt: skip
    for name, frame in (("sent", sent), ("log", log), ("log_bounds", bounds)):
        frame.write.parquet(str(ledger / name))


if __name__ == "__main__":
    if sys.argv[1:] == ["--train"]:
        train()
    else:
        print(ensure())
