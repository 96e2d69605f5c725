"""Runs and verdicts on stack local-spark of which a test is to see the middle: to look at them, or to kill an executor."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from common.wait import wait_until

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager
    from pathlib import Path

    from tests.system.lab import Lab

STACK = "local-spark"
WORKERS = ("spark-worker-1", "spark-worker-2")
EXECUTOR = "[C]oarseGrainedExecutorBackend"  # in brackets: the command that looks for it is not found itself
STAGE_ENDED, EXECUTOR_REMOVED, TASK_ENDED = (
    f"SparkListener{event}" for event in ("StageCompleted", "ExecutorRemoved", "TaskEnd")
)
STEP_S, RUN_S = 180, 600
ENV = 'eval "$(./kastellan env)" && exec "$@"'


def scenario(name: str, count: int, shape: str = "") -> str:
    return f"""
title: A load by Spark, {name}
teaches: What the test asks.
explanation: A load small enough for a test, in which every record is acknowledged, kept once, and no finding is made.
suites: [untried]
only_on_request: true
topics:
  kastellan-three: {{partitions: 3, replication: 2, config: {{min.insync.replicas: 2}}}}
workload: {{kind: bulk, count: {count}, consumers: 0, probes: false{shape}}}
expect: {{anomalies: none}}
"""


def master(lab: Lab) -> str:
    hosts = lab.outputs(STACK)["hosts"]
    return f"spark://{next(host['address'] for host in hosts if host['name'] == 'spark-master-1')}:7077"


def shared(lab: Lab) -> Path:
    return lab.state(STACK) / "shared"


def secret_of(lab: Lab) -> str:
    found = re.search(
        r"spark\.authenticate\.secret (\S+)", (lab.state(STACK) / "spark/spark-defaults.conf").read_text()
    )
    assert found is not None
    return found[1]


def bundle(lab: Lab, user: str = "validator") -> dict[str, Any]:
    told: dict[str, Any] = json.loads((lab.state(STACK) / "clients" / user / "librdkafka.json").read_text())
    return told


@dataclass
class Driver:
    """A driver on this machine with an event log of its own."""

    lab: Lab
    folder: Path

    def __post_init__(self) -> None:
        for name in ("conf", "events", "runs"):
            (self.folder / name).mkdir()
        own = (self.lab.state(STACK) / "spark/spark-defaults.conf").read_text(encoding="utf-8")
        conf = self.folder / "conf" / "spark-defaults.conf"
        conf.touch(mode=0o600)
        conf.write_text(
            f"{own}\nspark.eventLog.enabled true\nspark.eventLog.dir file://{self.folder / 'events'}\n"
            "spark.eventLog.compress false\n",
            encoding="utf-8",
        )

    def start(self, *words: str) -> AbstractContextManager[subprocess.Popen[str]]:
        environ = self.lab.environ(SPARK_CONF_DIR=str(self.folder / "conf"))
        return held(["bash", "-c", ENV, "v", "python", "-m", "validate", *words], self.lab.folder, environ)

    def load(self, name: str, content: str) -> AbstractContextManager[subprocess.Popen[str]]:
        (self.lab.folder / f"validate/scenarios/{name}.yaml").write_text(content, encoding="utf-8")
        words = ["run", "--stack", STACK, "--scenario", name, "--seed", "7", "--spark-master", master(self.lab)]
        return self.start(*words, "--ledger", str(shared(self.lab)), "--out", str(self.folder / "runs"))

    def judge(self, ledger: Path, out: Path) -> AbstractContextManager[subprocess.Popen[str]]:
        return self.start("judge", str(ledger), "--json", "--spark-master", master(self.lab), "--out", str(out))

    @property
    def run(self) -> Path:
        (one,) = (self.folder / "runs").iterdir()
        return one

    def entry(self) -> dict[str, Any]:
        (one,) = json.loads((self.run / "run.json").read_text(encoding="utf-8"))["scenarios"]
        return dict(one)

    def summary(self, name: str) -> dict[str, Any]:
        """The judge's, without what names the run."""
        whole = json.loads((self.run / f"verdicts/{name}.json").read_text(encoding="utf-8"))
        return {key: whole[key] for key in ("verdict", "checked", "acked", "counts")}

    def events(self) -> str:
        return "".join(
            path.read_text(encoding="utf-8", errors="replace")
            for path in sorted((self.folder / "events").rglob("*"))
            if path.is_file() and not path.name.endswith(".crc")
        )

    def log(self) -> str:
        logs = list((self.folder / "runs").glob("*/run.log"))
        return logs[0].read_text(encoding="utf-8") if logs else ""

    def claims(self) -> int:
        """How many tasks of the load have begun to send."""
        return len(list((self.folder / "runs").glob("*/ledger/*/claims/*")))


@contextlib.contextmanager
def held(argv: list[str], folder: Path, environ: dict[str, str]) -> Iterator[subprocess.Popen[str]]:
    """Nothing of it is left when the block ends, however that is: neither the program nor the JVM that it started."""
    with subprocess.Popen(
        argv, cwd=folder, env=environ, text=True, start_new_session=True, stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    ) as process:  # fmt: skip
        try:
            yield process
        finally:
            end(process)


def end(process: subprocess.Popen[str]) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait(STEP_S)


def meanwhile(process: subprocess.Popen[str], condition: Callable[[], bool]) -> None:
    """Until it is so; a process that ended before is told with its words."""
    seen = wait_until(lambda: process.poll() is not None or condition(), timeout_s=STEP_S, every_s=0.1)
    if not seen or process.poll() is not None:
        end(process)
        raise AssertionError(process.communicate(timeout=STEP_S)[0][-3000:])


def kill_executors(lab: Lab) -> int:
    """All on all workers, by SIGKILL; how many there were."""
    script = f"pids=$(pgrep -f {EXECUTOR}) || exit 0; sudo kill -9 $pids; echo $pids"
    return sum(len(lab.ssh(host, script, STACK).split()) for host in WORKERS)


def command_lines(lab: Lab) -> str:
    return "\n".join(lab.ssh(host, "sudo cat /proc/[0-9]*/cmdline | tr '\\0' ' '", STACK) for host in WORKERS)


PAGES = """
import sys, urllib.request
for place in sys.argv[1:]:
    print(urllib.request.urlopen(place, timeout=20).read().decode(errors="replace"))
"""


def pages(lab: Lab) -> str:
    """What master and workers show of applications, and what executors wrote down; asked on the hosts, for nobody else
    is let in."""
    addresses = {host["name"]: host["address"] for host in lab.outputs(STACK)["hosts"]}
    told = []
    for host, port in (("spark-master-1", 8080), *((worker, 8081) for worker in WORKERS)):
        base = f"http://{addresses[host]}:{port}"
        told.append(lab.ssh(host, f"python3 -c '{PAGES}' {base}/ {base}/json/", STACK))
    script = "sudo sh -c 'cat /var/lib/spark/work/app-*/*/std* 2>/dev/null' || true"
    told += [lab.ssh(worker, script, STACK) for worker in WORKERS]
    return "\n".join(told)
