"""What each broker really has on its disk: every batch of every replica, by kafka-dump-log on the hosts themselves."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from common.errors import CommandFailed
from common.run import run
from common.ssh import ssh_argv
from validate.ledger.from_json import arrow_schema

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from common.ssh import Login

DUMP_TIMEOUT_S = 300
DUMP = "/opt/kafka/current/bin/kafka-dump-log.sh"
NO_BATCH = -1
_FILE = re.compile(r"Dumping (?P<folder>.*)/(?P<topic>[^/]+)-(?P<partition>\d+)/(?P<base>\d+)\.log")
_BATCH = re.compile(
    r"baseOffset: (?P<base>\d+) lastOffset: (?P<last>\d+) .*crc: (?P<crc>\d+) isvalid: (?P<valid>true|false)"
)
_START = re.compile(r"start (?P<topic>\S+) (?P<partition>\d+) (?P<offset>\d+)")


@dataclass(frozen=True)
class Host:
    broker: int
    login: Login


def collect(
    hosts: Iterable[Host], data_dirs: Sequence[str], topics: Mapping[str, int], ledger: Path | str, *, dump: str = DUMP
) -> list[str]:
    """Write `replicas` of these topics (name, partitions); gives what could not be read, each a reason for unknown.

    Only for topics that are cleaned by delete: compaction rewrites batches on each broker at its own time.
    """
    rows: list[dict[str, Any]] = []
    problems: list[str] = []
    script = shlex.quote(_script(data_dirs, topics, dump))
    for host in hosts:
        argv = ssh_argv(host.login, f"sudo -n bash -c {script}")
        try:
            told = run(argv, timeout_s=DUMP_TIMEOUT_S)
        except CommandFailed as error:
            problems.append(
                f"the replicas on broker {host.broker} cannot be read: {error.brief} {error.details[-300:]}"
            )
            continue
        found, wrong = parse(told, host.broker)
        rows += found
        problems += wrong
    folder = Path(ledger) / "replicas"
    folder.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.Table.from_pylist(rows, schema=arrow_schema("replicas")), folder / "dumped.parquet")
    return problems


def _script(data_dirs: Sequence[str], topics: Mapping[str, int], dump: str) -> str:
    """One call and one Java machine a host. First where each log starts, by the broker's own note and its files."""
    wanted = " ".join(shlex.quote(f"{topic}-{p}") for topic, count in topics.items() for p in range(count))
    names = "|".join(map(re.escape, topics))
    return "\n".join(
        [
            "set -eu; files=",
            f"for data in {' '.join(map(shlex.quote, data_dirs))}; do",
            '  noted="$data/log-start-offset-checkpoint"',
            f'  [ ! -e "$noted" ] || sed -nE "s/^({names}) [0-9]+ [0-9]+$/start &/p" "$noted"',
            f'  for name in {wanted}; do [ -d "$data/$name" ] || continue',
            '    for log in "$data/$name"/*.log; do [ -e "$log" ] && files="$files,$log"; done',
            "  done",
            "done",
            f'[ -z "$files" ] || KAFKA_HEAP_OPTS=-Xmx256m {shlex.quote(dump)} --files "${{files#,}}"',
        ]
    )


def parse(told: str, broker: int) -> tuple[list[dict[str, Any]], list[str]]:
    """Rows of one broker. A replica without a batch has one row that says so."""
    noted: dict[tuple[str, int], int] = {}
    first: dict[tuple[str, int], int] = {}
    batches: dict[tuple[str, int], list[tuple[int, int, int]]] = {}
    problems = []
    place: tuple[str, int] | None = None
    for line in told.splitlines():
        if found := _START.fullmatch(line):
            noted[found["topic"], int(found["partition"])] = int(found["offset"])
        elif found := _FILE.match(line):
            place = (found["topic"], int(found["partition"]))
            first[place] = min(first.get(place, int(found["base"])), int(found["base"]))
            batches.setdefault(place, [])
        elif place is not None and (found := _BATCH.match(line)):
            batches[place].append((int(found["base"]), int(found["last"]), int(found["crc"])))
            if found["valid"] == "false":
                problems.append(f"broker {broker} has a bad batch in {place[0]}-{place[1]} at offset {found['base']}")
        elif line.startswith("Found ") or "Exception" in line:
            problems.append(f"broker {broker}: {line.strip()[:200]}")
    starts = {one: max(noted.get(one, 0), first[one]) for one in batches}
    return list(_rows(broker, batches, starts)), problems


def _rows(
    broker: int, batches: dict[tuple[str, int], list[tuple[int, int, int]]], starts: dict[tuple[str, int], int]
) -> Iterator[dict[str, Any]]:
    for (topic, partition), found in batches.items():
        for base, last, crc in found or [(NO_BATCH, NO_BATCH, 0)]:
            yield {
                "topic": topic,
                "partition": partition,
                "broker": broker,
                "base_offset": base,
                "last_offset": last,
                "batch_crc": crc,
                "log_start": starts[topic, partition],
            }
