"""Check 59 as a whole: what a host shows, hosts that cannot be looked at, searches that found not even what is there."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from tests.unit.validate.control import GOOD, cluster
from validate.faults.errors import FaultError
from validate.security import run, traces
from validate.security.registry import CHECKS
from validate.security.scene import Scene

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from validate.cluster import Host

SECRET = "s3cr3t/With+signs=="  # noqa: S105  nobody's
WELL = f"{traces.FOUND}{traces.KNOWN} in journal\n"
LEAK = f"{traces.FOUND}password of usercc in processes\n"


@pytest.fixture(autouse=True)
def _home_of_nobody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "nobody"))


def judged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, told: Callable[[str], str], **changes: Any
) -> tuple[str, list[str]]:
    """`told`: what the search on a host of that name prints."""

    def over_ssh(host: Host, script: str, *, timeout_s: float) -> str:
        assert timeout_s > 0
        assert SECRET in script  # it goes to the host by standard input
        return told(host.name)

    monkeypatch.setattr(traces, "over_ssh", over_ssh)
    state = tmp_path / "state"
    bundle = state / "clients" / "usercc"
    bundle.mkdir(parents=True)
    (bundle / "librdkafka.json").write_text(f'{{"sasl.password": "{SECRET}"}}', encoding="utf-8")
    at_hand = cluster(state, users=["usercc"], operations={}, **changes)
    with contextlib.closing(Scene(at_hand)) as scene:
        result = run.run_check(CHECKS[59], scene, consent=True)
    return result["verdict"], result["seen"]


def test_without_a_leak_it_passes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert judged(tmp_path, monkeypatch, lambda _: WELL)[0] == "passed"


def test_a_leak_is_told_with_host_secret_and_place_and_without_the_secret(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    verdict, seen = judged(tmp_path, monkeypatch, lambda name: WELL + (LEAK if name == "broker-2" else ""))
    assert (verdict, seen[0]) == ("failed", "broker-2: of 1 secrets: password of usercc in processes")
    assert SECRET not in str(seen)


def test_a_host_that_cannot_be_looked_at_makes_it_unknown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hosts = [GOOD["hosts"][0], {**GOOD["hosts"][1], "ssh": None}]
    verdict, seen = judged(tmp_path, monkeypatch, lambda _: WELL, hosts=hosts)
    assert (verdict, seen[0]) == ("unknown", "broker-2: there is no ssh access to it")


def test_a_search_that_finds_not_even_what_is_there_has_shown_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    verdict, seen = judged(tmp_path, monkeypatch, lambda _: "")
    assert verdict == "unknown"
    assert seen[0].startswith("the positive twin failed: broker-1: a word that is there")


def test_a_search_that_broke_off_is_unknown_and_a_leak_before_it_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def told(name: str) -> str:
        if name == "broker-3":
            raise FaultError("broker-3 did not finish a command within 150 s.")
        return WELL + (LEAK if name == "broker-1" else "")

    verdict, seen = judged(tmp_path, monkeypatch, told)
    assert verdict == "failed"
    assert "broker-3 did not finish a command within 150 s." in seen


def test_what_is_left_out_here_makes_it_unknown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(traces, "FILE_MOST", 0)
    verdict, seen = judged(tmp_path, monkeypatch, lambda _: WELL)
    assert verdict == "unknown"
    assert "not looked at: cluster.json" in seen[0]


def test_a_file_of_our_own_that_leaks_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "state" / "runs").mkdir(parents=True)
    (tmp_path / "state" / "runs" / "report.html").write_text(f"<p>{SECRET.encode().hex()}", encoding="utf-8")
    verdict, seen = judged(tmp_path, monkeypatch, lambda _: WELL)
    assert verdict == "failed"
    assert seen[0].endswith("password of usercc in runs/report.html")


def searched(place: str, monkeypatch: pytest.MonkeyPatch, secret: str = SECRET) -> list[str]:
    """The search for a host, run here, at one of its places."""
    monkeypatch.setattr(traces, "PLACES", {place: traces.PLACES[place]})
    done = subprocess.run(
        ["bash", "-s"], input=traces.script("kafka", {"it": secret}), capture_output=True, text=True, check=True
    )
    return done.stdout.splitlines()


@pytest.mark.parametrize("where", ["environment", "command line"])
def test_a_process_that_shows_a_secret_is_found(where: str, monkeypatch: pytest.MonkeyPatch) -> None:
    secret = f"canary-of-{os.getpid()}-{where.replace(' ', '-')}"
    argv = [sys.executable, "-c", "input()", *([f"--password={secret}"] if where == "command line" else [])]
    environment = os.environ | ({"PASSWORD": secret} if where == "environment" else {})
    with subprocess.Popen(argv, env=environment, stdin=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        try:
            assert searched("processes", monkeypatch, secret) == [f"{traces.FOUND}it in processes"]
        finally:
            process.kill()
    assert searched("processes", monkeypatch, secret) == []


@pytest.mark.parametrize("name", [".bash_history", "left/by a test", ".ansible/tmp/x/source"])
def test_a_file_that_lies_about_is_found(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = "temporary files, homes and histories"
    monkeypatch.setattr(traces, "OPEN_TO_ALL", str(tmp_path / "home"))
    path = tmp_path / "home" / name
    path.parent.mkdir(parents=True)
    path.write_text("nothing\n", encoding="utf-8")
    assert searched(place, monkeypatch) == []
    path.write_text(f"--password {SECRET}\n", encoding="utf-8")
    assert searched(place, monkeypatch) == [f"{traces.FOUND}it in {place}"]
