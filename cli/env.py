"""Print shell exports, so that pulumi, ansible and python -m ... work from the repository's root as their own manuals
say: eval "$(./kastellan env)". With a stack's name they mean that stack, else any of this checkout. A stack
with hosts of Spark also says what a driver has to know of it (SPARK_CONF_DIR).
"""

from __future__ import annotations

import os
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

from cli.surroundings import HOME, ROOT, checked_stack, lay_out, variables

if TYPE_CHECKING:
    import argparse

SPARK, SPARK_CONF = "spark", "SPARK_CONF_DIR"
STACK_VARIABLES = ("PULUMI_STACK", "ANSIBLE_INVENTORY", SPARK_CONF)
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
    chosen = {} if stack is None else of_stack(stack)
    # Of an earlier call, for another stack.
    if rest := [name for name in STACK_VARIABLES if name not in chosen and (name != SPARK_CONF or set_by_env())]:
        print(f"unset {' '.join(rest)}")
    for name, value in chosen.items():
        print(f"export {name}={shlex.quote(value)}")
    return 0


def of_stack(stack: str) -> dict[str, str]:
    told = {"PULUMI_STACK": stack, "ANSIBLE_INVENTORY": str(ROOT / "inventories" / stack)}
    spark = HOME / stack / SPARK
    return told | ({SPARK_CONF: str(spark)} if spark.is_dir() else {})


def set_by_env() -> bool:
    """Whether SPARK_CONF_DIR is a stack's, of this checkout or another. Any other is of a Spark of the user's own."""
    *_, home, _, folder = ("", "", "", *Path(os.environ.get(SPARK_CONF, "")).parts)
    return (home, folder) == (HOME.name, SPARK)
