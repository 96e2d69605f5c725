"""A Spark cluster of two processes on this machine: a master, and a worker whose Python does not see the checkout."""

from __future__ import annotations

import contextlib
import os
import secrets
import socket
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pyspark

from common.wait import wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator

READY_S = 60.0
CORES = 2
HOME = Path(pyspark.__file__).parent
PACKAGES = ("confluent_kafka", "confluent_kafka.libs", "pyarrow", "pyarrow.libs")


@dataclass
class Standalone:
    url: str
    folder: Path
    secret: str
    processes: list[subprocess.Popen[bytes]]

    @property
    def environment(self) -> dict[str, str]:
        """For whoever submits to it: the secret is in a file, the workers' Python has its own name."""
        return {
            **os.environ, "SPARK_CONF_DIR": str(self.folder / "conf"), "PYSPARK_PYTHON": str(self.folder / "python"),
        }  # fmt: skip

    def executors(self) -> list[int]:
        found = []
        for place in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                words = (place / "cmdline").read_bytes()
                if b"CoarseGrainedExecutorBackend" in words and str(self.folder).encode() in words + _environment(
                    place
                ):
                    found.append(int(place.name))
        return found

    def event_logs(self) -> str:
        return "".join(
            path.read_text(encoding="utf-8", errors="replace")
            for path in (self.folder / "events").rglob("*")
            if path.is_file() and not path.name.endswith(".crc")
        )


def _environment(place: Path) -> bytes:
    return (place / "environ").read_bytes()


@contextlib.contextmanager
def standalone(folder: Path) -> Iterator[Standalone]:
    for name in ("conf", "events", "work", "logs", "site"):
        (folder / name).mkdir()
    secret = secrets.token_hex(16)
    conf = folder / "conf" / "spark-defaults.conf"
    conf.touch(mode=0o600)
    conf.write_text(
        f"spark.authenticate true\nspark.authenticate.secret {secret}\nspark.network.crypto.enabled true\n"
        f"spark.eventLog.enabled true\nspark.eventLog.dir file://{folder / 'events'}\nspark.eventLog.compress false\n"
        "spark.executor.memory 512m\n",
        encoding="utf-8",
    )
    _python(folder)
    port = _free_port()
    made = Standalone(f"spark://127.0.0.1:{port}", folder, secret, [])
    try:
        made.processes.append(_start(made, "master.Master", "--host", "127.0.0.1", "--port", str(port)))
        if not wait_until(lambda: _listens(port), timeout_s=READY_S):
            raise RuntimeError(f"the master does not listen: {_words(folder, 'master.Master')}")
        made.processes.append(
            _start(made, "worker.Worker", "--host", "127.0.0.1", "--cores", str(CORES), "--memory", "1g",
                   "--work-dir", str(folder / "work"), made.url)
        )  # fmt: skip
        registered = "Successfully registered with master"
        if not wait_until(lambda: registered in _words(folder, "worker.Worker"), timeout_s=READY_S):
            raise RuntimeError(f"the worker did not register: {_words(folder, 'worker.Worker')}")
        yield made
    finally:
        for process in reversed(made.processes):
            process.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(20)
            process.kill()
            process.wait()


def _python(folder: Path) -> None:
    """The interpreter below this environment, with the packages of the list and nothing else of ours."""
    site = Path(pyspark.__file__).parents[1]
    for name in PACKAGES:
        if (site / name).is_dir():
            (folder / "site" / name).symlink_to(site / name)
    python = folder / "python"
    base = getattr(sys, "_base_executable", sys.executable)
    python.write_text(f'#!/bin/sh\nPYTHONPATH="$PYTHONPATH:{folder / "site"}" exec {base} "$@"\n', encoding="utf-8")
    python.chmod(0o755)


def _start(made: Standalone, daemon: str, *words: str) -> subprocess.Popen[bytes]:
    with (made.folder / "logs" / daemon).open("wb") as log:
        return subprocess.Popen(
            [str(HOME / "bin" / "spark-class"), f"org.apache.spark.deploy.{daemon}", "--webui-port", "0", *words],
            cwd=made.folder, stdout=log, stderr=subprocess.STDOUT,
            env={**made.environment, "SPARK_HOME": str(HOME), "SPARK_DAEMON_MEMORY": "256m"},
        )  # fmt: skip


def _words(folder: Path, daemon: str) -> str:
    return (folder / "logs" / daemon).read_text(encoding="utf-8", errors="replace")


def _listens(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
    except OSError:
        return False
    return True


def _free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])
