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

import pytest

from common.wait import wait_until
from tests.system.conftest import assert_marks, assert_well
from tests.system.lab import Lab, descendants, signal_all

pytestmark = pytest.mark.system

# Step -> what the provider notes when it begins. The network has no host to note it: its bridge tells.
STEPS = {"network": "", "mount": "boot", "boot": "login", "keys": "keys"}
SEED = int(os.environ.get("KASTELLAN_TEST_SEED", "20261118"))
POINTS = 10
# How long an `up` of four stopped hosts takes here; random points fall into it.
UP_S = 7.0


def notes(lab: Lab) -> str:
    return "".join(path.read_text() for path in sorted(lab.state().glob("machines/*/steps")))


def clear_notes(lab: Lab) -> None:
    for path in lab.state().glob("machines/*/steps"):
        path.unlink()


def begun(lab: Lab, step: str) -> bool:
    if step == "network":
        return os.path.exists(f"/sys/class/net/kst-{lab.stack_id()}")  # noqa: PTH110 - sysfs, by its name
    return f" {STEPS[step]}\n" in notes(lab)


def start_up(lab: Lab) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        ["./kastellan", "up"], cwd=lab.folder, env=lab.environ(), start_new_session=True,
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip


def interrupt(process: subprocess.Popen[bytes], number: signal.Signals) -> None:
    """Ctrl-C reaches the foreground's group, as a terminal sends it; SIGKILL takes everything that `up` started."""
    if number == signal.SIGINT:
        os.killpg(process.pid, number)
    else:
        signal_all([process.pid, *descendants(process.pid)], number)
    process.wait(timeout=120)


def interrupt_after(process: subprocess.Popen[bytes], after_s: float, number: signal.Signals) -> None:
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(timeout=after_s)
    interrupt(process, number)


def assert_recovers(lab: Lab, number: signal.Signals = signal.SIGKILL) -> None:
    """After Ctrl-C Pulumi itself goes on; a SIGKILL leaves its lock, which `./kastellan up` clears."""
    if number == signal.SIGINT:
        lab.native("pulumi", "up", "--refresh", "--yes", "--skip-preview", "--stack", "local")
    else:
        lab.kastellan("up")
    assert_well(lab)
    assert_marks(lab)


def cycle_at_step(lab: Lab, step: str, number: signal.Signals) -> None:
    lab.power_cut()
    clear_notes(lab)
    process = start_up(lab)
    reached = wait_until(lambda: begun(lab, step) or process.poll() is not None, timeout_s=60, every_s=0.001)
    assert reached, f"up never came to step {step}"
    assert process.poll() is None, f"up ended before step {step}"
    interrupt(process, number)
    print(f"interrupted by {number.name} at {step}; seen by then: {notes(lab).split()[1::2]}")
    assert_recovers(lab, number)


@pytest.mark.parametrize(
    ("step", "number"),
    [
        ("network", signal.SIGKILL),
        ("mount", signal.SIGKILL),
        ("boot", signal.SIGINT),
        ("keys", signal.SIGKILL),
    ],
)
def test_up_interrupted_at_a_step_goes_on(lab: Lab, step: str, number: signal.Signals) -> None:
    cycle_at_step(lab, step, number)


@pytest.mark.long
@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_every_step_by_every_signal(lab: Lab, step: str, number: signal.Signals) -> None:
    cycle_at_step(lab, step, number)


@pytest.mark.long
@pytest.mark.parametrize("point", range(POINTS))
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_up_interrupted_at_a_random_moment_goes_on(lab: Lab, point: int, number: signal.Signals) -> None:
    """The moment is part of the seed; what was going on then is printed, not chosen."""
    after_s = random.Random(f"{SEED}-{number}-{point}").uniform(0.2, UP_S)
    lab.power_cut()
    clear_notes(lab)
    interrupt_after(start_up(lab), after_s, number)
    last = notes(lab).split()[-1:] or ["nothing yet"]
    print(f"seed {SEED}, {number.name} after {after_s:.2f} s, last step begun: {last[0]}")
    assert_recovers(lab, number)


@pytest.mark.long
def test_a_fresh_up_killed_ten_times_makes_each_host_once(lab: Lab) -> None:
    """The same for hosts that are not there yet: one more host, its making killed at random moments."""
    chance = random.Random(SEED)
    lab.native("pulumi", "config", "set", "--path", "kastellan:groups.extra.count", "1")
    for _ in range(POINTS):
        interrupt_after(start_up(lab), chance.uniform(0.5, UP_S), signal.SIGKILL)
    lab.kastellan("up")
    assert_well(lab, count=5)
    lab.native("pulumi", "config", "set", "--path", "kastellan:groups.extra.count", "0")
    assert_recovers(lab)
