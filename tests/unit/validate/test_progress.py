"""Phases of a run, told from its faults."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from validate.frames import fault_spans
from validate.ledger.read import Fault
from validate.progress import phases

START = datetime(2026, 3, 1, 12, tzinfo=UTC)


def at(seconds: float) -> datetime:
    return START + timedelta(seconds=seconds)


def fault(phase: str, seconds: float, target: str = "broker-1") -> Fault:
    return Fault("kill", target, phase, at(seconds))


def test_without_a_fault_there_is_one_phase() -> None:
    assert [(p.name, p.length_s) for p in phases(at(0), at(30), [])] == [("run", 30)]


def test_a_fault_parts_the_run_in_three() -> None:
    spans = phases(at(0), at(60), [fault("begin", 9), fault("bit", 10), fault("healed", 40)])
    assert [(p.name, p.length_s) for p in spans] == [("before", 10), ("during", 30), ("after", 20)]


def test_several_faults_are_one_stretch() -> None:
    spans = phases(at(0), at(90), [fault("bit", 10), fault("healed", 20), fault("bit", 30), fault("healed", 50)])
    assert [p.length_s for p in spans] == [10, 40, 40]


def test_a_fault_that_never_healed_leaves_nothing_after() -> None:
    spans = phases(at(0), at(60), [fault("begin", 10), fault("bit", 12)])
    assert [p.length_s for p in spans] == [12, 48, 0]


def test_spans_of_faults() -> None:
    rows = [fault("begin", 1), fault("bit", 2), fault("begin", 3, "broker-2"), fault("healed", 5)]
    assert fault_spans(rows) == [("kill broker-1", at(1), at(5)), ("kill broker-2", at(3), None)]
