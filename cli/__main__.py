"""Reads the words, calls the verb, turns errors into messages and exit codes.

Standard library only up to here: `doctor` must run where nothing is prepared yet.
"""

from __future__ import annotations

import argparse
import difflib
import os
import sys
from typing import TYPE_CHECKING, NoReturn

from cli import bench, client, doctor, down, env, ssh, status, test, up
from common.errors import EXIT_USAGE, KastellanError

if TYPE_CHECKING:
    from collections.abc import Sequence

VERBS = (up, status, down, ssh, client, env, doctor, test, bench)
EXIT_INTERRUPTED = 130
DESCRIPTION = "Makes hosts, secures an Apache Kafka cluster on them, and proves that it keeps its promises."
EPILOG = """\
exit codes: 0 done or passed, 1 failed, 2 unknown, 64 the call was wrong
The same by native commands: eval "$(./kastellan env)", then pulumi, ansible and python as their manuals say.
"""


class Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        self.print_usage(sys.stderr)
        self.exit(EXIT_USAGE, f"{message}\nSee {self.prog} --help.\n")


def build_parser() -> argparse.ArgumentParser:
    parser = Parser(
        prog="./kastellan",
        description=DESCRIPTION,
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    verbs = parser.add_subparsers(metavar="VERB", required=True, parser_class=Parser)
    for verb in VERBS:
        name = verb.__name__.rpartition(".")[2]
        sub = verbs.add_parser(
            name,
            help=verb.HELP,
            description=verb.__doc__,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        verb.configure(sub)
        sub.set_defaults(run=verb.run)
    return parser


def show(error: KastellanError) -> None:
    """What is wrong, the evidence, what to do."""
    bold, plain = ("\033[1m", "\033[0m") if sys.stderr.isatty() and "NO_COLOR" not in os.environ else ("", "")
    print(f"{bold}Error:{plain} {error.brief}", file=sys.stderr)
    for line in error.details.splitlines():
        print(f"  {line}", file=sys.stderr)
    if error.resolution:
        print(f"{bold}To do:{plain} {error.resolution}", file=sys.stderr)


def main(argv: Sequence[str] | None = None) -> int:
    parser = build_parser()
    arguments, rest = parser.parse_known_args(argv)
    if rest:
        if not hasattr(arguments, "pytest"):
            parser.error(f"unrecognized arguments: {' '.join(rest)}")
        if meant := [tier for word in rest for tier in difflib.get_close_matches(word, test.TIER_FLAGS, cutoff=0.85)]:
            parser.error(f"unrecognized arguments: {' '.join(rest)}; did you mean {meant[0]}?")
        arguments.pytest = [*rest, *arguments.pytest]  # -k WORD and the like are for pytest
    try:
        code: int = arguments.run(arguments)
    except KastellanError as error:
        show(error)
        return error.exit_code
    except KeyboardInterrupt:
        print("\nInterrupted. What was begun is picked up by the same command.", file=sys.stderr)
        return EXIT_INTERRUPTED
    except EOFError:
        print("\nNo answer, nothing was changed.", file=sys.stderr)
        return EXIT_USAGE
    except BrokenPipeError:  # the reader of a pipe had enough
        sys.stdout = None
        return 0
    except OSError as error:
        show(KastellanError("The machine refuses.", details=str(error), resolution="./kastellan doctor"))
        return KastellanError.exit_code
    return code


if __name__ == "__main__":
    sys.exit(main())
