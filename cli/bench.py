"""Measure the speeds that are promised, as ratios within one run. Without a name: all, and one table."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

from cli.surroundings import ROOT, environment, lay_out
from common.errors import EXIT_FAILED, UsageError
from common.names import nearest

if TYPE_CHECKING:
    import argparse

HELP = "measure the promised speeds"
BENCHES = ROOT / "tests" / "bench"
OVERVIEW = BENCHES / "overview.py"
# What another one measures too: without a name they are not run twice.
WITHIN = {"certs": "cluster", "modules": "cluster"}


def names() -> list[str]:
    return sorted(path.name.removesuffix("_bench.py") for path in BENCHES.glob("*_bench.py"))


def without_parts(known: list[str]) -> list[str]:
    return [name for name in known if WITHIN.get(name) not in known]


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", metavar="NAME", nargs="?", help=f"one of: {', '.join(names())}")


def run(arguments: argparse.Namespace) -> int:
    known = names()
    if arguments.name is not None and arguments.name not in known:
        raise UsageError(
            f"There is no benchmark {arguments.name!r}.", resolution=nearest(arguments.name, known).capitalize()
        )
    lay_out()
    codes = [measure(name) for name in ([arguments.name] if arguments.name else without_parts(known))]
    if not arguments.name:
        codes.append(called(str(OVERVIEW)))
    return EXIT_FAILED if any(codes) else 0


def measure(name: str) -> int:
    print(f"== {name}", flush=True)
    return called(str(BENCHES / f"{name}_bench.py"))


def called(file: str) -> int:
    return subprocess.run([sys.executable, file], cwd=ROOT, env=environment(), check=False).returncode
