"""Does the book of histories notice a wrong check? `python -m tests.mutation.judge_mutants [--only MODULE ...]`.

One Spark session; all histories that can be judged together are one ledger, the rest are judged alone, those that tell
of the mutated anomaly only. Frames are built once. Each mutant of a check replaces that check's findings, and is killed
if any history complains or the check crashes. Mutants of the shared frames need every frame and every check again:
only with --shared.
"""

from __future__ import annotations

import argparse
import importlib
import json
import sys
import tempfile
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.mutation.mutate import Mutant, mutants
from tests.spark.histories import load_book
from tests.spark.histories.batch import share, together
from tests.spark.histories.book import complaints_about_findings
from tests.spark.histories.clocks import UNCOMPARED, two_clocks
from validate import frames as preparation
from validate import session, tally
from validate.checks import table
from validate.expect import Expectation, parse, turn
from validate.first_pass import Settled
from validate.ledger.read import open_ledger
from validate.stats import count

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import SparkSession

    from tests.spark.histories.book import Story

CHECKS = Path(__file__).parents[2] / "validate/checks"
SHARED = ("frames", "classes")
HELPERS = ("finding", "unread")  # imported by name into the checks, which are loaded again after them
Findings = list[dict[str, Any]]


@dataclass
class Scene:
    """A ledger ready to be judged again; its frames are made when first asked for."""

    stories: list[Story]
    ledger: Path
    expectation: Expectation
    prefixed: bool
    spark: SparkSession
    kept: table.Frames | None = None

    def frames(self, *, anew: bool) -> table.Frames:
        if anew:
            return prepare(self.spark, self.ledger, self.expectation)
        if self.kept is None:
            self.kept = prepare(self.spark, self.ledger, self.expectation)
        return self.kept

    def complains(self, anomaly: str, found: Findings) -> bool:
        """Whether any history asked for other findings of this anomaly than these."""
        for story in self.stories:
            asked = replace(story, findings=tuple(x for x in story.findings if x.anomaly == anomaly))
            mine = share(story, found) if self.prefixed else found
            if complaints_about_findings(asked, mine, story.prefix if self.prefixed else ""):
                return True
        return False

    def tells_of(self, anomalies: set[str]) -> bool:
        """Alone, a history is asked only if its file tells of one of these anomalies, or of their absence."""
        return self.prefixed or any(story.id.split(".")[0] in _files_about(anomalies) for story in self.stories)


def _files_about(anomalies: set[str]) -> set[str]:
    told = (s.id.split(".")[0] for s in load_book().values() if anomalies & {x.anomaly for x in s.findings})
    return set(told)


def prepare(spark: SparkSession, ledger: Path, expectation: Expectation) -> table.Frames:
    opened = open_ledger(spark, str(ledger))
    return preparation.build(spark, opened, count(opened, Settled()), expectation, Settled(), None)


def findings_of(check: table.Check, frames: table.Frames, expectation: Expectation) -> Findings:
    if not frames.has.issuperset(check.needs):
        return []
    frame = check.find(frames)
    return [] if frame is None else [row.asDict() for row in turn(frame, expectation).collect()]


def scene(spark: SparkSession, stories: list[Story], where: Path, *, prefixed: bool) -> Scene:
    h = together(s.history(s.prefix) for s in stories) if prefixed else stories[0].history()
    return Scene(stories, h.write(where), parse(h.expect), prefixed, spark)


def load(module: str, source: str) -> None:
    """Run this source in the module's own place, and load again whatever took names out of it."""
    target = importlib.import_module(f"validate.checks.{module}")
    exec(compile(source, str(target.__file__), "exec"), target.__dict__)  # noqa: S102  that is what a mutant is
    if module in (*HELPERS, *SHARED):
        for path in sorted(CHECKS.glob("*.py")):
            if path.stem not in ("__init__", "table", module, *(SHARED if module in HELPERS else ())):
                other = importlib.import_module(f"validate.checks.{path.stem}")
                exec(compile(path.read_text(encoding="utf-8"), str(path), "exec"), other.__dict__)  # noqa: S102
    if module in SHARED:
        importlib.reload(preparation)


def checks_of(module: str) -> list[table.Check]:
    """Which checks a module's functions serve; a helper's serve all."""
    if module in (*HELPERS, *SHARED):
        return list(table.CHECKS)
    own = module.replace("_", "-")
    families = {"effects": ("effect-missing", "effect-repeated"), "unacked": ("unacked-read", "unacked-absent")}
    names = {*families.get(module, (own,)), *(("stuck",) if module == "outage" else ())}
    return [check for check in table.CHECKS if check.anomaly in names]


def killed(module: str, scenes: list[Scene]) -> bool:
    served = checks_of(module)
    anomalies = {check.anomaly for check in served}
    for one in (x for x in scenes if x.tells_of(anomalies)):
        try:
            frames = one.frames(anew=module in SHARED)
            for check in served:
                if one.complains(check.anomaly, findings_of(check, frames, one.expectation)):
                    return True
        except Exception:  # noqa: BLE001  a crashed check makes a verdict unknown, which every history notices
            return True
    return False


def miscounted(spark: SparkSession, ledger: Path) -> bool:
    """Pairs of two clocks are no finding: the number of those skipped must be right."""
    importlib.reload(tally)
    opened = open_ledger(spark, str(ledger))
    counted = count(opened, Settled())
    try:
        frames = preparation.build(spark, opened, counted, Expectation(), Settled(), None)
        return tally.Tally(frames, counted, Settled()).uncompared != UNCOMPARED
    except Exception:  # noqa: BLE001  as above
        return True


def modules(only: Sequence[str] | None, *, shared: bool) -> list[Path]:
    left_out = {"__init__", "table", *(() if shared else SHARED)}
    return [x for x in sorted(CHECKS.glob("*.py")) if x.stem not in left_out and (not only or x.stem in only)]


def removable(module: str) -> set[str]:
    return (
        {check.anomaly.replace("-", "_") for check in checks_of(module)} if module not in (*HELPERS, *SHARED) else set()
    )


def run(spark: SparkSession, only: Sequence[str] | None, where: Path, *, shared: bool) -> list[tuple[Mutant, bool]]:
    book = sorted(load_book().values(), key=lambda story: story.id)
    batch = [story for story in book if story.batchable()]
    scenes = [scene(spark, batch, where / "batch", prefixed=True)]
    scenes += [
        scene(spark, [story], where / story.id, prefixed=False)
        for story in book
        if not story.batchable() and not story.undecided
    ]
    clocks = two_clocks().write(where / "clocks")
    outcomes = []
    for path in modules(only, shared=shared):
        source = path.read_text(encoding="utf-8")
        counts_pairs = "_uncompared(" in source
        if killed(path.stem, scenes) or (counts_pairs and miscounted(spark, clocks)):
            raise RuntimeError(f"the unchanged {path.stem} is complained of")
        for mutant in mutants(path.stem, source, removable(path.stem)):
            load(path.stem, mutant.source)
            try:
                dead = killed(path.stem, scenes) or (counts_pairs and miscounted(spark, clocks))
            finally:
                load(path.stem, source)
            outcomes.append((mutant, dead))
            print(f"{'killed' if dead else 'SURVIVED':9} {mutant.kind:9} {mutant.where:28} {mutant.what}", flush=True)
    return outcomes


def score(outcomes: list[tuple[Mutant, bool]]) -> dict[str, Any]:
    kinds = sorted({mutant.kind for mutant, _ in outcomes})
    return {
        kind: {
            "killed": sum(dead for mutant, dead in outcomes if mutant.kind == kind),
            "of": sum(mutant.kind == kind for mutant, _ in outcomes),
        }
        for kind in kinds
    }


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="judge_mutants", description=__doc__)
    parser.add_argument("--only", metavar="MODULE", nargs="+", help="files of validate/checks, without .py")
    parser.add_argument("--shared", action="store_true", help="also the shared frames and classes: slow")
    parser.add_argument("--json", type=Path, help="write the score and the survivors here")
    args = parser.parse_args(argv)
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="judge-mutants-") as scratch:
        spark = session.start(master="local[2]", scratch=scratch)
        spark.conf.set("spark.sql.legacy.parquet.nanosAsLong", "true")
        spark.conf.set("spark.sql.caseSensitive", "true")
        try:
            outcomes = run(spark, args.only, Path(scratch), shared=args.shared)
        finally:
            spark.stop()
    result = {
        "score": score(outcomes),
        "survivors": [f"{mutant.where} {mutant.kind}: {mutant.what}" for mutant, dead in outcomes if not dead],
        "took_s": round(time.monotonic() - began),
    }
    if args.json:
        args.json.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    print(json.dumps(result["score"]))
    return 0 if not result["survivors"] else 1


if __name__ == "__main__":
    sys.exit(main())
