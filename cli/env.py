"""Print shell exports, so that pulumi, ansible and python -m ... work from the repository's root as their own manuals
say: eval "$(./kastellan env)". They hold for every stack of this checkout.
"""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from cli.surroundings import DEFAULT_STACK, checked_stack, lay_out, variables

if TYPE_CHECKING:
    import argparse

HELP = "print shell exports for the native commands"


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("stack", nargs="?", default=DEFAULT_STACK, help="only checked to exist (default: %(default)s)")


def run(arguments: argparse.Namespace) -> int:
    checked_stack(arguments.stack)
    lay_out()
    for name, value in variables().items():
        print(f"export {name}={shlex.quote(value)}")
    return 0
