"""What a stack leaves when its checkout or its processes go without `down`: known by record, named, removed."""

from __future__ import annotations

import shutil
import signal
import subprocess

import pytest

from common.wait import wait_until
from infra.providers.nspawn import registry
from tests.system.hosts.checks import assert_marks, assert_well
from tests.system.hosts.interrupting import begun, interrupt, start_up
from tests.system.lab import Lab, machine_view, new_lab, wait_for_quiet

pytestmark = pytest.mark.system


def test_a_checkout_that_is_gone_is_named_and_cleaned(lab: Lab) -> None:
    with new_lab() as lost:
        lost.describe("local", count=1)
        before = machine_view(lost)
        lost.kastellan("up", "--until", "hosts")
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
    lab.kastellan("up", "--until", "hosts")
    assert_well(lab)
    assert_marks(lab)


def test_of_a_removed_folder_only_its_host_is_cleaned(lab: Lab) -> None:
    """Healthy hosts of the same stack keep running; the host itself comes back new."""
    shutil.rmtree(lab.state() / "machines" / "broker-4")
    others = {host: lab.supervisors(host) for host in ("broker-1", "broker-2", "broker-3")}
    told = lab.kastellan("doctor", check=False).stdout
    assert "the folders of broker-4 are gone" in told
    assert "processes of broker-1" not in told
    lab.kastellan("doctor", "--clean")
    assert not lab.processes("broker-4")
    assert {host: lab.supervisors(host) for host in others} == others
    lab.kastellan("up", "--until", "hosts")
    lab.ssh("broker-4", "echo written-on-broker-4 | sudo tee /var/lib/kafka/mark && sync")
    assert_well(lab)
    assert_marks(lab)


def test_state_removed_under_running_hosts() -> None:
    """`rm -rf .kastellan` with hosts up: `up` makes them anew, and `down` leaves nothing."""
    with new_lab() as other:
        other.describe("local", count=1)
        other.kastellan("env")
        before = machine_view(other)
        other.kastellan("up", "--until", "hosts")
        other.native("pulumi", "config", "set", "--path", "kastellan:groups.extra.count", "0")
        shutil.rmtree(other.folder / ".kastellan")
        other.kastellan("up", "--until", "hosts")
        assert_well(other, count=1)
        assert "extra" in (other.folder / "Pulumi.local.yaml").read_text()  # what was configured stays
        shutil.rmtree(other.folder / ".kastellan/pulumi/.pulumi")
        other.kastellan("down", "--yes")
        wait_for_quiet(other)
        after = machine_view(other)
        assert {kind: after[kind] - before[kind] for kind in before} == {kind: set() for kind in before}


def test_killed_while_a_host_is_made_then_down(lab: Lab) -> None:
    """Pulumi never learnt of the host; the record did."""
    with new_lab() as other:
        other.describe("local", count=1)
        other.kastellan("env")
        before = machine_view(other)
        process = start_up(other)
        assert wait_until(lambda: begun(other, "boot"), timeout_s=120, every_s=0.001)
        interrupt(process, signal.SIGKILL, "engine")
        other.kastellan("down", "--yes")
        wait_for_quiet(other)
        after = machine_view(other)
        assert {kind: after[kind] - before[kind] for kind in before} == {kind: set() for kind in before}
    assert_well(lab)
