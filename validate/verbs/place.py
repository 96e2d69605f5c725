"""Which cluster is meant: --stack NAME or --cluster FILE, the same for every verb that needs one."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from validate import cluster

if TYPE_CHECKING:
    import argparse

DEFAULT_STACK = "local"


def add_place(parser: argparse.ArgumentParser) -> None:
    place = parser.add_mutually_exclusive_group()
    place.add_argument("--stack", default=DEFAULT_STACK, help="a stack of this checkout (default: %(default)s)")
    place.add_argument("--cluster", type=Path, metavar="FILE", help="any cluster, described by its cluster.json")


def cluster_of(args: argparse.Namespace) -> cluster.Cluster:
    return cluster.load(args.cluster or cluster.of_stack(args.stack))


def words_of(args: argparse.Namespace) -> tuple[str, ...]:
    if args.cluster:
        return ("--cluster", str(args.cluster))
    return () if args.stack == DEFAULT_STACK else ("--stack", args.stack)
