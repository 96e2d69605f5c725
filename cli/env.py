"""Print shell exports, so that pulumi, ansible and python -m ... work from the repository's root as their own manuals
say: eval "$(./kastellan env)". With a stack's name they mean that stack, else any of this checkout.
"""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from cli.surroundings import ROOT, checked_stack, lay_out, variables

if TYPE_CHECKING:
    import argparse

STACK_VARIABLES = ("PULUMI_STACK", "ANSIBLE_INVENTORY")
HELP = "print shell exports for the native commands"


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "stack",
        nargs="?",
        help="the stack that native commands shall mean; without it, Pulumi's own selection and Ansible's -i decide",
    )


def run(arguments: argparse.Namespace) -> int:
    stack = arguments.stack and checked_stack(arguments.stack)  # before a word is printed that a shell might take
    lay_out()
    for name, value in variables().items():
        print(f"export {name}={shlex.quote(value)}")
    if stack is None:
        print(f"unset {' '.join(STACK_VARIABLES)}")  # of an earlier call for one stack
    else:
        for name, value in zip(STACK_VARIABLES, (stack, str(ROOT / "inventories" / stack)), strict=True):
            print(f"export {name}={shlex.quote(value)}")
    return 0
