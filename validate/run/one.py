"""One scenario from an empty ledger to its verdict. Whatever goes wrong on the way, hosts are healed first."""

from __future__ import annotations

import contextlib
import json
import time
import traceback
from dataclasses import asdict
from typing import TYPE_CHECKING

from common.errors import KastellanError, UsageError
from common.wait import wait_until
from validate.faults.errors import NotHealed
from validate.faults.ledger import FaultLedger, iso
from validate.full import NotWritten, is_full
from validate.quorum import ClusterSilent
from validate.run import changes, memory, room
from validate.run.acts import Acts
from validate.run.checks import broke_silence, never_leaderless, not_moved, not_refused
from validate.run.expected import Expectation
from validate.run.folder import NOT_APPLICABLE
from validate.run.isr import IsrWatcher
from validate.run.load import Load
from validate.run.looks import look
from validate.run.own_topics import OwnTopics
from validate.run.story import Story
from validate.workplace import Workplace

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from validate.run.context import Context
    from validate.run.folder import Entry
    from validate.scenario import Scenario
    from validate.summary import Summary

WHOLE_BEFORE_S = 60.0
ASTRAY_S = 1.0
ENSEMBLE = 3  # the least that has one to spare


def run_one(context: Context, scenario: Scenario, entry: Entry) -> None:
    """Fills the entry. UsageError for what the user has to mend first."""
    context.number += 1
    entry.started_at = iso(context.clock.now())
    context.folder.say(f"== {scenario.id}: {scenario.title}")
    began_s, drift_us = time.monotonic(), context.clock.drift_us()
    try:
        if _applies(context, scenario, entry):
            entry.notes += scenario.left_out(context.cluster.mode)
            _run(context, scenario.in_mode(context.cluster.mode), entry)
    except UsageError as error:
        entry.settle("unknown", str(error))
        raise
    except KeyboardInterrupt:
        entry.settle("unknown", "interrupted")
        raise
    except KastellanError as error:
        _settle(entry, error)
    except Exception as error:  # noqa: BLE001  a crash is unknown, never passed
        context.folder.say(traceback.format_exc(), quiet=True)
        if is_full(error):
            _settle(entry, NotWritten(error))
        else:
            entry.settle("unknown", f"the runner crashed: {type(error).__name__}: {error}")
    finally:
        entry.verdict = entry.verdict or "unknown"
        _note_jump(context, entry, drift_us)
        entry.ended_at = iso(context.clock.now())
        context.folder.save()
        context.folder.say(f"   {entry.verdict} in {time.monotonic() - began_s:.0f} s")
        for reason in entry.reasons:
            context.folder.say(f"   because {reason}")


def _note_jump(context: Context, entry: Entry, before_us: int) -> None:
    """The wall clock was set, or the machine slept. No time in the ledger is the wall's, so this hinders nothing."""
    astray_s = (context.clock.drift_us() - before_us) / 1e6
    if abs(astray_s) > ASTRAY_S:
        entry.notes.append(f"The wall clock jumped by {astray_s:+.1f} s meanwhile; the run kept its own time.")
        context.folder.say(f"  {entry.notes[-1]}")


def _settle(entry: Entry, error: KastellanError) -> None:
    """A cluster that does not come back is a failure; whatever hinders the proof leaves it unknown."""
    entry.unhealed = entry.unhealed or isinstance(error, NotHealed)
    words = " ".join(part for part in (error.brief, error.details) if part).replace("\n", " ")
    entry.settle("failed" if isinstance(error, NotHealed) else "unknown", words)


def _applies(context: Context, scenario: Scenario, entry: Entry) -> bool:
    cluster = context.cluster
    if cluster.mode not in scenario.modes:
        entry.settle(NOT_APPLICABLE, f"it is for mode {' or '.join(scenario.modes)}, this is {cluster.mode}")
    elif len(cluster.brokers) < scenario.brokers:
        entry.settle(NOT_APPLICABLE, f"it needs {scenario.brokers} brokers, there are {len(cluster.brokers)}")
    elif scenario.hits_zookeeper and len(cluster.zookeepers) < ENSEMBLE:
        told = f"it needs {ENSEMBLE} ZooKeepers that may be broken, cluster.json lists {len(cluster.zookeepers)}"
        entry.settle(NOT_APPLICABLE, told)
    elif operation := next(
        (s.operation for s in scenario.steps if s.operation not in {None, *cluster.operations}), None
    ):
        entry.settle("unknown", f"cluster.json names no operation {operation!r}, which this scenario calls")
    elif scenario.breaks and (closed := [host.name for host in cluster.hosts if host.login is None]):
        entry.settle("unknown", f"there is no ssh access to {', '.join(closed)} (ssh is null in cluster.json)")
    else:
        return True
    return False


def _run(context: Context, scenario: Scenario, entry: Entry) -> None:
    _require_whole(context)
    ledger = context.folder.folder("ledger", scenario.id)
    group = f"kastellan-{scenario.id}-{context.mark}"
    place = Workplace(context.cluster, scenario.workload.user or context.cluster.validator_user)
    expectation = Expectation(scenario, context.cluster, group)
    entry.configured = _configured(scenario)
    made: list[str] = []
    beside = [changes.PROBE.name] if scenario.expect.unchangeable else []
    own = OwnTopics(context.cluster)
    place.check_login()
    _clear(own, scenario, entry)
    try:
        made = place.make(scenario.topics)
        own.open(place.user, [*made, *beside])
        if not made:
            entry.notes.append("The topics were there before and stay.")
        if place.unseen:
            entry.notes.append(f"Settings that {place.user!r} may not see: of {', '.join(place.unseen)}.")
        place.await_leaders(scenario.topics)
        place.check_rights(scenario.topics, group if expectation.groups() else None)
        # Workloads are not looked at while they work: it would cost them time.
        with memory.noted(entry.notes) if scenario.workload.kind == "bulk" else contextlib.nullcontext():
            story = _happen(context, scenario, entry, place, ledger, expectation)
            expectation.write(ledger)
            _judge(context, scenario, entry, place, ledger)
        _look(scenario, entry, ledger, story)
        _look_at_shape(context, scenario, entry, ledger)
    finally:
        if made or beside:
            _remove(place, own, [*made, *beside], entry)
        for one in {group, *expectation.groups()}:
            place.remove_group(one)


def _clear(own: OwnTopics, scenario: Scenario, entry: Entry) -> None:
    """What a scenario before could not remove: its records and settings are none of this one's."""
    try:
        own.remove()
    except KastellanError as error:
        left = ", ".join(own.left())
        if {topic.name for topic in scenario.topics} & own.left().keys():
            raise ClusterSilent(
                f"Topics of a scenario before cannot be removed ({left}).",
                details=error.brief,
                resolution="Remove them: python -m validate heal.",
            ) from error
        entry.notes.append(f"Topics of a scenario before are there still ({left}): {error.brief}")


def _remove(place: Workplace, own: OwnTopics, names: list[str], entry: Entry) -> None:
    """What could not be removed stays on record: the next scenario, run or `heal` does it."""
    try:
        place.remove(names)
        own.close(names)
    except KastellanError as error:
        entry.notes.append(f"Its topics could not be removed: {error.brief} {error.details}".rstrip())


def _require_whole(context: Context) -> None:
    lacking: list[str] = []

    def whole() -> bool:
        lacking[:] = context.admin.not_whole()
        return not lacking

    if not wait_until(whole, timeout_s=WHOLE_BEFORE_S, every_s=0.5):
        raise NotWhole("The cluster is not whole before the scenario.", details="; ".join(lacking[:8]))


class NotWhole(KastellanError):
    """Nothing can be said of a fault where something is broken already."""

    exit_code = 2


def _happen(
    context: Context, scenario: Scenario, entry: Entry, place: Workplace, ledger: Path, expectation: Expectation
) -> Story | None:
    """The workload and the faults. What goes wrong is settled in the entry; what there is is judged all the same."""
    if scenario.workload.kind == "bulk":
        expectation.workload_died = not _bulk(context, scenario, entry, place, ledger)
        return None
    if scenario.workload.kind == "clients":
        _clients(context, scenario, entry, place, ledger, expectation)
        return None
    load = Load(context, scenario, place, ledger, expectation.group)
    story = Story(context, scenario, entry, load, FaultLedger(ledger, context.clock.now), expectation)
    names = [topic.name for topic in scenario.topics]
    orderly = False
    with IsrWatcher(context.cluster, names, ledger, context.clock.now):
        try:
            load.start()
            for told in load.phase("before" if scenario.disturbs else "run", load.everywhere()):
                entry.settle("unknown", told)
            if scenario.disturbs:
                story.play()
                for told in load.phase("after", load.everywhere()):
                    entry.settle("unknown", told)
            for told in load.reach(scenario.workload.count):
                entry.settle("unknown", told)
            load.workloads.check()
            orderly = True
        except UsageError:
            raise
        except KastellanError as error:
            _settle(entry, error)
            orderly = True
        finally:
            # After Ctrl-C or a crash nobody waits for the writers: what they had not heard of stays unknown.
            try:
                for told in load.finish(hopeless=entry.unhealed) if orderly else ():
                    known = any(told in reason for reason in entry.reasons)
                    entry.settle("unknown", "" if known else told)
            finally:
                expectation.workload_died = not load.workloads.all_well
                expectation.slow_readers = load.slow_readers
                load.workloads.kill()
                entry.phases = load.phases
    return story


def _clients(
    context: Context, scenario: Scenario, entry: Entry, place: Workplace, ledger: Path, expectation: Expectation
) -> None:
    """Acts in place of faults. A member that does not do what it should leaves the scenario unknown."""
    acts = Acts(context, scenario, entry, place, ledger, expectation.group)
    try:
        acts.play()
        for told in acts.finish():
            entry.settle("unknown", told)
    except UsageError:
        raise
    except KastellanError as error:
        _settle(entry, error)
        expectation.broke_off = True
    finally:
        expectation.workload_died = not acts.workloads.all_well
        acts.workloads.kill()
        acts.undo()


def _bulk(context: Context, scenario: Scenario, entry: Entry, place: Workplace, ledger: Path) -> bool:
    """Whether the load came to its end. What a broken one left in the log is read and judged all the same."""
    from validate.workload import bulk  # noqa: PLC0415  Spark's modules, only now

    topics = [{"name": topic.name, "partitions": topic.partitions} for topic in scenario.topics]
    shared = context.shared_spec(place.settings, topics)
    given = {
        **shared,
        **scenario.workload.share(1),
        "records_per_s": None,
        "ledger": str(ledger),
        "name": "loader",
        "count": scenario.workload.count,
        "seed": context.folder.seed,
    }
    spark = context.spark(sends=True)
    began_s = time.monotonic()
    try:
        with room.watched(room.Room(ledger), spark.sparkContext.cancelAllJobs) as scarce:
            producers = bulk.send(spark, given)
    except bulk.BrokeOff as error:
        _settle(entry, scarce[0] if scarce else error)
        return False
    outcomes = bulk.outcomes(spark, given["ledger"], producers)  # all is sent: no want of room ends this job
    took_s = time.monotonic() - began_s
    total = sum(outcomes.values())
    told = ", ".join(f"{count:,} {outcome}" for outcome, count in sorted(outcomes.items()))
    entry.notes.append(f"{told} in {took_s:.1f} s: {total / took_s:,.0f} records a second, ledger included.")
    context.folder.say(f"  {entry.notes[-1]}")
    return True


def _judge(context: Context, scenario: Scenario, entry: Entry, place: Workplace, ledger: Path) -> None:
    """Seal, read back, judge: in this process, as `python -m validate judge` would."""
    from validate import judge, readback  # noqa: PLC0415  Spark's modules, only now
    from validate.workload import seal  # noqa: PLC0415

    context.folder.say("  reading back and judging")
    seal.seal(ledger)
    spark = context.spark()
    shapes = [(topic.name, topic.partitions) for topic in scenario.topics]
    admin = context.cluster.client(context.cluster.admin_user)
    began_s = time.monotonic()
    back = readback.read(spark, place.settings, shapes, ledger, admin=admin)
    read_s = time.monotonic() - began_s
    problems = [*back.problems, *(_replicas(context, scenario, ledger) if scenario.expect.replicas else ())]
    for problem in problems:
        entry.settle("unknown", problem)
    findings = context.folder.place("findings", scenario.id)
    began_s = time.monotonic()
    with context.planned_for(spark, ledger):
        summary = judge.judge_ledger(spark, ledger, None, findings)
    judged_s = time.monotonic() - began_s
    verdicts = context.folder.folder("verdicts")
    (verdicts / f"{scenario.id}.json").write_text(json.dumps(summary.to_json(), indent=1) + "\n", encoding="utf-8")
    entry.settle(summary.verdict)
    for reason in [*summary.problems, *summary.reasons]:
        entry.settle(summary.verdict, reason)
    violations = {name: found["violation"] for name, found in summary.counts.items() if found["violation"]}
    if violations:
        entry.settle("failed", "violations: " + ", ".join(f"{name} {count}" for name, count in violations.items()))
    if scenario.workload.kind == "bulk":
        entry.notes.append(f"Read back in {read_s:.1f} s, judged in {judged_s:.1f} s.")
        _add_up(scenario, entry, summary)
    context.folder.say(f"  {summary.checked['acked']:,} acked, {summary.acked['found']:,} found, "
                       f"{summary.acked['lost']:,} lost")  # fmt: skip


def _add_up(scenario: Scenario, entry: Entry, summary: Summary) -> None:
    """Of a bulk load every single number is known beforehand: all of them, and their sum."""
    wanted = scenario.workload.count * len(scenario.topics)
    if summary.checked["acked"] != wanted:
        entry.settle("unknown", f"{summary.checked['acked']:,} of {wanted:,} records were acknowledged")
    if summary.acked["found"] == wanted and scenario.workload.drawn_keys is None:
        entry.notes.append(f"Each of the numbers 0 to {scenario.workload.count - 1:,} was read back, in every topic.")
    for topic, sums in sorted(summary.sums.items()):
        told = (
            f"{topic}: the random numbers sent add up to {sums['acked']:,}, those read back to {sums['found_once']:,}."
        )
        entry.notes.append(told)
        if sums["acked"] != sums["found_once"]:
            entry.settle("failed", told)


def _replicas(context: Context, scenario: Scenario, ledger: Path) -> list[str]:
    """What each broker has on its disk, batch by batch."""
    from validate.readback import replicas  # noqa: PLC0415

    hosts = [
        replicas.Host(host.node_id, host.login)
        for host in context.cluster.brokers
        if host.login is not None and host.node_id is not None
    ]
    shapes = {topic.name: topic.partitions for topic in scenario.topics}
    return replicas.collect(hosts, context.cluster.data_dirs, shapes, ledger)


def _look(scenario: Scenario, entry: Entry, ledger: Path, story: Story | None) -> None:
    """What the runner looks up besides the judge: of a broken promise failed, of what was not seen unknown."""
    expect = scenario.expect
    windows = story.windows if story else []
    looks: tuple[tuple[object, str, Callable[[], list[str]]], ...] = (
        (expect.leaderless, "unknown", lambda: never_leaderless(ledger)),
        (expect.moved and story, "failed", lambda: not_moved(ledger, windows, entry.notes)),
        (expect.silent and story, "failed", lambda: broke_silence(ledger, windows)),
        (expect.refused and story, "unknown", lambda: not_refused(ledger, windows)),
    )
    for wanted, verdict, found in looks:
        for told in found() if wanted else ():
            entry.settle(verdict, told)
    if expect.looks and entry.verdict == "passed":
        look(scenario, entry, ledger)


def _look_at_shape(context: Context, scenario: Scenario, entry: Entry, ledger: Path) -> None:
    """Whether the load was what was asked for. While something is broken it need not be."""
    if scenario.workload.shape is None:
        return
    from validate.report import latency  # noqa: PLC0415  a reader of the ledger, needed by shaped loads only

    told = latency.read(ledger / "sent").to_json()
    if told is None:
        entry.settle("unknown", "no record of the load says when it was due")
        return
    context.folder.say(f"  {latency.sentence(told)}")
    for line in latency.not_taken(told):
        if scenario.disturbs:
            entry.notes.append(line)
        else:
            entry.settle("unknown", line)


def _configured(scenario: Scenario) -> dict[str, object]:
    load = {key: value for key, value in asdict(scenario.workload).items() if value not in (None, {})}
    sending = scenario.workload.sending
    topics = {
        f"topic {t.name}": f"{t.partitions} x {t.replication} replicas, min.insync.replicas {t.min_in_sync}"
        for t in scenario.topics
    }
    return {"acks": sending["acks"], "enable.idempotence": sending["idempotent"], **load, **topics}
