"""Check 59 as a whole: what a host shows, hosts that cannot be looked at, searches that found not even what is there."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from tests.unit.validate.control import GOOD, cluster
from validate.faults.errors import FaultError
from validate.security import controller, run, traces
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
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, told: Callable[[str], str], number: int = 59, **changes: Any
) -> tuple[str, list[str]]:
    """`told`: what the search on a host of that name prints."""

    def over_ssh(host: Host, script: str, *, timeout_s: float) -> str:
        assert timeout_s > 0
        assert SECRET in script  # it goes to the host by standard input
        return told(host.name)

    monkeypatch.setattr(traces, "over_ssh", over_ssh)
    state = tmp_path / "state"
    bundle = state / "clients" / "usercc"
    bundle.mkdir(parents=True, exist_ok=True)
    (bundle / "librdkafka.json").write_text(f'{{"sasl.password": "{SECRET}"}}', encoding="utf-8")
    at_hand = cluster(state, users=["usercc"], operations={}, **changes)
    with contextlib.closing(Scene(at_hand)) as scene:
        result = run.run_check(CHECKS[number], scene, consent=True)
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


@pytest.mark.parametrize("number", [59, 53])
def test_what_is_left_out_on_a_host_makes_it_unknown(
    number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    left = f"{traces.MISSED}2 large files in /tmp\n"
    monkeypatch.setattr(controller, "over_ssh", lambda *_, **__: "1\n0")
    verdict, seen = judged(tmp_path, monkeypatch, lambda _: WELL + left, number=number, admin_user="usercc")
    assert (verdict, seen[0]) == ("unknown", "broker-1: not looked at: 2 large files in /tmp")


def test_a_key_that_a_host_made_for_itself_is_found_here_by_its_fingerprint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    line = "MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQg0123456789abcdef"
    copied = tmp_path / "state" / "runs" / "run.json"
    copied.parent.mkdir(parents=True)
    own = f"{traces.PRINT}{hashlib.sha256(line.encode()).hexdigest()} /etc/kafka/ssl/keystore.pem\n"
    for content, found in (
        (f"-----BEGIN PRIVATE KEY-----\n{line}\nx\n", True),
        (json.dumps({"key": f"-----BEGIN PRIVATE KEY-----\n{line}\nx\n"}), True),
        (f"{line}=", True),
        (f"{line[:-1]}\n", False),
        (f"AAAA{line}\n", False),  # a longer word is another one
    ):
        copied.write_text(content, encoding="utf-8")
        verdict, seen = judged(tmp_path, monkeypatch, lambda name: WELL + (own if name == "broker-2" else ""))
        assert verdict == ("failed" if found else "passed"), content
        assert seen[0].endswith("broker-2's key /etc/kafka/ssl/keystore.pem in runs/run.json") is found
    assert any(one.startswith("broker-2: of 2 secrets: none") for one in seen)


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
