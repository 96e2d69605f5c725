"""Tell what this machine lacks and what stands in the way; changes nothing. Exit code 0 if nothing must be mended.

--clean removes what stacks left behind that nothing uses any more (processes, bridges, loop devices, mounts), and no
more than that.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from cli.examine import BAD, GOOD, NOTE, Finding, examine
from common.errors import EXIT_FAILED, KastellanError

if TYPE_CHECKING:
    import argparse

HELP = "tell what is missing or wrong on this machine"
MARKS = {GOOD: ("ok  ", "\033[32m"), NOTE: ("note", "\033[33m"), BAD: ("BAD ", "\033[31m")}


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--clean", action="store_true", help="remove leftovers of stacks that are gone or stopped")


def run(arguments: argparse.Namespace) -> int:
    if arguments.clean:
        clean()
    findings = examine()
    for finding in findings:
        show(finding)
    bad = [finding.title for finding in findings if finding.state == BAD]
    print(f"\n{len(bad)} to mend: {', '.join(bad)}." if bad else "\nNothing must be mended.")
    return EXIT_FAILED if bad else 0


def clean() -> None:
    from infra.providers.nspawn import leftovers  # noqa: PLC0415 - only Linux has what it looks at

    if os.geteuid() != 0:
        raise KastellanError("Leftovers can be removed by root only.", resolution="sudo ./kastellan doctor --clean")
    for leftover in leftovers.find():
        leftovers.clean(leftover)
        print(f"Removed of stack {leftover.record.stack}: {', '.join(leftover.things)}")


def show(finding: Finding) -> None:
    mark, colour = MARKS[finding.state]
    if sys.stdout.isatty() and "NO_COLOR" not in os.environ:
        mark = f"{colour}{mark}\033[0m"
    print(f"{mark} {finding.title:<20} {finding.evidence}")
    if finding.remedy:
        print(f"{'':26}{finding.remedy}")
