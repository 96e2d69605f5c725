"""Write what executors of a Spark cluster need: our modules as a zip, and the list of the packages they import."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import argparse

name = "pack"
help = "write what a Spark cluster's executors need"  # noqa: A001  the word argparse uses


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--out", type=Path, default=Path(), metavar="DIR", help="into this folder (default: here)")


def run(args: argparse.Namespace) -> int:
    from validate import pack  # noqa: PLC0415

    modules, packages = pack.pack(args.out)
    print(f"{modules}: common and validate; --spark-master hands it to executors by itself")
    print(
        f"{packages}: on every worker, for the Python that PYSPARK_PYTHON names there: pip install -r {packages.name}"
    )
    return 0
