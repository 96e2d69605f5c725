"""Speeds of the data plane: our producer with its whole ledger, without it, and Kafka's own producer-perf-test; the final
read with its whole verdict, and Kafka's own consumer-perf-test; the tools for work by hand on a terminal, and both of them.

Every pair runs in turn on one cluster, with one topic's shape, user and settings; each run that writes has a fresh topic.
`--here` measures on this checkout's stack local instead of one made for the purpose (refused if its disks have no room);
`--records N` and `--pairs N` are for trying it out.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import re
import shlex
import statistics
import subprocess
import sys
import tarfile
import tempfile
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))  # run as a file: its own folder is first on the path, the rooms are not

from common.errors import KastellanError  # noqa: E402
from tests.bench.hand_tools import HandTools  # noqa: E402
from tests.bench.harness import PAIRS, Ratio, compare, table, write  # noqa: E402
from tests.system.cluster.workloads import drop_topics, make_topics  # noqa: E402
from tests.system.kafka_cluster import Cluster  # noqa: E402
from tests.system.lab import new_lab  # noqa: E402
from tools.kafka.fetch import ensure  # noqa: E402
from validate import cluster as clusters  # noqa: E402
from validate.faults.shell import Shell, over_ssh  # noqa: E402
from validate.workload.seal import seal  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

VERSION = "4.3.1"
TOPIC, READ_TOPIC, PARTITIONS = "kastellan-bench", "kastellan-bench-read", 4
RECORDS = 2_000_000
TIMEOUT_S = 900
REPLICAS = 3
DISK = "8GiB"
RECORD_BYTES = 1024 + 64  # of the larger ones, with what a batch and its indexes add
AT_ONCE = 3  # runs on a host's disk: brokers remove a dropped topic a minute late, and a run takes less than that
LINGER_MS, BATCH_BYTES = 5, 262_144
# Acked records per second, ours by Kafka's own: 0.7 at 100 bytes, 0.95 at 1 KiB; as times, the other way round.
GOALS = {100: 1 / 0.7, 1024: 1 / 0.95}
LEDGER_GOAL = 1 / 0.8
READ_GOAL = 1 / 0.4
HAND_GOALS = {"produce": 1 / 0.6, "consume": 1 / 0.4}
_SPEED = re.compile(r"(?P<count>\d+) records sent, (?P<per_s>[\d.]+) records/sec")
# The scripts of this distribution start small JVMs that compile little. The rivals get what Kafka's own scripts give.
KAFKAS_JVM = {
    "KAFKA_HEAP_OPTS": "-Xmx512M",
    "KAFKA_JVM_PERFORMANCE_OPTS": "-server -XX:+UseG1GC -XX:MaxGCPauseMillis=20 -XX:InitiatingHeapOccupancyPercent=35"
    " -XX:+ExplicitGCInvokesConcurrent -XX:MaxInlineLevel=15",
}


class Bench:
    def __init__(self, folder: Path, clients: Path, records: int, described: Path) -> None:
        self.folder, self._clients, self._runs, self._records = folder, clients, 0, records
        self.hand = HandTools(described, folder, records)
        self.fetching_s: list[float] = []
        self.client: dict[str, Any] = json.loads((clients / "librdkafka.json").read_text(encoding="utf-8"))
        self.admin = self.client
        with tarfile.open(str(ensure(VERSION)["archive"])) as tar:
            tar.extractall(folder, filter="data")
        self._kafka = next(folder.glob("kafka_*"))

    def fresh(self, topic: str) -> None:
        drop_topics(self.admin, [topic])
        make_topics(self.admin, {topic: (PARTITIONS, REPLICAS)}, **{"min.insync.replicas": "2"})

    def ours(self, size: int, *, ledger: bool, topic: str = TOPIC, place: str = "ledger") -> float:
        self._runs += 1
        self.fresh(topic)
        spec = {
            "run_id": "bench", "name": f"w{self._runs}", "ledger": str(self.folder / place), "client": self.client,
            "topics": [{"name": topic, "partitions": PARTITIONS}], "count": self._records, "value_bytes": size,
            "linger_ms": LINGER_MS, "batch_bytes": BATCH_BYTES,
        }  # fmt: skip
        said = self._script("validate_sending.py", spec, "yes" if ledger else "no")
        if said["acked"] != self._records:
            raise SystemExit(f"Only {said['acked']} of {self._records} records were acknowledged.")
        print(
            f"   {size} B{'' if ledger else ', no ledger'}: {said['cpu_s'] / said['s']:.2f} cores kept busy", flush=True
        )
        return float(said["s"])

    def _script(self, name: str, spec: dict[str, Any], *words: str) -> dict[str, Any]:
        path = self.folder / "spec.json"
        path.touch(mode=0o600)
        path.write_text(json.dumps(spec), encoding="utf-8")
        told = output([sys.executable, str(ROOT / "tests" / "bench" / name), str(path), *words])
        said: dict[str, Any] = json.loads(told.splitlines()[-1])
        return said

    def reading(self) -> float:
        """The final read and the whole verdict over what `ours` left in `read`."""
        place = self.folder / "read"
        spec = {"ledger": str(place), "client": self.client, "topic": READ_TOPIC, "partitions": PARTITIONS}
        said = self._script("validate_reading.py", spec, str(self.folder / "findings"))
        if (said["verdict"], said["found"], said["problems"]) != ("passed", self._records, []):
            raise SystemExit(f"Read and judged: {said}")
        print(f"   read {said['read_s']:.1f} s, judged {said['judged_s']:.1f} s", flush=True)
        return float(said["read_s"] + said["judged_s"])

    def by_hand(self) -> float:
        self.fresh(TOPIC)
        return self.hand.produce(TOPIC, linger_ms=LINGER_MS, batch_bytes=BATCH_BYTES)

    def kafkas_reading(self) -> float:
        """By its own word, the joining of its group in it; without that in `fetching_s`."""
        self._runs += 1
        told = output(
            [
                str(self._kafka / "bin" / "kafka-consumer-perf-test.sh"), "--topic", READ_TOPIC,
                "--bootstrap-server", str(self.client["bootstrap.servers"]), "--num-records", str(self._records),
                "--group", f"kastellan-bench-{self._runs}", "--command-config",
                str(self._clients / "client.properties"), "--timeout", "60000", "--hide-header",
            ]
        )  # fmt: skip
        took_s, fetching_s = consumed(told, self._records)
        self.fetching_s.append(fetching_s)
        return took_s

    def kafkas(self, size: int) -> float:
        self.fresh(TOPIC)
        settings = {"acks": "all", "enable.idempotence": "true", "linger.ms": LINGER_MS, "batch.size": BATCH_BYTES}
        told = output(
            [
                str(self._kafka / "bin" / "kafka-producer-perf-test.sh"), "--topic", TOPIC, "--num-records", str(self._records),
                "--record-size", str(size), "--throughput", "-1",
                "--command-config", str(self._clients / "client.properties"),
                "--command-property", *(f"{key}={value}" for key, value in settings.items()),
            ]
        )  # fmt: skip
        found = [match for match in _SPEED.finditer(told) if int(match["count"]) == self._records]
        if not found:
            raise SystemExit(f"Kafka's producer-perf-test did not say how fast it was:\n{told[-2000:]}")
        return self._records / float(found[-1]["per_s"])


def consumed(told: str, records: int) -> tuple[float, float]:
    """Seconds that the consumer-perf-test took, and those it fetched in: start, end, MB, MB/s, n, n/s, rebalance, fetch,
    MB/s, n/s."""
    lines = [cells for cells in (line.split(", ") for line in told.splitlines()) if len(cells) == 10]
    if not lines or int(lines[-1][4]) < records:
        raise SystemExit(f"Kafka's consumer-perf-test did not read all {records} records:\n{told[-2000:]}")
    read, per_s, fetch_per_s = int(lines[-1][4]), float(lines[-1][5]), float(lines[-1][9])
    return read / per_s, read / fetch_per_s


def output(argv: list[str]) -> str:
    env = {**os.environ, **KAFKAS_JVM}
    done = subprocess.run(argv, capture_output=True, text=True, timeout=TIMEOUT_S, check=False, env=env)
    if done.returncode:
        raise SystemExit(f"{argv[0]} failed:\n{done.stdout[-1000:]}{done.stderr[-2000:]}")
    return done.stdout


def measure(described: Path, clients: Path, records: int, pairs: int) -> Iterator[Ratio]:
    """`described`: the cluster.json that the tools for work by hand are told."""
    with tempfile.TemporaryDirectory(prefix="kastellan-bench-", dir="/var/tmp") as name:
        bench = Bench(Path(name), clients, records, described)
        try:
            bench.ours(100, ledger=True)  # the first records of a cluster wake it up; nobody's time counts yet
            bench.kafkas(100)
            yield from _ratios(bench, pairs)
        finally:
            drop_topics(bench.client, [TOPIC, READ_TOPIC])


def _ratios(bench: Bench, pairs: int) -> Iterator[Ratio]:
    yield from _writing(bench, pairs)
    drop_topics(bench.client, [TOPIC])
    bench.ours(100, ledger=True, topic=READ_TOPIC, place="read")
    seal(bench.folder / "read")
    yield from _reading(bench, pairs)
    joined = statistics.median(bench.fetching_s)
    print(f"   without the joining of its group kafka-consumer-perf-test took {joined:.2f} s", flush=True)


def _writing(bench: Bench, pairs: int) -> Iterator[Ratio]:
    for size, goal in GOALS.items():
        yield compare(
            f"producer with ledger by kafka-producer-perf-test, {size} B",
            ours=partial(bench.ours, size, ledger=True),
            other=partial(bench.kafkas, size),
            goal=goal,
            pairs=pairs,
        )
    yield compare(
        "producer with ledger by without, 100 B",
        ours=partial(bench.ours, 100, ledger=True),
        other=partial(bench.ours, 100, ledger=False),
        goal=LEDGER_GOAL,
        pairs=pairs,
    )
    yield compare(
        "produce by hand, live, with ledger by kafka-producer-perf-test, 100 B",
        ours=bench.by_hand,
        other=partial(bench.kafkas, 100),
        goal=HAND_GOALS["produce"],
        pairs=pairs,
    )


def _reading(bench: Bench, pairs: int) -> Iterator[Ratio]:
    """Of what `ours` left in READ_TOPIC."""
    yield compare(
        "final read and verdict by kafka-consumer-perf-test, 100 B",
        ours=bench.reading,
        other=bench.kafkas_reading,
        goal=READ_GOAL,
        pairs=pairs,
    )
    yield compare(
        "consume by hand, live, with ledger by kafka-consumer-perf-test, 100 B",
        ours=partial(bench.hand.consume, READ_TOPIC),
        other=bench.kafkas_reading,
        goal=HAND_GOALS["consume"],
        pairs=pairs,
    )


def require_room(cluster: clusters.Cluster, records: int, shell: Shell = over_ssh) -> None:
    """Full disks would stop brokers that somebody uses for something else."""
    each = AT_ONCE * RECORD_BYTES * REPLICAS / len(cluster.brokers)
    for host in cluster.brokers:
        script = f"df --output=avail -B1 {shlex.quote(cluster.data_dirs[0])} | tail -n 1"
        free = int(shell(host, script, timeout_s=30))
        if free < each * records:
            raise SystemExit(
                f"{host.name} has {free / 1e9:.1f} GB free for Kafka; runs of {records:,} records may take "
                f"{each * records / 1e9:.1f} GB of it at once. --records {int(free / each)} fits, or leave --here away."
            )


def here(records: int, pairs: int) -> Iterator[Ratio]:
    try:
        cluster = clusters.load(clusters.of_stack("local"))
        require_room(cluster, records)
    except KastellanError as error:
        raise SystemExit(str(error)) from error
    return measure(clusters.of_stack("local"), cluster.clients_dir / cluster.validator_user, records, pairs)


def main(words: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="validate_bench", description=__doc__)
    parser.add_argument("--here", action="store_true")
    parser.add_argument("--records", type=int, default=RECORDS)
    parser.add_argument("--pairs", type=int, default=PAIRS)
    asked = parser.parse_args(words)
    if asked.here:
        return tell(here(asked.records, asked.pairs), asked.records)
    with benched() as (cluster, clients):
        described = cluster.lab.state() / "cluster.json"
        return tell(measure(described, clients, asked.records, asked.pairs), asked.records)


@contextlib.contextmanager
def benched(disk: str = DISK) -> Iterator[tuple[Cluster, Path]]:
    """A cluster of its own, with room for the runs, and where the validator's login is."""
    with new_lab() as lab:
        stack = lab.folder / "infra" / "stacks" / "local.yaml"
        stack.write_text(re.sub(r"disk: \S+", f"disk: {disk}", stack.read_text(encoding="utf-8")), encoding="utf-8")
        lab.kastellan("up", "--until", "hosts")
        cluster = Cluster(lab)
        cluster.play("site")
        yield cluster, lab.state() / "clients" / "validator"


def tell(measured: Iterable[Ratio], records: int) -> int:
    """What there is, also where a later part fails."""
    found: list[Ratio] = []
    try:
        found.extend(measured)
    finally:
        if found:
            print(table(found, records), flush=True)
        code = write("validate", found)
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
