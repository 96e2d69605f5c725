"""Heal hosts that a run left broken because it died: by the record on this machine and by the marks on the hosts.
Then remove the topics that it had made.

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
    from validate.run.own_topics import OwnTopics  # noqa: PLC0415
    from validate.run.runner import alone  # noqa: PLC0415

    cluster = cluster_of(args)
    with alone(cluster):
        done, failed = mend(cluster)
        for line in done:
            print(f"healed {line}")
        for error in failed:
            print(error, file=sys.stderr)
        topics = [] if failed else OwnTopics(cluster).remove()
        if topics:
            print(f"removed {', '.join(topics)}")
    if not done and not failed and not topics:
        print("Nothing is broken.")
    return EXIT_FAILED if failed else 0
