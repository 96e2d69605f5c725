"""Workloads as processes against a live cluster, and the judge over what they leave."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from common.wait import wait_until
from tests.system.kafka_cluster import SILENT
from validate import readback
from validate.judge import judge_ledger
from validate.workload.clock import offset_ns
from validate.workload.seal import seal

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tests.system.kafka_cluster import Cluster
    from validate.readback import ReadBack

SPOIL = Path(__file__).with_name("spoil_log.py")
ROOT = Path(__file__).resolve().parents[2]
START_S = 60
END_S = 60


SHAPES = {"kastellan-w-one": (1, 2), "kastellan-w-four": (4, 3)}


def make_topics(client: dict[str, Any], shapes: dict[str, tuple[int, int]], **config: str) -> None:
    """Topics by name: partitions and replication."""
    admin = AdminClient(client, logger=SILENT)
    wanted = [NewTopic(name, num_partitions=p, replication_factor=r, config=config) for name, (p, r) in shapes.items()]
    for future in admin.create_topics(wanted).values():
        future.result(timeout=30)
    # A broker may not have heard of a topic yet that the controller has made.
    assert wait_until(lambda: set(shapes) <= set(admin.list_topics(timeout=10).topics), timeout_s=30)


def drop_topics(client: dict[str, Any], names: list[str]) -> None:
    admin = AdminClient(client, logger=SILENT)
    there = sorted(set(names) & set(admin.list_topics(timeout=30).topics))
    for future in (admin.delete_topics(there) if there else {}).values():
        future.result(timeout=30)
    assert wait_until(lambda: not set(names) & set(admin.list_topics(timeout=10).topics), timeout_s=30)


def in_sync(client: dict[str, Any], topic: str) -> tuple[int, list[int]]:
    """Leader and in-sync replicas of its first partition."""
    found = AdminClient(client, logger=SILENT).list_topics(topic, timeout=20).topics[topic].partitions[0]
    return found.leader, list(found.isrs)


def violations(summary: dict[str, Any]) -> dict[str, int]:
    return {name: counts["violation"] for name, counts in summary["counts"].items() if counts["violation"]}


def host_of(cluster: Cluster, node_id: int) -> str:
    return next(str(host["name"]) for host in cluster.document()["hosts"] if host["node_id"] == node_id)


def spoil(cluster: Cluster, node_id: int, topic: str, how: str) -> int:
    """Behind a broker's back, in the first segment of the first partition; from which offset on."""
    log = f"{cluster.document()['data_dirs'][0]}/{topic}-0/00000000000000000000.log"
    script = shlex.quote(SPOIL.read_text(encoding="utf-8"))
    return int(cluster.lab.ssh(host_of(cluster, node_id), f"sudo python3 -c {script} {how} {log}"))


@dataclass
class Workloads:
    """Processes of one ledger."""

    folder: Path
    client: dict[str, Any]
    topics: dict[str, int]
    run_id: str = "20261118T070000Z-s1"
    offset_ns: int = field(default_factory=offset_ns)
    started: list[Running] = field(default_factory=list)

    @property
    def ledger(self) -> Path:
        return self.folder / "ledger"

    def spec(self, name: str, **more: Any) -> dict[str, Any]:
        topics = [{"name": topic, "partitions": count} for topic, count in self.topics.items()]
        return {"run_id": self.run_id, "name": name, "ledger": str(self.ledger), "client": self.client,
                "topics": topics, "clock": "here", "clock_offset_ns": self.offset_ns, **more}  # fmt: skip

    def start(self, kind: str, name: str, module: str = "validate.workload", **more: Any) -> Running:
        path = self.folder / f"{name}.json"
        path.write_text(json.dumps(self.spec(name, **more)), encoding="utf-8")
        path.chmod(0o600)
        argv = [sys.executable, "-m", module, kind, str(path)]
        out = self.folder / f"{name}.out"
        with out.open("wb") as file:
            process = subprocess.Popen(argv, cwd=ROOT, stdin=subprocess.PIPE, stdout=file, stderr=subprocess.STDOUT)
        self.started.append(Running(name, process, out))
        return self.started[-1]

    def end(self) -> None:
        """Nobody writes into the next test's topics, whatever became of this test."""
        for one in self.started:
            one.process.kill()
            one.process.wait(END_S)

    def judged(self, spark: SparkSession, expect: dict[str, Any] | None = None) -> tuple[dict[str, Any], ReadBack]:
        """Sealed, read back, judged."""
        seal(self.ledger)
        read = readback.read(spark, self.client, list(self.topics.items()), self.ledger)
        return judge_ledger(spark, self.ledger, expect or {}, self.folder / "findings").to_json(), read

    def rows(self, table: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = pq.read_table(self.ledger / table).to_pylist()
        return found


@dataclass
class Running:
    name: str
    process: subprocess.Popen[bytes]
    out: Path

    @property
    def said(self) -> list[dict[str, Any]]:
        lines = self.out.read_text(encoding="utf-8").splitlines()
        return [json.loads(line) for line in lines if line.startswith("{") and line.endswith("}")]

    def total(self, word: str) -> int:
        """The last count of `acked` or `delivered`, over all partitions."""
        return max((sum(said[word].values()) for said in self.said if word in said), default=0)

    def reaches(self, word: str, count: int, timeout_s: float = START_S) -> None:
        def reached() -> bool:
            return self.process.poll() is not None or self.total(word) >= count

        assert wait_until(reached, timeout_s=timeout_s, every_s=0.02), self.out.read_text(encoding="utf-8")[-2000:]
        assert self.total(word) >= count, self.out.read_text(encoding="utf-8")[-2000:]

    def end(self) -> dict[str, Any]:
        """In order: asked to stop, flushed, its last word heard."""
        if self.process.poll() is None:
            self.process.terminate()
        assert self.process.wait(END_S) == 0, self.out.read_text(encoding="utf-8")[-2000:]
        last = self.said[-1]
        assert last["event"] == "done", last
        return last

    def kill(self, after_s: float) -> None:
        time.sleep(after_s)  # a moment nobody chose
        self.process.kill()
        self.process.wait(END_S)
