"""The verbs of `python -m validate`: one module each, with `name`, `help`, `arguments` and `run`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from validate.verbs import compare, consume, heal, judge, listing, pack, plan, produce, report, run

if TYPE_CHECKING:
    import argparse


class Verb(Protocol):
    """What a module in this folder offers."""

    name: str
    help: str

    def arguments(self, parser: argparse.ArgumentParser) -> None: ...

    def run(self, args: argparse.Namespace) -> int: ...


VERBS: tuple[Verb, ...] = (listing, run, heal, judge, report, compare, produce, consume, pack, plan)
