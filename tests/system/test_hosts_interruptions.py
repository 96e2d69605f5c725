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

import pytest

from common.wait import wait_until
from tests.system.conftest import assert_marks, assert_well
from tests.system.lab import Lab, command_of, descendants, signal_all

pytestmark = pytest.mark.system

# Step -> what the provider notes when it begins. The network has no host to note it: its bridge tells.
STEPS = {"network": "", "mount": "boot", "boot": "login", "keys": "keys"}
SEED = int(os.environ.get("KASTELLAN_TEST_SEED", "20261118"))
POINTS = 10


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
        ["./kastellan", "up", "--until", "hosts"], cwd=lab.folder, env=lab.environ(), start_new_session=True,
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip


def interrupt(process: subprocess.Popen[bytes], number: signal.Signals, victims: str = "all") -> None:
    """Ctrl-C reaches the foreground's group, as a terminal sends it. SIGKILL takes everything that `up` started, also
    hosts that boot; or the engine alone, so that its providers go on without it.
    """
    assert process.poll() is None, "it ended before it could be interrupted"
    if number == signal.SIGINT:
        os.killpg(process.pid, number)
    else:
        below = descendants(process.pid)
        if victims == "engine":
            below = [pid for pid in below if command_of(pid) == "pulumi"]
            assert below, "there is no engine to kill"
        signal_all([process.pid, *below], number)
    process.wait(timeout=120)


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
