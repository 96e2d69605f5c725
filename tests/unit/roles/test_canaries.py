"""The search for secrets finds what it is to find: in the words of other processes, and in other forms."""

from __future__ import annotations

import base64
import subprocess
import sys

import pytest

from common.wait import wait_until
from tests.system.canaries import leaks, watched_here

SECRET = "canary-8c1d, with = and ümläut"  # noqa: S105 - nobody's


def test_a_secret_among_the_words_of_a_process_is_seen() -> None:
    with watched_here() as seen:
        argv = [sys.executable, "-c", "import time; time.sleep(30)", f"--password={SECRET}"]
        with subprocess.Popen(argv) as running:
            assert wait_until(lambda: any(SECRET in line for line in seen), timeout_s=20)
            running.kill()
    assert leaks({"command lines": "\n".join(seen)}, {"usercc": SECRET}) == ["usercc in command lines"]


@pytest.mark.parametrize("before", ["", "a", "ab"])
def test_base64_is_seen_wherever_it_begins(before: str) -> None:
    coded = base64.b64encode(f"{before}{SECRET}:".encode()).decode()
    assert leaks({"journal": f"x {coded} y"}, {"usercc": SECRET}) == ["usercc in journal"]


def test_hex_is_seen_and_nothing_else() -> None:
    places = {"state": SECRET.encode().hex(), "log": "canary-8c1e, with = and ümläut"}
    assert leaks(places, {"usercc": SECRET}) == ["usercc in state"]
