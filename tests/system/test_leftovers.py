"""What a stack leaves when its checkout or its processes go without `down`: known by record, named, removed."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from infra.providers.nspawn import registry
from tests.system.conftest import assert_marks, assert_well
from tests.system.lab import Lab, machine_view, new_lab

pytestmark = pytest.mark.system


def test_a_checkout_that_is_gone_is_named_and_cleaned(lab: Lab) -> None:
    with new_lab() as lost:
        lost.describe("local", count=1)
        before = machine_view(lost)
        lost.kastellan("up")
        record = registry.record_of(lost.stack_id())
        assert record is not None
        shutil.rmtree(lost.folder)
        told = lab.kastellan("doctor", check=False)
        assert told.returncode == 1
        assert f"its checkout is gone: there is no {lost.state()}" in told.stdout
        assert f"network device {record.bridge}" in told.stdout
        assert "processes of broker-1" in told.stdout
        cleaned = lab.kastellan("doctor", "--clean")
        assert "Nothing must be mended" in cleaned.stdout
        lost.folder.mkdir()  # the view asks who works in it
        after = machine_view(lost)
        assert {kind: after[kind] - before[kind] for kind in before} == {kind: set() for kind in before}
    assert_well(lab)  # the stack of a living checkout is none of its business


def test_a_stopped_stack_is_cleaned_and_comes_back(lab: Lab) -> None:
    """Its processes are gone, its bridge stayed: cleaning takes what the kernel holds, never a disk."""
    record = registry.record_of(lab.stack_id())
    assert record is not None
    lab.power_cut()
    subprocess.run(["ip", "link", "add", record.bridge, "type", "bridge"], check=True)
    told = lab.kastellan("doctor", check=False).stdout
    assert "none of its hosts runs" in told
    assert f"network device {record.bridge}" in told
    assert "Nothing must be mended" in lab.kastellan("doctor", "--clean").stdout
    lab.kastellan("up")
    assert_well(lab)
    assert_marks(lab)
