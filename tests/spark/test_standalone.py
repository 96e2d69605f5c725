"""The same code on a Spark cluster whose workers see no checkout: verdicts, loads, dead executors, secrets."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq
import pytest

from common.wait import wait_until
from tests.spark.standalone import standalone
from tests.unit.validate.mock_brokers import mock_brokers
from validate.ledger.from_json import convert

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.spark.standalone import Standalone
    from tests.unit.validate.mock_brokers import MockBrokers

pytestmark = pytest.mark.spark

ROOT = Path(__file__).parents[2]
EXAMPLE = Path(__file__).with_name("example")
BOUND_S = 240
STAGE_ENDED, EXECUTOR_REMOVED = "SparkListenerStageCompleted", "SparkListenerExecutorRemoved"
PASSWORD = "hush-7f3a90"  # noqa: S105  to be looked for


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Standalone]:
    with standalone(tmp_path_factory.mktemp("standalone")) as made:
        yield made


def command_lines() -> str:
    found = []
    for place in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            found.append(place.read_bytes().replace(b"\0", b" ").decode(errors="replace"))
        except OSError:
            continue
    return "\n".join(found)


def judged(ledger: Path, *more: str, environment: dict[str, str] | None = None) -> dict[str, Any]:
    argv = [sys.executable, "-m", "validate", "judge", str(ledger), "--json", *more]
    done = subprocess.run(
        argv, cwd=ROOT, capture_output=True, text=True, timeout=BOUND_S, check=False, env=environment
    )  # fmt: skip
    assert done.stdout, done.stderr
    summary: dict[str, Any] = json.loads(done.stdout)
    summary.pop("findings_path")
    return summary


@pytest.mark.long
def test_the_verdict_is_the_same_as_on_one_machine(cluster: Standalone, tmp_path: Path) -> None:
    convert(EXAMPLE, tmp_path / "ledger")
    there = judged(tmp_path / "ledger", "--spark-master", cluster.url, environment=cluster.environment)
    assert there == judged(tmp_path / "ledger")


@pytest.mark.long
def test_an_executor_that_dies_while_judging_changes_nothing(cluster: Standalone, tmp_path: Path) -> None:
    convert(EXAMPLE, tmp_path / "ledger")
    before = cluster.event_logs()
    killed: list[int] = []

    def kill() -> None:
        """After the first stage: what it left on the executor's disk goes with it."""
        if wait_until(lambda: cluster.event_logs().count(STAGE_ENDED) > before.count(STAGE_ENDED), timeout_s=90):
            for pid in cluster.executors():
                os.kill(pid, signal.SIGKILL)
                killed.append(pid)

    killer = threading.Thread(target=kill)
    killer.start()
    there = judged(tmp_path / "ledger", "--spark-master", cluster.url, environment=cluster.environment)
    killer.join()
    assert killed
    assert there == judged(tmp_path / "ledger")
    # In the middle: tasks were done after it died.
    told = cluster.event_logs()
    assert told.count(EXECUTOR_REMOVED) > before.count(EXECUTOR_REMOVED)
    assert "SparkListenerTaskEnd" in told.rpartition(EXECUTOR_REMOVED)[2]


def spec(tmp_path: Path, brokers: MockBrokers, **more: Any) -> Path:
    pem = tmp_path / "ca.pem"
    pem.write_text(f"not looked at without TLS, {PASSWORD}", encoding="ascii")
    path = tmp_path / "spec.json"
    (tmp_path / "ledger").mkdir()
    given = {
        "run_id": "r", "name": "loader", "ledger": str(tmp_path / "ledger"), "topics": [{"name": "two", "partitions": 2}],
        "client": {"bootstrap.servers": brokers.bootstrap, "sasl.password": PASSWORD, "ssl.ca.location": str(pem)},
        "clock": "driver", "clock_offset_ns": 0, **more,
    }  # fmt: skip
    path.write_text(json.dumps(given), encoding="utf-8")
    return path


def start(cluster: Standalone, path: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "tests.spark.load_on_cluster", cluster.url, str(path)],
        cwd=ROOT, env=cluster.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def test_a_load_on_a_cluster_is_whole_and_shows_no_secret(cluster: Standalone, tmp_path: Path) -> None:
    with mock_brokers(2) as brokers:
        brokers.make_topic("two")
        process = start(cluster, spec(tmp_path, brokers, count=8000, records_per_s=4000))
        seen: list[str] = []
        ledger = tmp_path / "ledger"
        assert wait_until(lambda: len(list(ledger.glob("claims/*"))) == 2 or process.poll() is not None, timeout_s=90)
        seen.append(command_lines())
        out, words = process.communicate(timeout=BOUND_S)
    assert process.returncode == 0, words
    assert json.loads(out) == {"acked": 8000}
    rows = pq.read_table(ledger / "sent").to_pylist()
    assert sorted((row["partition"], row["seq"]) for row in rows) == [(p, n) for p in range(2) for n in range(4000)]
    assert (ledger / "sent").stat().st_mode & 0o020, "executors of another user, in the folder's group, could not write"
    assert "CoarseGrainedExecutorBackend" in seen[0], "nobody was looked at"
    logs = cluster.event_logs()
    assert "SparkListenerJobEnd" in logs
    for told in (*seen, logs, words, out):
        assert PASSWORD not in told
        assert cluster.secret not in told


@pytest.mark.long
def test_an_executor_that_dies_in_a_load_leaves_reservations_and_nothing_is_sent_twice(
    cluster: Standalone, tmp_path: Path
) -> None:
    with mock_brokers(2) as brokers:
        brokers.make_topic("two")
        process = start(cluster, spec(tmp_path, brokers, count=20_000, records_per_s=500))
        ledger = tmp_path / "ledger"
        assert wait_until(lambda: len(list(ledger.glob("claims/*"))) == 2, timeout_s=90)
        victims = cluster.executors()
        assert victims
        for pid in victims:
            os.kill(pid, signal.SIGKILL)
        _, words = process.communicate(timeout=BOUND_S)
    assert process.returncode not in {0, None}
    assert "The bulk load broke off" in words
    reserved = pq.read_table(ledger / "reservations").to_pylist()
    assert sum(row["seq_to"] - row["seq_from"] for row in reserved) == 20_000
    assert pq.read_table(ledger / "sent").num_rows == 0, "sealed: all that is reserved is of unknown outcome"
    assert len(list(ledger.glob("claims/*"))) == 2
