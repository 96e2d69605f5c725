"""Read by hand: one member of a group with the settings that are asked for, and a ledger of all it took up.

Ctrl-C ends it in order; with --obey so does a record `quit`, a record `crash` kills it, `wait` makes it wait.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from common.errors import UsageError
from validate.verbs.hand import add_hand, bench_of, ending
from validate.verbs.numbers import DAY_MS, real, whole, word
from validate.verbs.place import cluster_of

if TYPE_CHECKING:
    import argparse

name = "consume"
help = "read by hand, with a ledger"  # noqa: A001  the word argparse uses
HEARTBEAT_MS = 3000
LEAST_SESSION_MS = 6000  # of Kafka's brokers, unless they are told otherwise
HOUR_MS = 3_600_000
STICKY = "sticky"
RARELY = 1_000_000_000
ASSIGNMENTS = ("range", "roundrobin", "sticky", "cooperative-sticky", "broker")


def arguments(parser: argparse.ArgumentParser) -> None:
    add_hand(parser)
    parser.add_argument("--group", type=word, default="kastellan-hand", help="(%(default)s)")
    parser.add_argument("--instance-id", type=word, metavar="NAME", help="a static member of that name")
    parser.add_argument("--join", action="store_true", help="share the group with members that are there")
    parser.add_argument(
        "--return",
        dest="back",
        action="store_true",
        help="the owner of this --instance-id is dead, and here it is again",
    )
    commits = parser.add_mutually_exclusive_group()
    commits.add_argument(
        "--auto-commit", type=real(1, DAY_MS), metavar="MS", help="the client commits by itself, so often"
    )
    commits.add_argument("--commit-every", type=whole(1), metavar="N", help="after so many records of work")
    commits.add_argument("--commit-ahead", type=whole(1), metavar="N", help="ahead of the work on so many records")
    commits.add_argument("--commit-batch", action="store_true", help="after each batch (this is the default)")
    commits.add_argument("--commit-never", action="store_true")
    parser.add_argument(
        "--poll-size", type=whole(1, 1_000_000), default=500, metavar="N", help="records of a batch (%(default)s)"
    )
    parser.add_argument(
        "--poll-period", type=whole(1, DAY_MS), default=200, metavar="MS", help="longest wait for one (%(default)s)"
    )
    parser.add_argument(
        "--least-fetch", type=whole(1, 100_000_000), metavar="BYTES", help="a broker waits for so much (default: 1)"
    )
    parser.add_argument(
        "--assignment",
        choices=ASSIGNMENTS,
        default="range",
        help="sticky: kafka-python's, eager; broker: the protocol of KIP-848 (%(default)s)",
    )
    parser.add_argument(
        "--heartbeat", type=whole(1, HOUR_MS), metavar="MS", help="(3000; at most a third of the session)"
    )
    parser.add_argument(
        "--session", type=whole(1, HOUR_MS), default=45_000, metavar="MS", help="time-out (%(default)s)"
    )
    parser.add_argument(
        "--max-poll",
        type=whole(1, DAY_MS),
        default=300_000,
        metavar="MS",
        help="who asks for no records so long is out (%(default)s)",
    )
    parser.add_argument(
        "--from", dest="start", choices=("earliest", "latest"), default="earliest", help="(%(default)s)"
    )
    parser.add_argument("--wait-fetch", type=real(0), default=0, metavar="MS", help="after each fetch (%(default)s)")
    parser.add_argument("--wait-batch", type=real(0), default=0, metavar="MS", help="after each batch (%(default)s)")
    parser.add_argument("--wait-record", type=real(0), default=0, metavar="MS", help="after each record (%(default)s)")
    parser.add_argument("--obey", action="store_true", help="records quit, crash and wait do so to it")
    parser.add_argument(
        "--wait-command", type=real(0), default=10_000, metavar="MS", help="of a record wait (%(default)s)"
    )
    parser.add_argument("--show", type=whole(0), metavar="BYTES", help="show every record, its value cut to that")
    parser.add_argument("--count", type=whole(1), metavar="N", help="end after so many (default: at Ctrl-C)")


def run(args: argparse.Namespace) -> int:
    from validate.hand import bench, watch  # noqa: PLC0415  so that --help answers at once

    spec = spec_of(args)
    if args.assignment == "broker":
        _check_mode(cluster_of(args).mode)
    found = bench_of(args)
    _check_least_session(args)
    bench.check_read(found, args.group)
    guarded = args.assignment == "broker"
    bench.check_group(
        found, args.group, instance_id=args.instance_id, join=args.join, back=args.back, guarded=guarded
    )  # fmt: skip
    name = bench.free_name(found.ledger, args.id, "consumer")
    watch.run(found, "consumer", name, spec, crash_allowed=args.obey)
    print(ending(found.ledger, args))
    return 0


def spec_of(args: argparse.Namespace) -> dict[str, Any]:
    """Checked before anything is asked of the cluster: settings that contradict each other are told at once."""
    from validate.workload.spec import ConsumerSpec  # noqa: PLC0415  so that --help answers at once

    every = args.commit_every or args.commit_ahead
    if every is not None and every > args.poll_size:
        raise UsageError(
            f"A commit every {every} records, and a batch has {args.poll_size}.",
            details="Within a batch it would never come to that.",
            resolution=f"Take at most {args.poll_size}, a larger --poll-size, or --commit-batch.",
        )
    heartbeat = min(HEARTBEAT_MS, args.session // 3) if args.heartbeat is None else args.heartbeat
    if args.back and args.instance_id is None:
        raise UsageError("--return as whom?", resolution="Name the static member that died: --instance-id NAME.")
    _check_times(args, heartbeat)
    _check_sticky(args)
    spec = {
        "group": args.group,
        "instance_id": args.instance_id,
        "start": args.start,
        **_commits(args),
        "batch": args.poll_size,
        "poll_ms": args.poll_period,
        "work_ms": args.wait_record,
        "fetched_wait_ms": args.wait_fetch,
        "batch_wait_ms": args.wait_batch,
        "obey": args.obey,
        "obey_wait_ms": args.wait_command,
        "show_bytes": args.show,
        "session_timeout_ms": args.session,
        "heartbeat_ms": heartbeat,
        "max_poll_ms": args.max_poll,
        "commit_on_revoke": args.assignment != STICKY,
        "assignment": "range" if args.assignment == "broker" else args.assignment,
        "protocol": "consumer" if args.assignment == "broker" else "classic",
        "count": args.count,
        "settings": {} if args.least_fetch is None else {"fetch.min.bytes": args.least_fetch},
    }
    shared = {"run_id": "r", "name": "n", "ledger": "l", "client": {}, "topics": [{"name": "t", "partitions": 1}]}
    ConsumerSpec.parse({**shared, **spec})
    return spec


def _check_mode(mode: str) -> None:
    if mode != "kraft":
        raise UsageError(
            f"--assignment broker is for mode kraft, this is {mode}.",
            details="Brokers have the protocol of KIP-848 from Kafka 4.0 on, and that has no ZooKeeper.",
            resolution="Take range, roundrobin, sticky or cooperative-sticky.",
        )


def _check_times(args: argparse.Namespace, heartbeat: int) -> None:
    """With the protocol of KIP-848 session and heartbeats are the broker's."""
    if args.assignment == "broker":
        return
    if heartbeat * 3 > args.session:
        raise UsageError(
            f"A heartbeat every {heartbeat} ms is too rare for a session of {args.session} ms.",
            resolution=f"Take a third of the session or less: --heartbeat {args.session // 3}.",
        )
    if args.max_poll < args.session:
        raise UsageError(
            f"--max-poll {args.max_poll} is shorter than the session of {args.session} ms.",
            details="Who is thrown out for not asking would not even have been missed by then.",
            resolution=f"Take {args.session} or more, or a shorter --session.",
        )


def _check_least_session(args: argparse.Namespace) -> None:
    """Brokers are asked only where their own default would refuse it: it takes the administrator's login."""
    if args.session >= LEAST_SESSION_MS or args.assignment == "broker":
        return
    from validate.admin import Admin  # noqa: PLC0415

    least_ms = Admin(cluster_of(args)).least_session_ms()
    if args.session < least_ms:
        raise UsageError(
            f"Brokers let no member have a session below {least_ms} ms.",
            details=f"--session {args.session} would be refused when it joins the group.",
            resolution="Take that or more, or let brokers allow it: kafka_config group.min.session.timeout.ms.",
        )


def _check_sticky(args: argparse.Namespace) -> None:
    ahead = args.auto_commit is not None or args.commit_ahead is not None
    if args.assignment == STICKY and (ahead or args.least_fetch is not None):
        raise UsageError(
            "--assignment sticky goes with commits behind the work or none, and without --least-fetch.",
            details="librdkafka has no eager sticky assignor; this member is a client of another library.",
            resolution="Take --commit-batch, --commit-every or --commit-never; or --assignment cooperative-sticky.",
        )


def _commits(args: argparse.Namespace) -> dict[str, Any]:
    if args.auto_commit is not None:
        return {"commit": "auto", "commit_interval_ms": args.auto_commit}
    if args.commit_every is not None:
        return {"commit": "after", "commit_every": args.commit_every, "commit_interval_ms": float(RARELY)}
    if args.commit_ahead is not None:
        return {"commit": "before", "commit_every": args.commit_ahead}
    if args.commit_never:
        return {"commit": "never"}
    return {"commit": "after", "commit_every": RARELY, "commit_interval_ms": 0.0}
