"""What `produce` and `consume` have in common: where, as whom, into which ledger."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from common.errors import UsageError
from validate.verbs.numbers import name, topic, word
from validate.verbs.place import add_place, cluster_of, words_of

if TYPE_CHECKING:
    import argparse

    from validate.hand.bench import Bench


MOST_PARTITIONS, MOST_REPLICAS = 10_000, 100


def add_hand(parser: argparse.ArgumentParser) -> None:
    add_place(parser)
    parser.add_argument("--topic", type=topic, required=True)
    parser.add_argument("--make", metavar="P:R", help="make the topic first: P partitions, R replicas each")
    parser.add_argument(
        "--user", type=word, help="(default: the validator, whose topics and groups begin with kastellan-)"
    )
    parser.add_argument(
        "--id", type=name, metavar="NAME", help="of this client in the ledger (default: the next that is free)"
    )
    parser.add_argument("--ledger", type=Path, metavar="DIR", help="(default: hand/TOPIC beside cluster.json)")


def bench_of(args: argparse.Namespace) -> Bench:
    from validate.hand.bench import prepare  # noqa: PLC0415  so that --help answers at once

    make = shape_of(args.make) if args.make else None
    cluster = cluster_of(args)
    ledger = args.ledger.resolve() if args.ledger else None
    return prepare(cluster, user=args.user or cluster.validator_user, topic=args.topic, make=make, ledger=ledger)


def shape_of(text: str) -> tuple[int, int]:
    partitions, _, replication = text.partition(":")
    if not (partitions.isdecimal() and replication.isdecimal()):
        raise UsageError(f"--make {text} is no shape of a topic.", resolution="For example --make 3:2.")
    shape = int(partitions), int(replication)
    if not (0 < shape[0] <= MOST_PARTITIONS and 0 < shape[1] <= MOST_REPLICAS):
        raise UsageError(
            f"--make {text} is no shape of a topic.",
            details=f"A topic has 1 to {MOST_PARTITIONS:,} partitions, of 1 to {MOST_REPLICAS} replicas.",
            resolution="For example --make 3:2.",
        )
    return shape


def ending(ledger: Path, args: argparse.Namespace) -> str:
    words = " ".join(("python -m validate judge", str(ledger), "--read-back", *words_of(args)))
    return f"ledger {ledger}; judge it: {words}"
