"""The cost model against what really lies on disks, and docs/reference/scale.md against the model."""

from __future__ import annotations

import json
import re
from array import array
from pathlib import Path

import pytest
from kafka.record.default_records import DefaultRecordBatchBuilder

from common.errors import UsageError
from validate import plan
from validate.__main__ import main
from validate.verbs.plan import shown
from validate.workload import journal
from validate.workload.block import Block

PAGE = (Path(__file__).resolve().parents[3] / "docs" / "reference" / "scale.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("size", [100, 1024, 10_000])
def test_a_record_in_a_brokers_log_is_as_large_as_a_clients_batch_says(size: int) -> None:
    made = DefaultRecordBatchBuilder(
        magic=2, compression_type=0, is_transactional=False, producer_id=7, producer_epoch=0, base_sequence=0,
        batch_size=plan.BATCH_BYTES,
    )  # fmt: skip
    count = 0
    while made.append(count, timestamp=1_772_366_400_000 + count // 2, key=None, value=b"x" * size, headers=[]):
        count += 1
    # Times and offsets in the batch take one or two bytes each, in a short one mostly one.
    assert len(made.build()) / count == pytest.approx(plan.record_bytes(size), abs=2)


def test_a_journal_is_as_large_as_the_model_says(tmp_path: Path) -> None:
    writer = journal.Writer(tmp_path / "w.journal")
    block = Block(0, 0, 1, array("I", range(1000)), array("I", range(1000)))
    for content in (block.reservation(), block.results()):
        writer.append(content)
    writer.close()
    assert (tmp_path / "w.journal").stat().st_size / 1000 == pytest.approx(plan.JOURNAL_BYTES, abs=0.05)


@pytest.mark.parametrize("records", [1, 10**6, 10**9, 10**11])
@pytest.mark.parametrize("cores", [2, 64])
def test_partitions_keep_every_bound(records: int, cores: int) -> None:
    made = plan.plan(plan.Wish(records, cores=cores))
    every = made.topics * made.partitions
    assert made.records_per_partition * every >= records
    assert made.records_per_partition * made.partitions <= plan.MOST_OF_A_TOPIC + made.partitions
    assert made.records_per_partition * plan.record_bytes(100) <= 8 * 2**30 * 1.001 + 200
    assert every >= cores * plan.TASKS_PER_CORE


def test_what_is_not_measured_is_left_open_and_what_is_given_counts() -> None:
    lines = {line.what: line for line in plan.plan(plan.Wish(10**6, load_per_s=50_000.0)).lines}
    assert (lines["load"].value, lines["load"].source) == (20.0, plan.GIVEN)
    assert lines["judge, if all adds up"].value == pytest.approx(7.08, abs=0.01)
    assert lines["judge, if all adds up"].source == plan.SCALED
    lines = {line.what: line for line in plan.plan(plan.Wish(10**6, judge_per_s=500_000.0)).lines}
    assert (lines["judge, if all adds up"].value, lines["judge, if all adds up"].source) == (2.0, plan.GIVEN)
    assert (lines["load"].value, lines["load"].source) == (None, plan.OPEN)
    wide = {line.what: line for line in plan.plan(plan.Wish(10**6, value_bytes=1024)).lines}
    assert (wide["final read"].value, wide["final read"].source) == (None, plan.OPEN)
    assert shown(lines["load"]) == "not measured, say --load-per-s"
    assert shown(plan.Line("x", "y", 0, "B", plan.SCALED)) == "0.0 B"


@pytest.mark.parametrize(
    ("records", "read_s", "judge_s"), [(2_000_000, 7.9, 7.7), (20_000_000, 31.5, 20.3), (100_000_000, 125.3, 64.1)]
)
def test_seconds_are_near_what_was_measured_on_two_cores(records: int, read_s: float, judge_s: float) -> None:
    lines = {line.what: line.value for line in plan.plan(plan.Wish(records, cores=2)).lines}
    assert lines["final read"] == pytest.approx(read_s, rel=0.15)
    assert lines["judge, if all adds up"] == pytest.approx(judge_s, rel=0.15)


def test_the_verb(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", "--records", "1e9", "--cores", "64", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["topics"], told["partitions"]) == (1, 192)
    assert main(["plan", "--records", "nan"]) == 64
    assert main(["plan", "--records", "0"]) == 64
    assert main(["plan", "--records", "5", "--partition-gib", "nan"]) == 64
    with pytest.raises(UsageError, match="cores is 0"):
        plan.plan(plan.Wish(5, cores=0))


@pytest.mark.parametrize(("records", "cores"), [("1e9", 64), ("1e11", 512)])
def test_the_pages_plans_are_what_the_verb_says(records: str, cores: int, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", "--records", records, "--cores", str(cores)]) == 0
    said = capsys.readouterr().out
    blocks = re.findall(r"```\n(.*?)```", PAGE, re.DOTALL)
    assert any(block == f"$ python -m validate plan --records {records} --cores {cores}\n{said}" for block in blocks)


def test_the_page_names_the_models_figures() -> None:
    for figure in (plan.SENT_BYTES, plan.LOG_BYTES, plan.JOURNAL_BYTES, plan.SEAL_MEMORY_BYTES):
        assert f"| {figure} B" in PAGE
    for start_s, core_s in ((plan.READ_START_S, plan.READ_CORE_S), (plan.JUDGE_START_S, plan.JUDGE_CORE_S)):
        assert f"| {start_s} s and {core_s * 1e6:.3g} us of one core" in PAGE
