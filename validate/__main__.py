"""`python -m validate VERB ...`: what is asked for, and the exit code of its answer."""

from __future__ import annotations

import argparse
import logging
import os
import select
import sys
import traceback
from typing import TYPE_CHECKING, NoReturn

from common.errors import EXIT_UNKNOWN, KastellanError, UsageError
from validate import verbs
from validate.full import NotWritten, is_full

if TYPE_CHECKING:
    from collections.abc import Sequence


class _Parser(argparse.ArgumentParser):
    """argparse leaves with 2 on a wrong call, which here means `unknown`; a wrong call is 64."""

    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message[:1].upper()}{message[1:]}.", resolution=f"See {self.prog} --help.")


def parser() -> argparse.ArgumentParser:
    whole = _Parser(
        prog="python -m validate",
        description="Proves that a cluster keeps its promises.",
        epilog="Exit codes: 0 passed, 1 failed, 2 unknown, 64 usage error.",
    )
    listed = whole.add_subparsers(dest="verb", required=True, metavar="VERB", parser_class=_Parser)
    for verb in verbs.VERBS:
        sub = listed.add_parser(verb.name, help=verb.help, description=verb.__doc__, epilog=whole.epilog)
        verb.arguments(sub)
        sub.set_defaults(run=verb.run)
    return whole


def main(argv: Sequence[str] | None = None) -> int:
    # py4j logs what it then raises; the raised error is told once, below.
    logging.getLogger("py4j").setLevel(logging.CRITICAL)
    try:
        args = parser().parse_args(argv)
        code = int(args.run(args))
        sys.stdout.flush()
    except KastellanError as error:
        print(error, file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        print("Interrupted: nothing was decided.", file=sys.stderr)
        return EXIT_UNKNOWN
    except Exception as error:  # noqa: BLE001  whatever happens, a crash must not look like a verdict
        if isinstance(error, BrokenPipeError) and _unread():
            return EXIT_UNKNOWN
        if isinstance(error, OSError) and is_full(error):
            print(NotWritten(error), file=sys.stderr)
            return EXIT_UNKNOWN
        traceback.print_exc()
        print("The judgement crashed, so the verdict is unknown. The lines above say where.", file=sys.stderr)
        return EXIT_UNKNOWN
    else:
        return code


def _unread() -> bool:
    """Whether it was our own output that nobody reads any more: then there is nobody to tell."""
    try:
        output = sys.stdout.fileno()
    except (OSError, ValueError):
        return False  # within another program, which reads it itself
    looked = select.poll()
    looked.register(output, 0)
    if not any(event & select.POLLERR for _, event in looked.poll(0)):
        return False
    os.dup2(os.open(os.devnull, os.O_WRONLY), output)  # what is left to be written goes there, without a word
    return True


if __name__ == "__main__":
    sys.exit(main())
