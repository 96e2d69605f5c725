"""Heal hosts that a run left broken because it died: by the record on this machine and by the marks on the hosts.

Leaves with 0 if nothing is broken (any more), else 1.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from common.errors import EXIT_FAILED
from validate.verbs.place import add_place, cluster_of

if TYPE_CHECKING:
    import argparse

name = "heal"
help = "heal hosts that a run left broken"  # noqa: A001  the word argparse uses


def arguments(parser: argparse.ArgumentParser) -> None:
    add_place(parser)


def run(args: argparse.Namespace) -> int:
    from validate.faults.mend import mend  # noqa: PLC0415  so that --help answers at once

    done, failed = mend(cluster_of(args))
    for line in done:
        print(f"healed {line}")
    for error in failed:
        print(error, file=sys.stderr)
    if not done and not failed:
        print("Nothing is broken.")
    return EXIT_FAILED if failed else 0
