"""Speeds of the data plane: our producer with its whole ledger, without it, and Kafka's own producer-perf-test.

Every pair runs in turn on one cluster, topic, user and settings. `--here` measures on this checkout's stack local
instead of one made for the purpose.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tarfile
import tempfile
from functools import partial
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))  # run as a file: its own folder is first on the path, the rooms are not

from tests.bench.harness import PAIRS, Ratio, compare, write  # noqa: E402
from tests.system.cluster.workloads import drop_topics, make_topics  # noqa: E402
from tests.system.kafka_cluster import Cluster  # noqa: E402
from tests.system.lab import new_lab  # noqa: E402
from tools.kafka.fetch import ensure  # noqa: E402

VERSION = "4.3.1"
TOPIC, PARTITIONS = "kastellan-bench", 4
RECORDS = 200_000
TIMEOUT_S = 300
LINGER_MS, BATCH_BYTES = 5, 262_144
# Acked records per second, ours by Kafka's own: 0.7 at 100 bytes, 0.95 at 1 KiB; as times, the other way round.
GOALS = {100: 1 / 0.7, 1024: 1 / 0.95}
LEDGER_GOAL = 1 / 0.8
_SPEED = re.compile(r"(?P<count>\d+) records sent, (?P<per_s>[\d.]+) records/sec")


class Bench:
    def __init__(self, folder: Path, clients: Path) -> None:
        self.folder, self._clients, self._runs = folder, clients, 0
        self.client: dict[str, Any] = json.loads((clients / "librdkafka.json").read_text(encoding="utf-8"))
        with tarfile.open(str(ensure(VERSION)["archive"])) as tar:
            tar.extractall(folder, filter="data")
        self._kafka = next(folder.glob("kafka_*"))

    def ours(self, size: int, *, ledger: bool) -> float:
        self._runs += 1
        spec = {
            "run_id": "bench", "name": f"w{self._runs}", "ledger": str(self.folder / "ledger"), "client": self.client,
            "topics": [{"name": TOPIC, "partitions": PARTITIONS}], "count": RECORDS, "value_bytes": size,
            "linger_ms": LINGER_MS, "batch_bytes": BATCH_BYTES,
        }  # fmt: skip
        path = self.folder / "spec.json"
        path.touch(mode=0o600)
        path.write_text(json.dumps(spec), encoding="utf-8")
        script = ROOT / "tests" / "bench" / "validate_sending.py"
        told = output([sys.executable, str(script), str(path), "yes" if ledger else "no"])
        said = json.loads(told.splitlines()[-1])
        if said["acked"] != RECORDS:
            raise SystemExit(f"Only {said['acked']} of {RECORDS} records were acknowledged.")
        return float(said["s"])

    def kafkas(self, size: int) -> float:
        settings = {"acks": "all", "enable.idempotence": "true", "linger.ms": LINGER_MS, "batch.size": BATCH_BYTES}
        told = output(
            [
                str(self._kafka / "bin" / "kafka-producer-perf-test.sh"), "--topic", TOPIC, "--num-records", str(RECORDS),
                "--record-size", str(size), "--throughput", "-1",
                "--command-config", str(self._clients / "client.properties"),
                "--command-property", *(f"{key}={value}" for key, value in settings.items()),
            ]
        )  # fmt: skip
        found = [match for match in _SPEED.finditer(told) if int(match["count"]) == RECORDS]
        if not found:
            raise SystemExit(f"Kafka's producer-perf-test did not say how fast it was:\n{told[-2000:]}")
        return RECORDS / float(found[-1]["per_s"])


def output(argv: list[str]) -> str:
    done = subprocess.run(argv, capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
    if done.returncode:
        raise SystemExit(f"{argv[0]} failed:\n{done.stdout[-1000:]}{done.stderr[-2000:]}")
    return done.stdout


def measure(clients: Path, pairs: int) -> list[Ratio]:
    with tempfile.TemporaryDirectory(dir="/var/tmp") as name:
        bench = Bench(Path(name), clients)
        drop_topics(bench.client, [TOPIC])
        make_topics(bench.client, {TOPIC: (PARTITIONS, 3)}, **{"min.insync.replicas": "2"})
        try:
            bench.ours(100, ledger=True)  # the first records of a cluster wake it up; nobody's time counts yet
            bench.kafkas(100)
            found = [
                compare(
                    f"producer with ledger by kafka-producer-perf-test, {size} B",
                    ours=partial(bench.ours, size, ledger=True),
                    other=partial(bench.kafkas, size),
                    goal=goal,
                    pairs=pairs,
                )
                for size, goal in GOALS.items()
            ]
            found.append(
                compare(
                    "producer with ledger by without, 100 B",
                    ours=partial(bench.ours, 100, ledger=True),
                    other=partial(bench.ours, 100, ledger=False),
                    goal=LEDGER_GOAL,
                    pairs=pairs,
                )
            )
        finally:
            drop_topics(bench.client, [TOPIC])
    return found


def main(words: list[str]) -> int:
    if "--here" in words:
        return write("validate", measure(ROOT / ".kastellan" / "local" / "clients" / "validator", PAIRS))
    with new_lab() as lab:
        lab.kastellan("up", "--until", "hosts")
        Cluster(lab).play("site")
        return write("validate", measure(lab.state() / "clients" / "validator", PAIRS))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
