"""The same tests run for both modes: what is not run with ZooKeeper is a short list with reasons, and nothing else."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest

from tests.system.zookeeper.left_out import LEFT_OUT, MOST, SHARED, taken_over

ROOT = Path(__file__).resolve().parents[3]


def names_in(module: str) -> set[str]:
    return {name for name in vars(importlib.import_module(module)) if name.startswith("test_")}


def run_with_zookeeper() -> set[str]:
    """As pytest finds them: whatever stands in a module under such a name."""
    files = sorted((ROOT / "tests/system/zookeeper").glob("test_*.py"))
    found = {name for path in files for name in names_in(f"tests.system.zookeeper.{path.stem}")}
    return found - set(SHARED)  # the modules themselves, imported there


def test_what_is_left_out_is_short_and_says_why() -> None:
    assert 0 < len(LEFT_OUT) <= MOST
    assert all(len(reason) > 40 for reason in LEFT_OUT.values())


@pytest.mark.parametrize("name", SHARED)
def test_whatever_is_not_run_with_zookeeper_is_listed(name: str) -> None:
    there = names_in(f"tests.system.cluster.{name}")
    listed = {key.partition("::")[2] for key in LEFT_OUT if key.startswith(f"{name}::")}
    assert there - run_with_zookeeper() == listed


def test_what_stands_in_for_a_test_is_there() -> None:
    named = {part.strip(" ;.:") for reason in LEFT_OUT.values() for part in reason.split() if "::" in part}
    assert named
    for one in named:
        module, _, name = one.partition("::")
        assert name in names_in(f"tests.system.zookeeper.{module}"), one


def test_nobody_is_taken_over_who_is_listed_and_fixtures_come_along() -> None:
    secured = importlib.import_module("tests.system.cluster.test_secured")
    found = taken_over(secured, only=("test_both_mechanisms_log_in", "test_status_shows_the_quorum"))
    assert {name for name in found if name.startswith("test_")} == {"test_both_mechanisms_log_in"}
    assert "status" in found
    upkeep = importlib.import_module("tests.system.cluster.test_upkeep")
    assert "_left_whole" in taken_over(upkeep)
