"""`up` interrupted at a step it is just at, then run again: no host twice, none forgotten, nothing written lost.

The steps are the network, the mounting of disks, the boot, and the reading of host keys. Each cycle begins with a power
cut, so that all of them have to be done again for hosts that have data.
"""

from __future__ import annotations

import contextlib
import os
import random
import signal
import subprocess
import time
from typing import TYPE_CHECKING

import pytest

from common.wait import wait_until
from tests.system.hosts.checks import assert_marks, assert_well
from tests.system.hosts.interrupting import STEPS, begun, clear_notes, interrupt, notes, start_up

if TYPE_CHECKING:
    from tests.system.lab import Lab

pytestmark = pytest.mark.system

SEED = int(os.environ.get("KASTELLAN_TEST_SEED", "20261118"))
POINTS = 10


def interrupt_after(process: subprocess.Popen[bytes], after_s: float, number: signal.Signals) -> None:
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(timeout=after_s)
    interrupt(process, number)


def up_takes(lab: Lab) -> float:
    """How long an `up` of four stopped hosts takes here and now, less a little: random points fall into it."""
    lab.power_cut()
    began_s = time.monotonic()
    lab.kastellan("up", "--until", "hosts")
    return 0.8 * (time.monotonic() - began_s)


def assert_recovers(lab: Lab, number: signal.Signals = signal.SIGKILL) -> None:
    """After Ctrl-C Pulumi itself goes on; a SIGKILL leaves its lock, which `./kastellan up` clears."""
    if number == signal.SIGINT:
        lab.native("pulumi", "up", "--refresh", "--yes", "--skip-preview", "--stack", "local")
    else:
        lab.kastellan("up", "--until", "hosts")
    assert_well(lab)
    assert_marks(lab)


def cycle_at_step(lab: Lab, step: str, number: signal.Signals, victims: str = "all") -> None:
    lab.power_cut()
    clear_notes(lab)
    process = start_up(lab)
    reached = wait_until(lambda: begun(lab, step) or process.poll() is not None, timeout_s=60, every_s=0.001)
    assert reached, f"up never came to step {step}"
    interrupt(process, number, victims)
    print(f"seed {SEED}, {number.name} to {victims} at {step}; seen by then: {notes(lab).split()[1::2]}")
    assert_recovers(lab, number)


@pytest.mark.parametrize(
    ("step", "number", "victims"),
    [
        ("network", signal.SIGKILL, "all"),
        ("mount", signal.SIGKILL, "engine"),
        ("boot", signal.SIGINT, "all"),
        ("keys", signal.SIGKILL, "all"),
    ],
)
def test_up_interrupted_at_a_step_goes_on(lab: Lab, step: str, number: signal.Signals, victims: str) -> None:
    cycle_at_step(lab, step, number, victims)


@pytest.mark.long
def test_the_native_remedy_after_a_kill_is_the_documented_one(lab: Lab) -> None:
    lab.power_cut()
    clear_notes(lab)
    process = start_up(lab)
    assert wait_until(lambda: begun(lab, "mount") or process.poll() is not None, timeout_s=60, every_s=0.001)
    interrupt(process, signal.SIGKILL)
    flags = ("--yes", "--skip-preview", "--stack", "local")
    refused = lab.native("pulumi", "up", "--refresh", *flags, check=False)
    assert "the stack is currently locked" in refused.stdout + refused.stderr
    lab.native("pulumi", "cancel", "--yes", "--stack", "local")
    lab.native("pulumi", "up", "--refresh", *flags)
    assert_well(lab)
    assert_marks(lab)


@pytest.mark.long
@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize(
    ("number", "victims"), [(signal.SIGINT, "all"), (signal.SIGKILL, "all"), (signal.SIGKILL, "engine")]
)
def test_every_step_by_every_signal(lab: Lab, step: str, number: signal.Signals, victims: str) -> None:
    cycle_at_step(lab, step, number, victims)


@pytest.mark.long
@pytest.mark.parametrize("point", range(POINTS))
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_up_interrupted_at_a_random_moment_goes_on(lab: Lab, point: int, number: signal.Signals) -> None:
    """The moment is part of the seed; what was going on then is printed, not chosen."""
    after_s = random.Random(f"{SEED}-{number}-{point}").uniform(0.2, up_takes(lab))
    lab.power_cut()
    clear_notes(lab)
    interrupt_after(start_up(lab), after_s, number)
    last = notes(lab).split()[-1:] or ["nothing yet"]
    print(f"seed {SEED}, {number.name} after {after_s:.2f} s, last step begun: {last[0]}")
    assert_recovers(lab, number)


@pytest.mark.long
def test_a_fresh_up_killed_ten_times_makes_each_host_once(lab: Lab) -> None:
    """The same for hosts that are not there yet: one more host, its making killed at random moments, then not wanted."""
    chance, longest_s = random.Random(SEED), up_takes(lab)
    count = ("pulumi", "config", "set", "-s", "local", "--path", "kastellan:groups.extra.count")
    for _ in range(POINTS):
        lab.native(*count, "1")
        interrupt_after(start_up(lab), chance.uniform(0.2, longest_s), signal.SIGKILL)
        lab.native(*count, "0")
        assert_recovers(lab)
        assert not lab.processes("broker-5")
        assert not (lab.state() / "machines" / "broker-5").exists()
