"""Make report.html, report.json and junit.xml of a run again, from its folder; leaves with the run's verdict."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import argparse

name = "report"
help = "make the report of a run again"  # noqa: A001  the word argparse uses


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("run_named", metavar="RUN", nargs="?", help="run id, or a run's folder (default: the newest)")
    parser.add_argument("--stack", metavar="S", help="look among this stack's runs only")


def run(args: argparse.Namespace) -> int:
    # Arrow is imported only here, so that --help and wrong calls answer at once.
    from validate import report  # noqa: PLC0415
    from validate.report.places import find  # noqa: PLC0415

    made = report.write(find(args.run_named, args.stack))
    print(f"{made.verdict}  {made.sentence}")
    for path in (made.html, made.json, made.junit):
        print(f"  {path}")
    return made.exit_code
