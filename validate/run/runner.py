"""A whole run: which scenarios, in which folder, with whose consent, and what came out."""

from __future__ import annotations

import contextlib
import fcntl
import importlib
import random
import shlex
import signal
import traceback
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from common.errors import UsageError
from validate import scenario as scenarios
from validate.admin import Admin
from validate.faults.record import Record
from validate.pack import is_remote
from validate.run.context import Context
from validate.run.folder import RunFolder
from validate.run.one import run_one
from validate.run.own_topics import OwnTopics
from validate.security import run as security
from validate.security.waivers import waivers
from validate.workload.clock import Clock
from validate.workplace import Workplace

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from validate.cluster import Cluster
    from validate.scenario import Scenario

SEED_MOST = 9_999_999  # it has to fit the name of the run in every value
LARGE_COUNT = 300_000
SUITE_ORDER = ("load-sample", "load-million", "baseline")


@dataclass(frozen=True)
class Wish:
    """What was asked for on the command line."""

    suite: str | None
    ids: tuple[str, ...]
    seed: int | None = None
    allow_faults: bool = False
    out: Path | None = None
    spark_master: str | None = None
    ledger: str | None = None
    """A folder that Spark's executors see as this machine does."""
    intrusive: bool = False
    checks: tuple[int, ...] = ()
    """Security checks by number; unless given, those of the suite."""
    command: tuple[str, ...] = ()
    where: tuple[str, ...] = ()
    """The words that name the cluster, for the command to run it again."""


def chosen(wish: Wish) -> list[Scenario]:
    """Quiet ones first, then as the alphabet has it; all of them checked before anything begins."""
    if wish.checks:
        return []
    if wish.ids:
        return [scenarios.load(name) for name in dict.fromkeys(wish.ids)]
    every = scenarios.load_all()
    if wish.suite == "all":
        found = [one for one in every if not one.only_on_request and "untried" not in one.suites]
    else:
        found = [one for one in every if wish.suite in one.suites]
    rank = {name: place for place, name in enumerate(SUITE_ORDER)}
    return sorted(found, key=lambda one: (rank.get(one.id, len(rank)), one.id))


def run(cluster: Cluster, wish: Wish) -> RunFolder:
    asked = chosen(wish)
    waivers(cluster)  # a slip in them is told before anything is touched
    _require_consent(cluster, wish, asked)
    shared = shared_folder(wish)
    if asked:
        _require_spark(wish.spark_master)
    with alone(cluster), _signals():
        record = Record(cluster.state_dir)
        _refuse_open(record, wish)
        admin = Admin(cluster)
        Workplace(cluster, cluster.admin_user).check_login()
        OwnTopics(cluster).remove()
        clock = Clock()
        folder = _folder(cluster, wish, shared, clock)
        folder.describe(cluster)
        large = any(one.workload.count >= LARGE_COUNT for one in asked)
        records = max((one.workload.count * len(one.topics) for one in asked), default=0)
        context = Context(cluster, admin, folder, record, wish.allow_faults, large, wish.spark_master, records, clock)
        entries = [(one, folder.enter(one, _again(wish, one, folder.seed))) for one in asked]
        folder.save()
        numbers = wish.checks or (() if wish.ids else security.numbers_of(wish.suite))
        told = f"{len(asked)} scenarios" + (f" and {len(numbers)} security checks" if numbers else "")
        folder.say(f"Run {folder.run_id}: {told} on {cluster.stack}, in {folder.path}")
        reason = ""
        try:
            if entries:
                context.require_shared_ledger()
            if numbers:
                security.run_checks(cluster, numbers, folder.checks, intrusive=wish.intrusive, say=folder.say)
                folder.save()
            reason = _all(context, entries)
        except BaseException as error:
            reason = f"ended early: {error or type(error).__name__}".splitlines()[0]
            raise
        finally:
            context.close()
            folder.save(ended=True, reason=reason)
            _report(folder)
    return folder


def _all(context: Context, entries: Sequence[tuple[Scenario, Any]]) -> str:
    """Every scenario; after one whose hosts did not heal, or whose healing is not on record, no other is begun."""
    for number, (one, entry) in enumerate(entries):
        run_one(context, one, entry)
        if context.record.all() or entry.unhealed:
            unwritten = f"the healing of {one.id} could not be written down"
            why = f"the cluster did not heal after {one.id}" if entry.unhealed else unwritten
            for _, later in entries[number + 1 :]:
                later.settle("unknown", f"not begun: {why}")
            if entry.unhealed:
                return f"{one.id} left the cluster broken; nothing further was begun"
            return f"{unwritten}, `python -m validate heal` does it; nothing further was begun"
    return ""


def _require_consent(cluster: Cluster, wish: Wish, asked: Sequence[Scenario]) -> None:
    breaking = [one.id for one in asked if one.disturbs]
    if breaking and not (cluster.faults_allowed or wish.allow_faults):
        raise UsageError(
            f"Faults are not allowed on cluster {cluster.stack!r}.",
            details=f"These break things: {', '.join(breaking)}.",
            resolution="Say --allow-faults, or faults_allowed in cluster.json; or choose scenarios without faults.",
        )


def _require_spark(master: str | None) -> None:
    """It is needed when all load is over: that it will not start is told before."""
    from validate import session  # noqa: PLC0415  Spark's modules, only now

    session.check_java()
    session.check_master(master or "")


def _refuse_open(record: Record, wish: Wish) -> None:
    if still := record.all():
        raise UsageError(
            "Faults of a run that died are still open.",
            details=", ".join(f"{entry.fault} on {entry.host} since {entry.since}" for entry in still),
            resolution=shlex.join(["python", "-m", "validate", "heal", *wish.where]),
        )


def shared_folder(wish: Wish) -> Path | None:
    """Where the ledger goes if not into the run's folder, told before anything is begun."""
    if wish.ledger is None:
        if is_remote(wish.spark_master):
            raise UsageError(
                f"The executors of {wish.spark_master} do not see the run's folder.",
                resolution="Name a folder that all its machines see under the same path: --ledger DIR.",
            )
        return None
    place = Path(wish.ledger.removeprefix("file://").removeprefix("file:"))
    if "://" in str(place) or "://" in wish.ledger.removeprefix("file://"):
        raise UsageError(
            f"A run cannot keep its ledger at {wish.ledger}.",
            details="Its journals are files, sealed on this machine; judge alone reads a ledger of any Hadoop URL.",
            resolution="Name a folder that all machines see under the same path (a mount): --ledger DIR.",
        )
    if not place.is_dir():
        raise UsageError(f"There is no folder {str(place)!r}.", resolution="Make or mount it, on every worker too.")
    return place.absolute()  # not resolved: other machines know it by this name


def _folder(cluster: Cluster, wish: Wish, shared: Path | None, clock: Clock) -> RunFolder:
    seed = random.SystemRandom().randrange(1000) if wish.seed is None else wish.seed
    if not 0 <= seed <= SEED_MOST:
        raise UsageError(f"Seed {seed} is too large or negative.", resolution=f"Take one of 0 to {SEED_MOST}.")
    run_id = f"{clock.now():%Y%m%dT%H%M%SZ}-s{seed}"
    path = (wish.out or cluster.state_dir / "runs") / run_id
    suite = None if wish.ids or wish.checks else wish.suite
    command = list(wish.command)
    return RunFolder(path, run_id=run_id, seed=seed, suite=suite, command=command, shared=shared, clock=clock.now)


def _again(wish: Wish, one: Scenario, seed: int) -> str:
    consent = ["--allow-faults"] if wish.allow_faults else []
    spark = ["--spark-master", wish.spark_master] if wish.spark_master else []
    place = ["--ledger", wish.ledger] if wish.ledger else []
    words = ["python", "-m", "validate", "run", *wish.where, "--scenario", one.id, "--seed", str(seed)]
    words += [*spark, *place, *consent]
    return shlex.join(words)


def _report(folder: RunFolder) -> None:
    """The report is a reader of the run folder; that it fails changes nothing of the verdict."""
    try:
        writer = importlib.import_module("validate.report").write
    except (ImportError, AttributeError):
        return
    try:
        report = writer(folder.path)
        folder.say(f"Report: {report.html}")
    except Exception as error:  # noqa: BLE001  told, and nothing lost: it can be written again
        folder.say(traceback.format_exc(), quiet=True)
        folder.say(f"The report could not be written: {error}. Again: python -m validate report {folder.path}")


@contextlib.contextmanager
def alone(cluster: Cluster) -> Iterator[None]:
    """Two runs would take each other's faults for the cluster's."""
    path = cluster.state_dir / "run.lock"
    with path.open("w", encoding="utf-8") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise UsageError(
                f"Another run works on cluster {cluster.stack!r}.",
                details=f"It holds {path}.",
                resolution="Wait for its end, or end it: on Ctrl-C it heals what it broke.",
            ) from None
        yield


@contextlib.contextmanager
def _signals() -> Iterator[None]:
    """SIGTERM and a closed terminal end a run as Ctrl-C does: hosts are healed, workloads ended."""

    def interrupt(_number: int, _frame: Any) -> None:
        raise KeyboardInterrupt

    before = {number: signal.signal(number, interrupt) for number in (signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
