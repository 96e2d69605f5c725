"""How long a verdict takes, as a ratio to what anybody could do with standard tools, and how much memory it needs.

A clean ledger is made by Spark: acknowledged records of several producers, dealt to the partitions in turn, and a log
in which their batches interleave. The same records are written as two text files. Measured in turn, so that a busy
machine is busy for both: the whole verdict (a process of its own, Spark's start included), and `LC_ALL=C sort` of both
text files with `diff`. Needs 10 GB of disk in --scratch; ledgers that are kept there are used again.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))  # run as a file: its own folder is first on the path, the rooms are not

from tests.bench.harness import PAIRS, Ratio, show, write  # noqa: E402
from validate import session  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import DataFrame, SparkSession

RECORDS = 20_000_000
PARTITIONS = 12
PRODUCERS = 4
BATCH = 100  # records of one producer that lie side by side in a partition
RECORDS_PER_S = 200_000
LATENCY_US = 8_000
START_US = 1_772_366_400_000_000
MASTER = "local[*]"
MADE = "made"  # stands in a folder whose ledger is whole


def records(spark: SparkSession, count: int, *, in_turn: bool) -> DataFrame:
    """Every record with its place: dealt to the partitions in turn as producers write, or partition by partition."""
    each = -(-count // PARTITIONS)
    place = (
        (f"id % {PARTITIONS} AS partition", f"id DIV {PARTITIONS} AS offset")
        if in_turn
        else (f"id DIV {each} AS partition", f"id % {each} AS offset")
    )
    ids = spark.range(0, each * PARTITIONS, numPartitions=16).selectExpr(*place)
    batch = f"offset DIV {BATCH}"
    pause_us = 1_000_000 * PARTITIONS // RECORDS_PER_S
    return ids.selectExpr(
        "'20260301T120000Z-s7' AS run_id", f"concat('load-', {batch} % {PRODUCERS}) AS producer", "'bench' AS topic",
        "CAST(partition AS INT) AS partition", "offset",
        f"({batch} DIV {PRODUCERS}) * {BATCH} + offset % {BATCH} AS seq", "0 AS attempt",
        "xxhash64(partition, offset) & 4294967295L AS crc",
        "xxhash64(offset, partition) & 2147483647L AS random_int",
        f"timestamp_micros({START_US} + offset * {pause_us}) AS at",
        f"timestamp_micros({START_US} + offset * {pause_us} + {LATENCY_US} + (xxhash64(offset) & 4095)) AS reported",
    )  # fmt: skip


def make(spark: SparkSession, where: Path, count: int) -> None:
    """The ledger and both text files of `count` records."""
    sent = records(spark, count, in_turn=True)
    sent.selectExpr(
        "run_id", "producer", "topic", "partition", "seq", "attempt", "CAST(NULL AS BINARY) AS key",
        "false AS value_null", "crc AS value_crc", "random_int", "'all' AS acks", "true AS idempotent",
        "5 AS max_in_flight", "CAST(NULL AS STRING) AS txn", "at AS invoked_at", "reported AS done_at",
        "'acked' AS outcome", "CAST(NULL AS STRING) AS error", "offset AS acked_offset", "'controller' AS clock",
    ).write.parquet(str(where / "ledger/sent"))  # fmt: skip
    log = records(spark, count, in_turn=False)
    log.selectExpr(
        "topic", "partition", "offset", "at AS timestamp", "CAST(NULL AS BINARY) AS key", "false AS value_null",
        "run_id", "producer", "seq", "attempt", "topic AS intended_topic", "partition AS intended_partition",
        "random_int", "crc AS payload_crc", "crc AS value_crc",
    ).write.parquet(str(where / "ledger/log"))  # fmt: skip
    each = -(-count // PARTITIONS)
    spark.range(PARTITIONS).selectExpr(
        "'bench' AS topic", "CAST(id AS INT) AS partition", "0L AS start_offset", f"{each}L AS end_offset",
        f"{each}L AS high_watermark", "CAST(NULL AS BIGINT) AS read_to", "'read_committed' AS isolation",
        "'delete' AS cleanup_policy", "CAST(NULL AS STRING) AS topic_id",
    ).coalesce(1).write.parquet(str(where / "ledger/log_bounds"))  # fmt: skip
    line = "concat_ws(' ', run_id, producer, topic, partition, seq, attempt, offset, crc, random_int)"
    for name, frame in (("sent", sent), ("log", log)):
        frame.selectExpr(f"{line} AS value").write.text(str(where / f"{name}-text"))
        with (where / f"{name}.txt").open("wb") as whole:
            for part in sorted((where / f"{name}-text").glob("part-*")):
                with part.open("rb") as content:
                    shutil.copyfileobj(content, whole)
        shutil.rmtree(where / f"{name}-text")


@dataclass
class Cost:
    """What one call cost. On a machine that others use, the processor's seconds say more than the clock's."""

    clock_s: float
    cpu_s: float
    rss_gib: float = 0.0


def judged(ledger: Path) -> Cost:
    """One whole `python -m validate judge`, with the peak memory of the driver: Python and its JVM."""
    command = [sys.executable, "-m", "validate", "judge", str(ledger), "--json"]
    began = time.monotonic()
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as run:
        peaks: dict[int, int] = {}
        ticks: dict[int, int] = {}
        watched = threading.Event()
        watch = threading.Thread(target=_watch, args=(run.pid, peaks, ticks, watched))
        watch.start()
        said, _ = run.communicate()
        took = time.monotonic() - began
        watched.set()
        watch.join()
    verdict = json.loads(said)["verdict"]
    if verdict != "passed":
        raise RuntimeError(f"the clean ledger was judged {verdict}: {said[:500]}")
    return Cost(took, sum(ticks.values()) / os.sysconf("SC_CLK_TCK"), sum(peaks.values()) / 1024**2)


def _watch(pid: int, peaks: dict[int, int], ticks: dict[int, int], done: threading.Event) -> None:
    """The kernel keeps the highest resident size and the time of each process; it is asked for while they live."""
    while not done.wait(0.2):
        for process in (pid, *_children(pid)):
            try:
                text = Path(f"/proc/{process}/status").read_text(encoding="ascii")
                spent = Path(f"/proc/{process}/stat").read_text(encoding="ascii").rsplit(")", 1)[1].split()
            except OSError:
                continue
            ticks[process] = int(spent[11]) + int(spent[12])
            high = [line for line in text.splitlines() if line.startswith("VmHWM")]
            if high:
                peaks[process] = max(peaks.get(process, 0), int(high[0].split()[1]))


def _children(pid: int) -> list[int]:
    found: list[int] = []
    for listing in Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            direct = [int(child) for child in listing.read_text(encoding="ascii").split()]
        except OSError:
            continue
        found += direct + [grandchild for child in direct for grandchild in _children(child)]
    return found


def sorted_and_compared(where: Path) -> Cost:
    """Sorting both text files and comparing them."""
    env = {**os.environ, "LC_ALL": "C", "TMPDIR": str(where)}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    began = time.monotonic()
    for name in ("sent", "log"):
        subprocess.run(["sort", "-o", str(where / f"{name}.sorted"), str(where / f"{name}.txt")], env=env, check=True)
    subprocess.run(["diff", "-q", str(where / "sent.sorted"), str(where / "log.sorted")], env=env, check=True)
    took = time.monotonic() - began
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return Cost(took, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)


def made(where: Path, count: int) -> Path:
    """The folder of a ledger of this size; one that an earlier run kept is used again."""
    place = where / str(count)
    if not (place / MADE).exists():
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir(parents=True)
        spark = session.start(master=MASTER, size_bytes=session.SMALL_BYTES, scratch=str(where))
        try:
            make(spark, place, count)
        finally:
            spark.stop()
        (place / MADE).touch()
    return place


def measure(where: Path, count: int, pairs: int) -> list[Ratio]:
    whole, tenth = made(where, count), made(where, count // 10)
    costs: dict[str, list[Cost]] = {"whole": [], "tenth": [], "tools": []}
    for number in range(pairs):
        # The small one twice, on both sides of the large one: it is the noisier of the two.
        for name, cost in (
            ("tenth", judged(tenth / "ledger")),
            ("whole", judged(whole / "ledger")),
            ("tools", sorted_and_compared(whole)),
            ("tenth", judged(tenth / "ledger")),
        ):
            costs[name].append(cost)
            told = f"{cost.clock_s:.1f} s, {cost.cpu_s:.1f} s of the processor, {cost.rss_gib:.2f} GiB"
            print(f"   {number + 1}/{pairs} {name}: {told}", flush=True)
    results = [
        _ratio(f"verdict at {count:,} records / sort + diff", costs["whole"], costs["tools"], 1.0),
        _ratio(f"verdict at {count:,} / at {count // 10:,}", costs["whole"], costs["tenth"], 12.0),
    ]
    peaks = [cost.rss_gib for cost in costs["whole"]]
    results.append(Ratio("peak memory of the driver / 1 GiB", peaks, [1.0], max(peaks), 3.0, unit="GiB"))
    for result in results:
        show(result)
    return results


def _ratio(name: str, ours: list[Cost], other: list[Cost], goal: float) -> Ratio:
    mine, theirs = [cost.clock_s for cost in ours], [cost.clock_s for cost in other]
    return Ratio(name, mine, theirs, statistics.median(mine) / statistics.median(theirs), goal)


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="judge_bench", description=__doc__)
    parser.add_argument("--records", type=int, default=RECORDS)
    parser.add_argument("--pairs", type=int, default=PAIRS)
    parser.add_argument("--scratch", type=Path, help="keep the ledgers here (default: a temporary directory)")
    args = parser.parse_args(argv)
    if args.scratch:
        return write("judge", measure(args.scratch.resolve(), args.records, args.pairs))
    with tempfile.TemporaryDirectory(prefix="judge-bench-", dir="/var/tmp") as scratch:
        return write("judge", measure(Path(scratch), args.records, args.pairs))


if __name__ == "__main__":
    sys.exit(main())
