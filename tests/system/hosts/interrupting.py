"""An `up` to interrupt, and how far it has come."""

from __future__ import annotations

import os
import signal
import subprocess
from typing import TYPE_CHECKING

from tests.system.lab import command_of, descendants, signal_all

if TYPE_CHECKING:
    from tests.system.lab import Lab

# Step -> what the provider notes when it begins. The network has no host to note it: its bridge tells.
STEPS = {"network": "", "mount": "boot", "boot": "login", "keys": "keys"}


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
