"""The parts that count and word: sums by Arrow, outages, JUnit, what differs between two runs, where runs lie."""

from __future__ import annotations

import copy
import json
import random
import xml.etree.ElementTree as ET
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from common.errors import EXIT_FAILED, EXIT_USAGE, UsageError
from tests.unit.validate.report import lives, runs
from validate import report
from validate.__main__ import main
from validate.report import outages, series, words
from validate.report.compare import compare, shown
from validate.report.faults import fault_spans, isr_spans
from validate.report.places import find

if TYPE_CHECKING:
    from pathlib import Path

US = 1_000_000


def sent(folder: Path, rows: list[dict[str, Any]], unit: str = "us") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    time = pa.timestamp(unit, tz="UTC")
    kinds = [
        ("topic", pa.string()),
        ("partition", pa.int32()),
        ("outcome", pa.string()),
        ("invoked_at", time),
        ("done_at", time),
    ]
    pq.write_table(
        pa.Table.from_pylist(rows, schema=pa.schema(kinds)), folder / f"part-{len(list(folder.iterdir()))}.parquet"
    )
    return folder


def row(second: float, outcome: str = "acked", done: float | None = 0.0, partition: int = 0) -> dict[str, Any]:
    at = runs.START + timedelta(seconds=second)
    ended = None if done is None else at + timedelta(seconds=done)
    return {"topic": "t", "partition": partition, "outcome": outcome, "invoked_at": at, "done_at": ended}


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_times_of_every_unit_land_in_the_same_bucket(unit: str, tmp_path: Path) -> None:
    found = series.read(sent(tmp_path, [row(0), row(1), row(1, done=1), row(1, "unknown", None)], unit))
    assert found.counts["t"][0]["acked"] == [1, *[0] * 9, 1, *[0] * 9, 1]
    assert found.counts["t"][0]["unknown"][10] == 1
    assert found.problems == []


def test_sums_agree_with_counting_one_by_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(series, "_ROWS_AT_ONCE", 50)
    monkeypatch.setattr(series, "_MERGE_AT", 20)
    chance = random.Random(7)
    rows = [
        row(round(chance.random() * 9, 3), chance.choice(series.OUTCOMES), partition=chance.randrange(3))
        for _ in range(900)
    ]
    for part in range(3):
        sent(tmp_path, rows[part::3])
    found = series.read(tmp_path)
    counted: dict[tuple[int, str, int], int] = {}
    for x in rows:
        bucket = ((x["done_at"] - runs.START) // timedelta(milliseconds=100)) - (
            found.start_us // 100_000 - int(runs.START.timestamp()) * 10
        )
        counted[x["partition"], x["outcome"], bucket] = counted.get((x["partition"], x["outcome"], bucket), 0) + 1
    told = {(p, o, i): n for p, by in found.counts["t"].items() for o, ns in by.items() for i, n in enumerate(ns) if n}
    assert told == counted


def test_a_long_run_takes_wider_steps_and_loses_nothing(tmp_path: Path) -> None:
    found = series.read(sent(tmp_path, [row(0), row(0.15), row(7_200), row(7_201)]))
    assert found.step_ms == 500 or found.step_ms == 200  # noqa: PLR1714
    assert found.buckets <= series.MOST_BUCKETS + 1
    assert found.total("acked") == 4
    assert found.counts["t"][0]["acked"][0] == 2


def test_a_mad_clock_does_not_fill_the_memory(tmp_path: Path) -> None:
    found = series.read(
        sent(tmp_path, [row(0), {**row(0), "invoked_at": None, "done_at": runs.START.replace(year=1971)}])
    )
    assert found.total("acked") == 2
    assert found.buckets <= series.MOST_BUCKETS + 1


def test_no_ledger_and_an_empty_one_have_no_timeline(tmp_path: Path) -> None:
    assert series.read(tmp_path / "nowhere").to_json() == {"start": None, "step_ms": 100, "buckets": 0, "topics": {}}
    assert series.read(sent(tmp_path / "empty", [])).buckets == 0


@pytest.mark.parametrize(
    ("probes", "wanted"),
    [
        ([(0, 1, "ok"), (10, 11, "ok")], []),
        ([(0, 1, "ok"), (10, 12, "failed"), (20, 22, "failed"), (30, 31, "ok")], [(1, 31, 12, False)]),
        ([(10, 12, "failed"), (30, 31, "ok")], [(10, 31, 2, False)]),  # none before: the first probe opens it
        ([(0, 1, "ok"), (10, 12, "failed")], [(1, 12, 2, True)]),  # none after: the last sign of life
        ([(0, 1, "ok"), (10, None, "unknown"), (30, 31, "ok")], [(1, 31, 0, False)]),
        ([(0, 1, "ok"), (1, 3, "failed"), (9, 10, "ok")], [(1, 10, 2, False)]),  # sent at the moment of an ok
        ([(0, 1, "ok"), (10, 22, "failed"), (15, 16, "ok"), (20, 21, "ok")], [(1, 16, 6, False), (16, 21, 5, False)]),
    ],
)
def test_an_outage_reaches_from_ok_to_ok(probes: list[Any], wanted: list[Any]) -> None:
    scaled = [(a * US, None if b is None else b * US, c) for a, b, c in probes]
    last = [x for x in outages.spans(scaled) if x.high_s > 0]
    got = [(x.since_us // US, x.until_us // US, x.low_s, x.open) for x in last]
    assert got[: len(wanted)] == wanted
    assert len(got) == len(wanted) or got[-1][3]


def test_faults_are_paired_and_an_unhealed_one_has_no_end() -> None:
    at = "2026-11-18T07:00:{:02d}Z"
    rows = [
        {"fault": "kill", "target": "b", "phase": phase, "at": at.format(second), "detail": detail}
        for phase, second, detail in (
            ("begin", 1, ""),
            ("bit", 2, "gone"),
            ("healed", 9, ""),
            ("begin", 20, ""),
            ("bit", 21, ""),
        )
    ]
    rows.append({"fault": "stop", "target": "b", "phase": "begin", "at": "half past seven"})
    first, second = fault_spans(rows)
    assert (first["bit"], first["healed"], first["detail"]) == (
        "2026-11-18T07:00:02.000Z",
        "2026-11-18T07:00:09.000Z",
        "gone",
    )
    assert (second["begin"], second["healed"]) == ("2026-11-18T07:00:20.000Z", None)


def test_what_comes_after_healing_is_another_fault() -> None:
    rows = [
        {"fault": "kill", "target": "b", "phase": phase, "at": f"2026-11-18T07:00:0{i}Z"}
        for i, phase in enumerate(("begin", "healed", "bit"))
    ]
    first, second = fault_spans(rows)
    assert first["bit"] is None
    assert second["bit"] == "2026-11-18T07:00:02.000Z"


def test_in_sync_states_that_repeat_are_one() -> None:
    base = {"topic": "t", "partition": 0, "leader": 1}
    at = "2026-11-18T07:00:0{}Z"
    rows = [{**base, "at": at.format(i), "isr": isr} for i, isr in enumerate(([2, 1], [1, 2], [1], [1, 2]))]
    (one,) = isr_spans(rows)
    assert [x["isr"] for x in one["states"]] == [[1, 2], [1], [1, 2]]
    assert (one["least"], one["leaders"], one["replicas"]) == (1, 1, [2, 1])


def test_words_for_lengths() -> None:
    told = [words.seconds(x) for x in (0.0021, 9.44, 150, 7_260)]
    assert told == ["2 ms", "9.4 s", "2 min 30 s", "2 h 1 min"]


def test_losses_that_settings_allow_are_said_so() -> None:
    totals = {
        "judged": 1,
        "acked": 10,
        "found": 8,
        "lost": 2,
        "lost_expected": 2,
        "repeated": 0,
        "expired": 0,
        "withdrawn": 1,
        "undecided": 0,
    }
    assert "2 were lost (all where the settings allow it)" in words.of_records(totals)
    assert "1 gone with transactions" in words.of_records(totals)


def test_junit_has_one_case_a_scenario_and_each_verdict_its_tag(made: Path) -> None:
    suite = ET.parse(made / "junit.xml").getroot()[0]  # noqa: S314  our own file
    assert {name: suite.get(name) for name in ("tests", "failures", "errors", "skipped")} == {
        "tests": "5", "failures": "1", "errors": "1", "skipped": "1",
    }  # fmt: skip
    tags = {case.get("name"): [x.tag for x in case if x.tag != "system-out"] for case in suite.iter("testcase")}
    assert tags == {
        "baseline": [], "stop-one-broker": [], "kill-leader": ["failure"], "isolate-leader": ["error"],
        "kill-coordinator": ["skipped"],
    }  # fmt: skip
    failure = next(suite.iter("failure"))
    assert failure.get("message") == "lost was to happen at most 0 times, seen 1500"
    assert "lost 1500" in str(failure.text)
    assert {x.get("name"): x.get("value") for x in suite.iter("property")}["cluster_id"] == "MkU3OEVBNTcwNTJENDM2Qg"


def test_junit_survives_what_xml_cannot_hold(tmp_path: Path) -> None:
    life = lives.isolated(per_s=5)
    life.reasons = ["broker said \x00\x1b[31m<&>"]
    ET.parse(report.write(runs.write(tmp_path / "run", [life])).junit)  # noqa: S314  our own file


def test_the_same_run_does_not_differ_from_itself(told: Any) -> None:
    difference = compare(told, told)
    assert difference["differences"] == difference["worse"] == difference["settings"] == []
    assert "Nothing got worse." in shown(difference)


def test_what_got_worse_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    good = lives.killed(0, per_s=5)
    good.verdict, good.reasons, good.findings = "passed", [], []
    before = runs.write(tmp_path / "before", [lives.baseline(per_s=5), good])
    slow = lives.baseline(per_s=3)
    after = runs.write(tmp_path / "after", [slow, lives.killed(20, per_s=5), lives.stopped(per_s=5)], seed=43)
    out = tmp_path / "difference.json"
    assert main(["compare", str(before), str(after), "--out", str(out)]) == EXIT_FAILED
    said = capsys.readouterr().out
    assert "run: seed: 42 -> 43" in said
    assert "WORSE" in said
    rows = {(x["scenario"], x["what"]): x for x in json.loads(out.read_text(encoding="utf-8"))["differences"]}
    assert rows["kill-leader", "verdict"] == {
        "scenario": "kill-leader",
        "what": "verdict",
        "before": "passed",
        "after": "failed",
        "worse": True,
    }
    assert (rows["kill-leader", "lost (violation)"]["before"], rows["kill-leader", "lost (violation)"]["after"]) == (
        0,
        20,
    )
    assert rows["kill-leader", "longest outage of Topic_Four (fresh write), s"]["after"] == 13.1
    assert rows["baseline", "acked per s, phase run"]["after"] < rows["baseline", "acked per s, phase run"]["before"]
    assert rows["stop-one-broker", "verdict"]["before"] is None
    assert main(["compare", str(after), str(before), "--out", str(tmp_path / "difference.txt")]) == 0
    assert (tmp_path / "difference.txt").read_text(encoding="utf-8") == capsys.readouterr().out


def test_more_violations_of_another_kind_are_worse(told: Any) -> None:
    after = copy.deepcopy(told)
    counts = next(x for x in after["scenarios"] if x["id"] == "kill-leader")["summary"]["counts"]
    counts["gap"]["allowed"] += 5
    assert compare(told, after)["worse"] == []
    counts["outage"]["violation"] += 1
    assert compare(told, after)["worse"] == ["kill-leader: outage (violation)"]


def test_report_makes_it_again_and_leaves_with_the_verdict(own: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (own / "report.html").unlink()
    assert main(["report", str(own)]) == EXIT_FAILED
    assert (own / "report.html").exists()
    assert capsys.readouterr().out.startswith("failed  The cluster broke")


def test_runs_are_found_by_id_by_path_and_by_age(tmp_path: Path) -> None:
    for stack, name in (
        ("local", "20261118T070000Z-s1"),
        ("local", "20261119T070000Z-s1"),
        ("static", "20261118T070000Z-s1"),
    ):
        folder = tmp_path / ".kastellan" / stack / "runs" / name
        folder.mkdir(parents=True)
        (folder / "run.json").touch()
    runs_of = tmp_path / ".kastellan" / "local" / "runs"
    assert find(None, root=tmp_path) == runs_of / "20261119T070000Z-s1"
    assert find(None, "static", root=tmp_path).parent.parent.name == "static"
    assert find("20261119T070000Z-s1", root=tmp_path) == runs_of / "20261119T070000Z-s1"
    assert find("20261118T070000Z-s1", "local", root=tmp_path) == runs_of / "20261118T070000Z-s1"
    assert find(str(runs_of / "20261118T070000Z-s1"), root=tmp_path) == runs_of / "20261118T070000Z-s1"
    with pytest.raises(UsageError, match="Several stacks"):
        find("20261118T070000Z-s1", root=tmp_path)
    with pytest.raises(UsageError) as caught:
        find("20261119T070000Z-s2", root=tmp_path)
    assert "did you mean '20261119T070000Z-s1'" in caught.value.resolution


@pytest.mark.parametrize("argv", [["report", "nowhere/at/all"], ["compare", "one"], ["report", "a", "b"]])
def test_a_wrong_call_is_64(argv: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(argv) == EXIT_USAGE
    assert capsys.readouterr().err
