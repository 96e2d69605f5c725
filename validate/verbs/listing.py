"""Show the scenarios and the security checks: what each does, in which suites it is, and whether it breaks hosts."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from validate import scenario

if TYPE_CHECKING:
    import argparse

name = "list"
WIDE = 400
help = "show the scenarios and the security checks"  # noqa: A001  the word argparse uses


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print them as JSON and nothing else")


def run(args: argparse.Namespace) -> int:
    from validate.security.registry import CHECKS  # noqa: PLC0415
    from validate.security.run import suites_of  # noqa: PLC0415  so that --help answers at once

    every = scenario.load_all()
    checks = [CHECKS[number] for number in sorted(CHECKS)]
    if args.json:
        rows = [
            {"id": s.id, "title": s.title, "teaches": s.teaches.strip(), "suites": list(s.suites), "breaks": s.disturbs}
            for s in every
        ]
        rows += [
            {"id": f"security-{c.number}", "title": c.title, "teaches": c.expected, "suites": suites_of(c.number),
             "breaks": c.intrusive}
            for c in checks
        ]  # fmt: skip
        print(json.dumps(rows, indent=1))
        return 0
    table = Table(box=None, pad_edge=False)
    for column in ("scenario", "suites", "breaks", "teaches"):
        table.add_column(column, overflow="fold")
    for one in every:
        breaks = ", ".join(dict.fromkeys(step.name for step in one.all_steps)) or "nothing"
        table.add_row(one.id, ", ".join(one.suites), breaks, escape(one.teaches.strip()))
    for one_check in checks:
        breaks = "loads" if one_check.intrusive else "nothing"
        table.add_row(
            f"security-{one_check.number}", ", ".join(suites_of(one_check.number)), breaks, escape(one_check.title)
        )
    # Read by a program, a line is a row: whoever wants to find a name in it must not find half of it.
    width = None if sys.stdout.isatty() else WIDE
    Console(highlight=False, width=width).print(table)
    return 0
