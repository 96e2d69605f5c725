"""What a benchmark says: the rivals' own words are read right, and a table tells speeds, goals and the machine."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.bench import hand_tools, harness, validate_bench
from tests.unit.validate.control import cluster

if TYPE_CHECKING:
    from collections.abc import Iterator

    from validate.cluster import Host

LINE = (
    "2026-11-19 07:00:00:100, 2026-11-19 07:00:05:100, 190.7349, 38.1470, 2000000, 400000.0000, 3000, 2000, 95.3674, "
    "1000000.0000"
)


def test_the_consumer_perf_test_is_taken_at_its_word() -> None:
    told = f"[2026-11-19 07:00:00,000] WARN something, else (x)\n{LINE}\n"
    assert validate_bench.consumed(told, 2_000_000) == (5.0, 2.0)


@pytest.mark.parametrize("told", ["", "Exiting before consuming\n", LINE.replace("2000000, ", "1999999, ")])
def test_one_that_did_not_read_everything_is_no_figure(told: str) -> None:
    with pytest.raises(SystemExit, match="did not read all 2000000 records"):
        validate_bench.consumed(told, 2_000_000)


@pytest.mark.parametrize(
    "wrong", [{"verdict": "unknown"}, {"found": 9}, {"problems": ["t-0 is unreadable from offset 5"]}]
)
def test_a_reading_that_was_not_whole_is_no_figure(
    wrong: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench = validate_bench.Bench.__new__(validate_bench.Bench)
    bench.folder, bench.client, bench._records = tmp_path, {}, 10
    said = {"verdict": "passed", "found": 10, "problems": [], "read_s": 2.0, "judged_s": 3.0}
    monkeypatch.setattr(bench, "_script", lambda *_: said)
    assert bench.reading() == 5.0
    said |= wrong
    with pytest.raises(SystemExit, match="Read and judged"):
        bench.reading()


LIVE = "\x1b[2Kproducer-1  1,000 acked, 7 in flight, 900 a second  [t-0 1,000]\r\n"
LAST = "producer-1  2,000,000 acked, 400,000 a second  [t-0 2,000,000]\r\nledger x; judge it: ...\r\n"


def test_a_hand_tool_is_taken_at_its_last_word() -> None:
    assert hand_tools.took_s(LIVE + LAST, 2_000_000) == 5.0
    read = LAST.replace("acked", "delivered")  # a batch more than was asked for
    assert hand_tools.took_s(LIVE + read, 1_999_900) == 5.0


@pytest.mark.parametrize(
    ("shown", "told"),
    [
        ("", "did not do all 2000000 records"),
        (LIVE + LAST.replace("2,000,000 acked", "1,999,999 acked"), "did not do all"),
        (LIVE + LAST.replace("400,000 a", "0 a"), "did not do all"),
        (LAST, "no live display"),
    ],
)
def test_one_that_did_less_or_showed_nothing_meanwhile_is_no_figure(shown: str, told: str) -> None:
    with pytest.raises(SystemExit, match=told):
        hand_tools.took_s(shown, 2_000_000)


def test_a_tool_of_the_bench_has_a_terminal_and_its_failure_is_shown() -> None:
    program = "import sys; print(sys.stdout.isatty()); sys.exit({})"
    assert hand_tools.on_terminal([sys.executable, "-c", program.format(0)]).split() == ["True"]
    with pytest.raises(SystemExit, match=r"ended with 3:\s+True"):
        hand_tools.on_terminal([sys.executable, "-c", program.format(3)])


def test_disks_that_cannot_hold_what_lies_there_at_once_are_told_before_anything_is_written(tmp_path: Path) -> None:
    """A run of two million records of 1 KiB is 1.6 GB on each of four hosts, and two old ones may still be there."""
    free = {"broker-1": 5 * 10**9, "broker-2": 5 * 10**9, "broker-3": 4 * 10**9, "broker-4": 5 * 10**9}
    asked: list[str] = []

    def shell(host: Host, script: str, *, timeout_s: float) -> str:
        assert timeout_s > 0
        asked.append(script)
        return str(free[host.name])

    at_hand = cluster(tmp_path)
    with pytest.raises(SystemExit, match=r"broker-3 has 4.0 GB free .* 4.9 GB .* --records \d+ fits") as told:
        validate_bench.require_room(at_hand, 2_000_000, shell)
    assert at_hand.data_dirs[0] in asked[0]
    least = int(str(told.value).partition("--records ")[2].split()[0])
    validate_bench.require_room(at_hand, least, shell)


def test_the_table_tells_speeds_goals_and_the_machine() -> None:
    good = harness.Ratio("ours by theirs", [4.0, 5.0, 9.0], [4.0, 4.0, 1.0], 5 / 4, 1 / 0.7)
    bad = harness.Ratio("slow by quick", [10.0], [1.0], 10.0, 1 / 0.4)
    lines = harness.table([good, bad], 2_000_000).splitlines()
    assert (
        lines[2]
        == "| ours by theirs | 400,000 [222,222..500,000] | 500,000 [500,000..2,000,000] | 0.80 | \u2265 0.70, reached |"
    )
    assert (
        lines[3]
        == "| slow by quick | 200,000 [200,000..200,000] | 2,000,000 [2,000,000..2,000,000] | 0.10 | \u2265 0.40, missed |"
    )
    assert re.search(
        r"^2,000,000 records, medians of 3 pairs in turn \[slowest..quickest\]; \d{4}-\d\d-\d\d, \d+ cores \(.+\), [\d,]+ MiB",
        lines[-1],
    )


def test_a_machine_that_does_not_name_its_processor_is_told_as_that(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not every architecture does."""
    told = {"/proc/cpuinfo": "processor\t: 0\nprocessor\t: 1\n", "/proc/meminfo": ""}
    monkeypatch.setattr(Path, "read_text", lambda self, **_: told[str(self)])
    facts = harness.machine()
    assert (facts["cpu"], facts["cores"], facts["memory_mib"]) == ("unknown", 2, 0)


def test_records_and_goals_are_those_that_were_promised() -> None:
    assert validate_bench.RECORDS == 2_000_000
    assert harness.PAIRS >= 5
    goals = [
        round(1 / goal, 2)
        for goal in (*validate_bench.GOALS.values(), validate_bench.LEDGER_GOAL, validate_bench.READ_GOAL)
    ]
    assert goals == [0.7, 0.95, 0.8, 0.4]
    assert {name: round(1 / goal, 2) for name, goal in validate_bench.HAND_GOALS.items()} == {
        "produce": 0.6, "consume": 0.4,
    }  # fmt: skip


def test_what_was_measured_is_kept_when_a_later_part_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(harness, "RESULTS", tmp_path)

    def measured() -> Iterator[harness.Ratio]:
        yield harness.Ratio("first", [1.0], [1.0], 1.0, None)
        raise SystemExit("the disk is full")

    with pytest.raises(SystemExit, match="the disk is full"):
        validate_bench.tell(measured(), 10)
    (kept,) = json.loads((tmp_path / "validate.json").read_text(encoding="utf-8"))["ratios"]
    assert kept["name"] == "first"


def test_a_bench_that_measured_nothing_takes_no_figures_away(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(harness, "RESULTS", tmp_path)
    good = harness.Ratio("first", [1.0], [1.0], 1.0, None)
    assert harness.run("wire", [good]) == 0

    def failing() -> Iterator[harness.Ratio]:
        yield from ()
        raise SystemExit("no hosts")

    with pytest.raises(SystemExit, match="no hosts"):
        harness.run("wire", failing())
    with pytest.raises(SystemExit, match="no hosts"):
        validate_bench.tell(failing(), 10)
    assert len(json.loads((tmp_path / "wire.json").read_text(encoding="utf-8"))["ratios"]) == 1
    assert not (tmp_path / "validate.json").exists()
    assert harness.run("wire", []) == 1, "nothing measured is no goal reached"
