"""Say what a proof of so many records takes: partitions, bytes, seconds. Each line says where its figure is from."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING

from common.errors import UsageError

if TYPE_CHECKING:
    import argparse

    from validate.plan import Line

name = "plan"
help = "what a proof of so many records takes"  # noqa: A001  the word argparse uses
_BYTES = ("B", "KiB", "MiB", "GiB", "TiB", "PiB")


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--records", type=float, required=True, metavar="N", help="in all, e.g. 1e9")
    parser.add_argument("--value-bytes", type=int, default=100, metavar="N", help="(%(default)s)")
    parser.add_argument("--replication", type=int, default=3, metavar="N", help="(%(default)s)")
    parser.add_argument("--cores", type=int, default=2, metavar="N", help="of Spark (%(default)s)")
    parser.add_argument("--partition-gib", type=float, default=8, metavar="N", help="at most (%(default)s)")
    for phase in ("load", "read", "judge"):
        parser.add_argument(f"--{phase}-per-s", type=float, metavar="N", help="records/s, as you measured them")
    parser.add_argument("--json", action="store_true", help="print it as JSON and nothing else")


def run(args: argparse.Namespace) -> int:
    from validate import plan  # noqa: PLC0415

    if not math.isfinite(args.records):
        raise UsageError(f"--records is {args.records}.", resolution="For example: --records 1e9.")
    wish = plan.Wish(
        int(args.records), args.value_bytes, args.replication, args.cores, args.partition_gib * 2**30,
        args.load_per_s, args.read_per_s, args.judge_per_s,
    )  # fmt: skip
    made = plan.plan(wish)
    if args.json:
        print(json.dumps(made.to_json(), indent=1))
        return 0
    topics = "1 topic" if made.topics == 1 else f"{made.topics} topics"
    print(
        f"{wish.records:,} records of {wish.value_bytes} bytes: {topics} of {made.partitions:,} partitions, "
        f"{made.records_per_partition:,} records each at most"
    )
    for line in made.lines:
        print(f"{line.phase:<12} {line.what:<62} {shown(line):>16}  {line.source}")
    return 0


def shown(line: Line) -> str:
    if line.value is None:
        return f"not measured, say --{line.phase}-per-s"
    if line.unit == "B":
        power = min(len(_BYTES) - 1, int(math.log(max(1.0, line.value), 1024)))
        return f"{line.value / 1024**power:,.1f} {_BYTES[power]}"
    return f"{line.value:,.0f} {line.unit}"
