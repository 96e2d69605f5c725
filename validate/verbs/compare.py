"""Say what differs between two runs: verdicts, counts, outages, throughput. Leaves with 1 if something got worse."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from common.errors import EXIT_FAILED, UsageError

if TYPE_CHECKING:
    import argparse

name = "compare"
help = "say what differs between two runs"  # noqa: A001  the word argparse uses


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("before", metavar="RUN", help="run id or folder: what was")
    parser.add_argument("after", metavar="RUN", help="run id or folder: what is")
    parser.add_argument("--stack", metavar="S", help="look among this stack's runs only")
    parser.add_argument("--out", type=Path, metavar="FILE", help="write it there too: JSON if it ends so, else text")


def run(args: argparse.Namespace) -> int:
    # Arrow is imported only here, so that --help and wrong calls answer at once.
    from common.files import write_whole  # noqa: PLC0415
    from validate.report.build import build  # noqa: PLC0415
    from validate.report.compare import compare, shown  # noqa: PLC0415
    from validate.report.places import find  # noqa: PLC0415

    before, after = (build(find(named, args.stack)) for named in (args.before, args.after))
    difference = compare(before, after)
    text = shown(difference)
    print(text, end="")
    if args.out:
        as_json = json.dumps(difference, indent=1, ensure_ascii=False, default=str) + "\n"
        try:
            write_whole(args.out, as_json if args.out.suffix == ".json" else text)
        except OSError as error:
            raise UsageError(
                f"{args.out} cannot be written.", details=str(error), resolution="Name a file in a folder that exists."
            ) from error
    return EXIT_FAILED if difference["worse"] else 0
