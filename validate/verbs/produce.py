"""Write by hand: one producer with the settings that are asked for, its counters live, and a ledger of every record.

Ctrl-C ends it in order. What several clients did in one ledger is judged by: python -m validate judge DIR --read-back
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from common.errors import UsageError
from validate.verbs.hand import add_hand, bench_of, ending
from validate.verbs.numbers import real, whole
from validate.workload.settings import MOST_BACKOFF_MS
from validate.workload.spec import MOST_IN_FLIGHT
from validate.workload.value import LEAST_BYTES

if TYPE_CHECKING:
    import argparse

name = "produce"
MOST_BYTES = 999_000  # a message of librdkafka has a million bytes with all that is around its value
help = "write by hand, with a ledger"  # noqa: A001  the word argparse uses


def arguments(parser: argparse.ArgumentParser) -> None:
    add_hand(parser)
    # An end unless none is asked for: flat out and forgotten, a producer fills the brokers' disks in minutes.
    parser.add_argument("--rolls", type=whole(0), default=1, metavar="N", help="rolls of records (1); 0: until Ctrl-C")
    parser.add_argument("--records", type=whole(1), default=1000, metavar="N", help="records per roll (%(default)s)")
    parser.add_argument("--wait-roll", type=real(0), default=0, metavar="MS", help="wait after each roll (%(default)s)")
    parser.add_argument(
        "--wait-send", type=real(0), default=0, metavar="MS", help="wait after each record (%(default)s)"
    )
    parser.add_argument("--acks", choices=("0", "1", "all"), default="all", help="(%(default)s)")
    parser.add_argument("--max-in-flight", type=whole(1, 1_000_000), default=5, metavar="N", help="(%(default)s)")
    parser.add_argument("--no-idempotence", action="store_true", help="a record may be written again by a retry")
    parser.add_argument("--batch", type=whole(1), default=262_144, metavar="BYTES", help="(%(default)s)")
    parser.add_argument("--linger", type=real(0, 900_000), default=5, metavar="MS", help="(%(default)s)")
    parser.add_argument("--compression", choices=("none", "gzip", "snappy", "lz4", "zstd"), default="none")
    parser.add_argument("--retries", type=whole(0), metavar="N", help="(default: as many as fit into the time-out)")
    parser.add_argument("--backoff", type=whole(1, MOST_BACKOFF_MS), metavar="MS", help="between tries (default: 100)")
    parser.add_argument("--delivery-timeout", type=whole(1), default=120_000, metavar="MS", help="(%(default)s)")
    parser.add_argument("--request-timeout", type=whole(1, 900_000), default=30_000, metavar="MS", help="(%(default)s)")
    parser.add_argument(
        "--value-bytes", type=whole(LEAST_BYTES, MOST_BYTES), default=100, metavar="BYTES", help="(%(default)s)"
    )
    parser.add_argument(
        "--say",
        choices=("quit", "crash", "wait"),
        help="a record in each partition that consumers with --obey obey, and no other",
    )


def run(args: argparse.Namespace) -> int:
    from validate.hand import bench, watch  # noqa: PLC0415  so that --help answers at once
    from validate.hand.say import say  # noqa: PLC0415

    spec = spec_of(args)
    found = bench_of(args)
    bench.check_write(found)
    if args.say:
        say(found, args.say)
        print(f"said {args.say} to every partition of {found.topic.name}")
        return 0
    watch.run(found, "producer", bench.free_name(found.ledger, args.id, "producer"), spec)
    print(ending(found.ledger, args))
    return 0


def spec_of(args: argparse.Namespace) -> dict[str, Any]:
    """Checked before anything is asked of the cluster: settings that contradict each other are told at once."""
    from validate.workload.spec import ProducerSpec  # noqa: PLC0415

    _check(args)
    settings = {} if args.backoff is None else {"retry.backoff.ms": args.backoff, "retry.backoff.max.ms": args.backoff}
    spec = {
        "acks": args.acks,
        "idempotent": not args.no_idempotence,
        "max_in_flight": args.max_in_flight,
        "retries": args.retries,
        "records_per_s": 1000 / args.wait_send if args.wait_send else None,
        "value_bytes": args.value_bytes,
        "linger_ms": args.linger,
        "batch_bytes": args.batch,
        "compression": args.compression,
        "delivery_timeout_ms": args.delivery_timeout,
        "request_timeout_ms": args.request_timeout,
        "count": args.rolls * args.records if args.rolls else None,
        "roll_records": args.records if args.wait_roll else None,
        "roll_wait_ms": args.wait_roll,
        "settings": settings,
    }
    shared = {"run_id": "r", "name": "n", "ledger": "l", "client": {}, "topics": [{"name": "t", "partitions": 1}]}
    ProducerSpec.parse({**shared, **spec})
    return spec


def _check(args: argparse.Namespace) -> None:
    """In words of the command line: those of the client underneath are others."""
    if not args.no_idempotence and (args.acks != "all" or args.max_in_flight > MOST_IN_FLIGHT or args.retries == 0):
        raise UsageError(
            "Idempotence needs --acks all, --max-in-flight 5 or less, and retries.",
            resolution="Take these, or --no-idempotence.",
        )
    if args.delivery_timeout <= args.linger:
        raise UsageError(
            f"--delivery-timeout {args.delivery_timeout} is over before --linger {args.linger:g} is.",
            resolution="Take a longer time-out, or a shorter linger.",
        )
