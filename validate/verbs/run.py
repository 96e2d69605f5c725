"""Take a cluster through scenarios and prove what it keeps: load, faults, healing, final read, verdict, report.

Leaves with the worst verdict: 0 passed, 1 failed, 2 unknown.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from common.errors import EXIT_FAILED, EXIT_UNKNOWN, UsageError
from common.names import nearest
from validate.verbs.place import add_place, cluster_of, words_of

if TYPE_CHECKING:
    import argparse

name = "run"
help = "take a cluster through scenarios"  # noqa: A001  the word argparse uses
EXIT_OF = {"passed": 0, "failed": EXIT_FAILED, "unknown": EXIT_UNKNOWN}


def arguments(parser: argparse.ArgumentParser) -> None:
    add_place(parser)
    which = parser.add_mutually_exclusive_group()
    which.add_argument(
        "--suite", metavar="SUITE", help="smoke, load, failover, delivery, lab, security or all (default: smoke)"
    )
    which.add_argument(
        "--scenario", metavar="ID", nargs="+", action="extend", help="these alone; python -m validate list shows them"
    )
    which.add_argument(
        "--check",
        metavar="N",
        nargs="+",
        action="extend",
        type=int,
        help="these security checks alone, by their number",
    )
    parser.add_argument("--intrusive", action="store_true", help="also the security checks that load or disturb")
    parser.add_argument("--seed", type=int, metavar="N", help="who is hit and what is drawn (default: by chance)")
    parser.add_argument("--allow-faults", action="store_true", help="break hosts of a cluster that does not say so")
    parser.add_argument("--out", type=Path, metavar="DIR", help="where runs go (default: runs/ beside cluster.json)")
    parser.add_argument(
        "--spark-master", metavar="URL", help="Spark cluster to load and judge on (default: this machine)"
    )
    parser.add_argument(
        "--ledger", metavar="DIR", help="folder for the ledger that all of its machines see as this one"
    )


def run(args: argparse.Namespace) -> int:
    from validate.run import runner  # noqa: PLC0415  so that --help and wrong calls answer at once
    from validate.run.show import show  # noqa: PLC0415
    from validate.scenario import SUITES  # noqa: PLC0415
    from validate.security.registry import CHECKS  # noqa: PLC0415

    suite = args.suite or "smoke"
    if suite not in SUITES:
        raise UsageError(f"There is no suite {suite!r}.", resolution=nearest(suite, SUITES).capitalize())
    checks = tuple(dict.fromkeys(args.check or ()))
    if strange := sorted(set(checks) - set(CHECKS)):
        raise UsageError(f"There is no security check {strange[0]}.", resolution=f"They are 1 to {max(CHECKS)}.")
    wish = runner.Wish(
        suite=suite,
        ids=tuple(args.scenario or ()),
        checks=checks,
        intrusive=args.intrusive,
        seed=args.seed,
        allow_faults=args.allow_faults,
        out=args.out,
        spark_master=args.spark_master,
        ledger=args.ledger,
        command=("python", "-m", "validate", *sys.argv[1:]),
        where=words_of(args),
    )
    folder = runner.run(cluster_of(args), wish)
    show(folder)
    return EXIT_OF[folder.verdict]
