"""The judge: a ledger in, the truth out. Reads nothing but the ledger and the expectation."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from common.errors import KastellanError
from validate import clean, output
from validate import frames as preparation
from validate.checks.finding import FINDING, VIOLATION
from validate.checks.table import CHECKS
from validate.expect import Expectation, load, merge_verdicts, parse, turn
from validate.first_pass import Settled, set_aside, settle
from validate.ledger.files import broken_inside
from validate.ledger.read import is_url, open_ledger
from validate.progress import shortfalls
from validate.session import SMALL_BYTES, planned_for
from validate.stats import count
from validate.summary import Summary
from validate.tally import Tally

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from validate.checks.table import Frames
    from validate.ledger.read import Ledger

EXPECT_FILE = "EXPECT.yml"


def judge_ledger(
    spark: SparkSession, ledger_dir: Path | str, expect: dict[str, Any] | None, out_dir: Path | str
) -> Summary:
    """Judge one ledger by an expectation (None: the ledger's own EXPECT.yml if it has one) into `out_dir`."""
    expectation = parse(expect) if expect is not None else expectation_beside(str(ledger_dir))
    return judge(spark, str(ledger_dir), expectation, str(out_dir))


def expectation_beside(place: str) -> Expectation:
    path = Path(place) / EXPECT_FILE
    return load(path) if not is_url(place) and path.exists() else Expectation()


def judge(
    spark: SparkSession, place: str, expectation: Expectation, out: str, *, sums_first: bool | None = None
) -> Summary:
    """The whole judgement; what cannot be read becomes a problem of the summary, not an exception.

    `sums_first` settles what adds up before anything is joined; by default where the ledger is large enough to gain.
    """
    _prepare(spark)
    ledger = open_ledger(spark, place)
    if sums_first is None:
        sums_first = ledger.size_bytes >= SMALL_BYTES or is_url(place)
    try:
        return _judge_opened(spark, ledger, expectation, out, sums_first=sums_first)
    except Exception as error:
        if isinstance(error, KastellanError) and not isinstance(error, output.BrokenError):
            raise
        broken = broken_inside(batch for batches in ledger.batches.values() for batch in batches)
        if not broken:
            raise
    # What is broken is told, and what violations the rest shows.
    ledger = open_ledger(spark, place, without=broken)
    return _judge_opened(spark, ledger, expectation, out, sums_first=sums_first)


def _judge_opened(
    spark: SparkSession, ledger: Ledger, expectation: Expectation, out: str, *, sums_first: bool
) -> Summary:
    """The judgement of what could be opened."""
    all_sent = ledger.tables.get("sent")
    try:
        settled = settle(spark, ledger, expectation) if sums_first else Settled()
        set_aside(ledger, settled)
    except Exception as error:  # a file whose content is broken behind a good footer
        raise output.unreadable(error) from error
    aside = settled.partitions and not (settled.unsettled or settled.untimed or expectation.progress)
    rest = [size for table, size in ledger.sizes.items() if not (aside and table in ("sent", "log"))]
    with planned_for(spark, sum(rest)) if aside else nullcontext():
        return _judge_rest(spark, ledger, settled, all_sent, expectation, out)


def _judge_rest(
    spark: SparkSession,
    ledger: Ledger,
    settled: Settled,
    all_sent: DataFrame | None,
    expectation: Expectation,
    out: str,
) -> Summary:
    """What the first pass did not settle."""
    try:
        counted = count(ledger, settled)
    except Exception as error:
        raise output.unreadable(error) from error
    if clean.is_clean(ledger, settled, counted, expectation) and not is_url(out):
        return clean.summary(settled, counted, out)
    frames = preparation.build(spark, ledger, counted, expectation, settled, all_sent)
    summary = _decide(spark, ledger, Tally(frames, counted, settled), expectation, frames, out)
    if expectation.progress and all_sent is not None:
        summary.miss(shortfalls(all_sent, frames.bounds, ledger.faults, expectation.progress))
    return summary


def _prepare(spark: SparkSession) -> None:
    """What reading relies on, also in a session that somebody else made."""
    for key, value in (
        ("spark.sql.session.timeZone", "UTC"),
        ("spark.sql.legacy.parquet.nanosAsLong", "true"),
        ("spark.sql.caseSensitive", "true"),
    ):
        spark.conf.set(key, value)


def _decide(
    spark: SparkSession, ledger: Ledger, tally: Tally, expectation: Expectation, frames: Frames, out: str
) -> Summary:
    frames = replace(frames, seen=tally.seen)
    found, reasons = found_by_checks(spark, frames)
    reasons += output.write([(name, turn(frame, expectation)) for name, frame in found], out)
    written = output.Written(spark, out)
    excess = [told for rule in expectation.rules if (told := rule.excess(written.seen(rule))) is not None]
    reasons += [told for rule in expectation.rules if (told := rule.shortfall(written.seen(rule))) is not None]
    reasons += tally.reasons
    failed = bool(excess) or any(numbers[VIOLATION] for numbers in written.counts.values())
    verdict = merge_verdicts(["failed" if failed else "passed", "unknown" if reasons else "passed"])
    incomplete = bool(ledger.problems)
    return Summary(
        verdict="unknown" if incomplete else verdict,
        checked=tally.checked,
        acked=tally.acked,
        counts=written.counts,
        sums=tally.sums,
        findings=written.first(inconclusive=incomplete),
        findings_path=out,
        reasons=excess + reasons,
        problems=[str(problem) for problem in ledger.problems],
        uncompared=tally.uncompared,
    )


def found_by_checks(spark: SparkSession, frames: Frames) -> tuple[list[tuple[str, DataFrame]], list[str]]:
    """The findings of every check that has something to read. One that cannot even be planned is named and left out."""
    found: list[tuple[str, DataFrame]] = []
    crashed: list[str] = []
    for check in CHECKS:
        if not frames.has.issuperset(check.needs) or (check.when and not any(map(frames.seen.get, check.when))):
            continue
        try:
            frame = check.find(frames)
        except Exception as error:  # noqa: BLE001  a crashed check is unknown, never passed
            crashed.append(output.crash(check.anomaly, error))
            continue
        if frame is not None:
            found.append((check.anomaly, frame.select(*FINDING)))
    return found or [("", output.nothing(spark))], crashed
