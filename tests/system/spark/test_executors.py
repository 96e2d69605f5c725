"""Executors that die on stack local-spark: in the middle of a load, of a run's verdict, and of `judge`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from confluent_kafka import Consumer, KafkaException, TopicPartition

from tests.system.kafka_cluster import SILENT
from tests.system.spark import running
from tests.system.spark.running import EXECUTOR_REMOVED, RUN_S, STAGE_ENDED, TASK_ENDED, Driver

if TYPE_CHECKING:
    from pathlib import Path

    from tests.system.lab import Lab

pytestmark = [pytest.mark.system, pytest.mark.spark, pytest.mark.long]

# A minute of load: time enough to die in.
SLOW = running.scenario("slowly", 60_000, ", shape: [{for_s: 60, records_per_s: 1000}]")
QUICK = running.scenario("quickly", 20_000)
JUDGING = "reading back and judging"


def written(lab: Lab) -> int:
    """Records in the log of the load's topic."""
    consumer = Consumer({**running.bundle(lab), "group.id": "kastellan-looks"}, logger=SILENT)
    try:
        places = [TopicPartition("kastellan-three", number) for number in range(3)]
        return sum(consumer.get_watermark_offsets(place, timeout=10)[1] for place in places)
    except KafkaException:
        return 0
    finally:
        consumer.close()


def test_one_that_dies_in_a_load_leaves_it_unknown_and_nothing_is_a_phantom(lab: Lab, tmp_path: Path) -> None:
    driver = Driver(lab, tmp_path)
    with driver.load("slow-load", SLOW) as process:
        running.meanwhile(process, lambda: driver.claims() >= 2 and written(lab) > 3000)
        assert running.kill_executors(lab) >= 1
        said, _ = process.communicate(timeout=RUN_S)
    entry, summary = driver.entry(), driver.summary("slow-load")
    assert (process.returncode, entry["verdict"]) == (2, "unknown"), said[-3000:]
    assert any("The bulk load broke off." in reason for reason in entry["reasons"]), entry["reasons"]
    # It was sealed, read back and judged: what it may have sent is unknown, and all that is there was reserved.
    assert summary["checked"]["log"] > 3000
    assert summary["counts"]["unacked-read"]["allowed"] == summary["checked"]["log"]
    assert {name: found["violation"] for name, found in summary["counts"].items() if found["violation"]} == {}
    assert EXECUTOR_REMOVED in driver.events()


def test_one_that_dies_while_a_run_reads_back_and_judges_changes_nothing(lab: Lab, tmp_path: Path) -> None:
    driver = Driver(lab, tmp_path)
    with driver.load("quick-load", QUICK) as process:
        running.meanwhile(process, lambda: JUDGING in driver.log())
        loaded = driver.events().count(STAGE_ENDED)
        running.meanwhile(process, lambda: driver.events().count(STAGE_ENDED) > loaded)
        assert running.kill_executors(lab) >= 1
        said, _ = process.communicate(timeout=RUN_S)
    entry, summary = driver.entry(), driver.summary("quick-load")
    assert (process.returncode, entry["verdict"], entry["reasons"]) == (0, "passed", []), said[-3000:]
    assert summary["acked"]["found"] == summary["checked"]["acked"] == 20_000
    # In the middle: tasks were done after it died.
    assert TASK_ENDED in driver.events().rpartition(EXECUTOR_REMOVED)[2]


def test_one_that_dies_under_judge_changes_nothing(lab: Lab, tmp_path: Path) -> None:
    (tmp_path / "first").mkdir()
    (tmp_path / "second").mkdir()
    first = Driver(lab, tmp_path / "first")
    with first.load("quick-load", QUICK) as process:
        said, _ = process.communicate(timeout=RUN_S)
    assert first.entry()["verdict"] == "passed", said[-3000:]
    ledger = (first.run / "ledger").resolve() / "quick-load"
    driver = Driver(lab, tmp_path / "second")
    # Findings go where executors write: beside the ledger, in the run's own folder of them.
    with driver.judge(ledger, ledger.parents[1] / "findings" / "again") as process:
        running.meanwhile(process, lambda: driver.events().count(STAGE_ENDED) >= 1)
        assert running.kill_executors(lab) >= 1
        said, _ = process.communicate(timeout=RUN_S)
    summary = json.loads(said[said.index("{") :])
    assert process.returncode == 0, said[-3000:]
    assert {key: summary[key] for key in ("verdict", "checked", "acked", "counts")} == first.summary("quick-load")
    assert TASK_ENDED in driver.events().rpartition(EXECUTOR_REMOVED)[2]
