"""The cost model (`python -m validate plan`) beside what was measured: bytes and seconds of a load by Spark, its final read
and its verdict, at 2,000,000 and 20,000,000 records; a hundred million with `--records 100000000`, once.

One run each, not pairs: bytes do not depend on what else the machine does, and of seconds the growth is what is looked at. The
goal is on bytes: within a tenth of the model. A cluster of its own, its topic's replicas twice; needs root, and room for
brokers and ledger, which is looked for first.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))  # run as a file: its own folder is first on the path, the rooms are not

from tests.bench.harness import Ratio, run, show  # noqa: E402
from tests.bench.validate_bench import benched  # noqa: E402
from tests.system.cluster.workloads import drop_topics, make_topics  # noqa: E402
from tests.system.lab import TEST_HOME  # noqa: E402
from validate import plan  # noqa: E402
from validate.run.room import written_bytes  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.system.kafka_cluster import Cluster

RECORDS = (2_000_000, 20_000_000)
TOPIC, PARTITIONS, REPLICAS, NODES = "kastellan-scale", 12, 2, 4
OFF_BY = 1.1
GIB = 2**30
RUN_S = 6 * 3600
SCENARIO = f"""
title: A load by Spark, to be measured
teaches: What so many records cost.
explanation: A load of which every record is acknowledged, kept once, and no finding is made.
suites: [untried]
only_on_request: true
topics:
  {TOPIC}: {{partitions: {PARTITIONS}, replication: {REPLICAS}, config: {{min.insync.replicas: {REPLICAS}}}}}
workload: {{kind: bulk, count: %d, consumers: 0, probes: false}}
expect: {{anomalies: none}}
"""
_LOADED = re.compile(r"acked in ([\d.]+) s")
_READ = re.compile(r"Read back in ([\d.]+) s, judged in ([\d.]+) s")
_MEMORY = re.compile(r"had ([\d,]+) MiB in memory at most")


@dataclass(frozen=True)
class Cost:
    """What one load took."""

    records: int
    load_s: float
    read_s: float
    judge_s: float
    memory_mib: float
    sent: float
    log: float
    brokers: float


def disk_of(records: int) -> int:
    """GiB of a node's disk: what this load leaves there, that of the size before, which goes a minute late, and air."""
    return max(4, round(1.5 * records * plan.record_bytes(100) * REPLICAS / NODES / GIB + 2))


def require_room(sizes: list[int], free: int) -> None:
    brokers = NODES * disk_of(max(sizes)) * GIB
    # Spark's own scratch, while it sorts and joins, was at most as much as the ledger.
    ledger = 2 * sum(sizes) * plan.LEDGER_BYTES
    if free < brokers + ledger:
        raise SystemExit(
            f"{TEST_HOME} has {free / GIB:.0f} GiB free; loads of {', '.join(f'{n:,}' for n in sizes)} records may take "
            f"{(brokers + ledger) / GIB:.0f} GiB. Leave the largest away: --records N ..."
        )


def measured_cost(cluster: Cluster, records: int) -> Cost:
    client = cluster.bundle("validator")
    make_topics(client, {TOPIC: (PARTITIONS, REPLICAS)}, **{"min.insync.replicas": str(REPLICAS)})
    (cluster.lab.folder / "validate/scenarios/scale.yaml").write_text(SCENARIO % records, encoding="utf-8")
    words = 'eval "$(./kastellan env)" && exec python -m validate run --scenario scale --seed 7'
    # Where there is room: /tmp may be memory.
    scratch = str(cluster.lab.folder / "scratch")
    cluster.lab.run("bash", "-c", words, timeout_s=RUN_S, SPARK_LOCAL_DIRS=scratch)
    folder = max((cluster.lab.state() / "runs").iterdir(), key=lambda path: path.stat().st_mtime)
    entry = json.loads((folder / "run.json").read_text(encoding="utf-8"))["scenarios"][0]
    if entry["verdict"] != "passed":
        raise SystemExit(f"{records:,} records were judged {entry['verdict']}: {entry['reasons']}")
    ledger = folder / "ledger" / "scale"
    cost = told(
        records, entry["notes"], written_bytes(ledger / "sent"), written_bytes(ledger / "log"), on_disks(cluster)
    )
    drop_topics(client, [TOPIC])
    shutil.rmtree(folder)
    return cost


def on_disks(cluster: Cluster) -> int:
    """Of the topic's segments on all brokers."""
    document = cluster.document()
    places = " ".join(f"{place}/{TOPIC}-*/*.log" for place in document["data_dirs"])
    script = f'sudo sh -c "stat -c %s {places}"'
    said = [cluster.lab.ssh(host["name"], script) for host in document["hosts"]]
    return sum(int(size) for text in said for size in text.split())


def told(records: int, notes: list[str], sent: int, log: int, brokers: int) -> Cost:
    """Out of the run's own notes."""
    whole = "\n".join(notes)
    loaded, read, memory = (one.search(whole) for one in (_LOADED, _READ, _MEMORY))
    if loaded is None or read is None or memory is None:
        raise SystemExit(f"The run does not say what it took:\n{whole}")
    held = float(memory[1].replace(",", ""))
    return Cost(records, float(loaded[1]), float(read[1]), float(read[2]), held, sent, log, brokers)


def against_model(cost: Cost) -> Iterator[Ratio]:
    wish = plan.Wish(cost.records, replication=REPLICAS, cores=os.cpu_count() or 1)
    lines = {line.what: line.value for line in plan.plan(wish).lines}
    at = f"at {cost.records:,} by the model"
    for name, found, wanted, goal, unit in (
        ("sent on disk", cost.sent, lines["sent"], OFF_BY, "B"),
        ("log on disk", cost.log, lines["log"], OFF_BY, "B"),
        ("brokers' disks", cost.brokers, lines[f"all {REPLICAS} replicas on disks"], OFF_BY, "B"),
        ("final read", cost.read_s, lines["final read"], None, "s"),
        ("judge", cost.judge_s, lines["judge, if all adds up"], None, "s"),
    ):
        if wanted is None:
            raise SystemExit(f"The model says nothing of {name}.")
        # Too little is as wrong as too much.
        off = max(found / wanted, wanted / found) if goal else found / wanted
        yield shown(Ratio(f"{name} {at}", [found], [wanted], off, goal, unit=unit))


def growth(less: Cost, more: Cost) -> Iterator[Ratio]:
    """How much more each takes: ten times the records in ten times the time is a growth of 10."""
    sizes = f"at {more.records:,} by at {less.records:,}"
    for name in ("load_s", "read_s", "judge_s", "memory_mib"):
        mine, theirs = float(getattr(more, name)), float(getattr(less, name))
        word, _, unit = name.partition("_")
        yield shown(Ratio(f"{word} {sizes}", [mine], [theirs], mine / theirs, None, unit=unit.replace("mib", "MiB")))


def shown(result: Ratio) -> Ratio:
    show(result)
    return result


def measured(sizes: list[int]) -> Iterator[Ratio]:
    """As they come: hours later, what was measured before is not lost."""
    with benched(disk=f"{disk_of(max(sizes))}GiB") as (cluster, _):
        before: Cost | None = None
        for records in sizes:
            cost = measured_cost(cluster, records)
            print(f"   {cost}", flush=True)
            yield from against_model(cost)
            if before is not None:
                yield from growth(before, cost)
            before = cost


def main(words: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="scale_bench", description=__doc__)
    parser.add_argument("--records", type=int, nargs="+", default=list(RECORDS))
    sizes = sorted(parser.parse_args(words).records)
    require_room(sizes, shutil.disk_usage(TEST_HOME).free)
    return run("scale", measured(sizes))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
