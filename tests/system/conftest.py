"""Real hosts for tests. Everything happens in copies of the checkout, so a user's own stacks are never touched."""

from __future__ import annotations

import os
import signal

import pytest

from tests.system.lab import clean_orphans


@pytest.fixture(scope="session", autouse=True)
def _machine() -> None:
    if os.geteuid() != 0:
        pytest.fail("System tests make real hosts and need root: run them as root, or ./kastellan test --fast.")
    # Started in the background by a shell, tests inherit that Ctrl-C is ignored, and so would all that they interrupt.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    clean_orphans()
