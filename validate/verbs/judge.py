"""Read a ledger, say what happened to every record, and leave with the verdict: 0 passed, 1 failed, 2 unknown."""

from __future__ import annotations

import json
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from common.errors import UsageError
from validate.verbs.place import add_place, cluster_of

if TYPE_CHECKING:
    import argparse

name = "judge"
help = "judge a ledger"  # noqa: A001  the word argparse uses


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("ledger", metavar="DIR", help="folder (or Hadoop URL) with sent/, log/, log_bounds/ ...")
    parser.add_argument(
        "--expect", type=Path, metavar="FILE", help="what is expected (default: DIR/EXPECT.yml, if any)"
    )
    parser.add_argument("--out", metavar="DIR", help="where findings go (default: beside the ledger)")
    parser.add_argument("--read-back", action="store_true", help="of `produce` and `consume`: read the topic first")
    add_place(parser)
    parser.add_argument("--spark-master", metavar="URL", help="Spark cluster to judge on (default: this machine)")
    parser.add_argument("--json", action="store_true", help="print the summary as JSON and nothing else")


def run(args: argparse.Namespace) -> int:
    # Spark is imported only here, so that --help and wrong calls answer at once.
    from validate import judge, output, readback, session  # noqa: PLC0415
    from validate.expect import load  # noqa: PLC0415
    from validate.hand.read_back import read_back, require_read  # noqa: PLC0415
    from validate.ledger.read import is_url, size_on_disk  # noqa: PLC0415
    from validate.show import show  # noqa: PLC0415

    place = args.ledger.removeprefix("file://")
    if not is_url(place) and not Path(place).is_dir():
        raise UsageError(
            f"There is no ledger folder {place!r}.",
            resolution="Name the folder that holds sent/, log/ ..., e.g. .kastellan/local/runs/<run>/ledger.",
        )
    if not args.read_back and not is_url(place):
        require_read(Path(place))
    expectation = load(args.expect) if args.expect else judge.expectation_beside(place)
    out = output.place_named(args.out, place) if args.out else output.place_beside(place)
    if not args.json and sys.stderr.isatty():
        print("Judging; Spark takes some seconds to start.", file=sys.stderr)
    size = 0 if is_url(place) else size_on_disk(Path(place))
    cluster = cluster_of(args) if args.read_back else None
    jars = readback.jars() if cluster else []
    spark = session.start(master=args.spark_master, size_bytes=size, jars=jars)
    try:
        problems = read_back(spark, cluster, Path(place)) if cluster else []
        summary = judge.judge(spark, place, expectation, out)
        summary.problems += problems
        summary.miss([f"not all could be read back: {problem}" for problem in problems])
    finally:
        with suppress(Exception):  # a session that died already has said so
            spark.stop()
    if args.json:
        print(json.dumps(summary.to_json(), indent=1))
    else:
        show(summary)
    return summary.exit_code
