"""The search for secrets, the look at a host, the gates of versions: each on this machine, without a cluster."""

from __future__ import annotations

import base64
import contextlib
import os
import subprocess
from typing import TYPE_CHECKING
from urllib.parse import quote

import pytest

from tests.unit.validate.control import cluster
from validate.security import authorization_rules, look, run, software, traces
from validate.security.certificates import names_of, subject_for
from validate.security.registry import CHECKS
from validate.security.scene import Scene
from validate.security.stage import DENIED, Acl

if TYPE_CHECKING:
    from pathlib import Path

SECRET = "s3cr3t/With+signs=="  # noqa: S105  nobody's


@pytest.fixture(autouse=True)
def _home_of_nobody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What Ansible keeps in the home of whoever runs the tests is no part of them."""
    monkeypatch.setenv("HOME", str(tmp_path / "nobody"))


@pytest.mark.parametrize(
    "written",
    [
        SECRET, f"x={SECRET};", SECRET.encode().hex(), quote(SECRET, safe=""),
        base64.b64encode(f"user:{SECRET}".encode()).decode(), base64.b64encode(f"ab{SECRET}c".encode()).decode(),
    ],
)  # fmt: skip
def test_a_secret_is_found_in_every_form(written: str) -> None:
    assert any(form in written for form in traces.forms(SECRET))


def test_the_search_on_a_host_names_place_and_secret_and_shows_neither(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "history").write_bytes(b"\0kafka-storage --add-scram " + SECRET.encode() + b"\0")
    (tmp_path / "clean").write_text("nothing here\n")
    monkeypatch.setattr(traces, "PLACES", {"history": f"cat {tmp_path}/history", "logs": f"cat {tmp_path}/clean"})
    script = traces.script("kafka", {"password of admin": SECRET, "another": "n0t-th3re-at-all"})
    done = subprocess.run(["bash", "-s"], input=script, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == [f"{traces.FOUND}password of admin in history"]
    assert done.stderr == ""


def test_here_a_secret_in_a_report_is_found_and_one_in_its_own_bundle_is_not(tmp_path: Path) -> None:
    at_hand = cluster(tmp_path, operations={})
    bundle = tmp_path / "clients" / "usercc"
    bundle.mkdir(parents=True)
    (bundle / "librdkafka.json").write_text(f'{{"sasl.password": "{SECRET}"}}')
    assert traces.here(at_hand, {"password of usercc": SECRET}).found == []
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs" / "run.log").write_text(f"login with {SECRET.encode().hex()}")
    assert traces.here(at_hand, {"password of usercc": SECRET}).found == ["password of usercc in runs/run.log"]


def test_here_what_is_beyond_a_bound_is_named_and_what_matters_most_comes_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    state = tmp_path / ".kastellan" / "local"
    ledger = state / "runs" / "one" / "ledger"
    pulumi = tmp_path / ".kastellan" / "pulumi" / "stacks"
    for folder in (ledger, pulumi, pulumi.parent / "home" / "plugins"):
        folder.mkdir(parents=True)
    at_hand = cluster(state, operations={"restart": {"argv": ["true"], "cwd": "../.."}})
    (state / "large.log").write_bytes(b"x" * 3001)
    (pulumi / "local.json").write_text(SECRET)
    (pulumi.parent / "home" / "plugins" / "program").write_bytes(b"x" * 3001)
    for name in ("a", "b", "c"):
        (ledger / name).write_bytes(b"x" * 1000)
    monkeypatch.setattr(traces, "FILE_MOST", 3000)
    monkeypatch.setattr(traces, "LEDGERS_MOST", 1500)
    (state / "cluster.json").unlink()
    seen = traces.here(at_hand, {"password of usercc": SECRET})
    assert (seen.left, seen.ledgers_left) == (["large.log"], 1)
    assert seen.found == ["password of usercc in Pulumi's state (local.json)"]
    monkeypatch.setattr(traces, "TOTAL_MOST", 1)
    seen = traces.here(at_hand, {"password of usercc": SECRET})
    assert (seen.left, seen.found) == (["1 files of local"], ["password of usercc in Pulumi's state (local.json)"])


def test_without_a_secret_at_hand_nothing_is_known(tmp_path: Path) -> None:
    at_hand = cluster(tmp_path, users=[], operations={})
    with contextlib.closing(Scene(at_hand)) as scene:
        for number in (59,):
            result = run.run_check(CHECKS[number], scene, consent=True)
            assert result["verdict"] == "unknown"
            assert "no secret is at hand" in result["seen"][0]


def test_a_denial_is_found_in_a_log_that_is_open_and_one_of_another_run_is_not(tmp_path: Path) -> None:
    said = f"INFO Principal = User:{DENIED} is Denied operation = READ on resource = Topic:LITERAL:"
    (tmp_path / "systemctl").write_text(f"#!/bin/sh\necho {os.getpid()}\n")
    (tmp_path / "systemctl").chmod(0o755)

    def lines(topic: str) -> list[str]:
        script = authorization_rules.denials("kafka", topic)
        environment = os.environ | {"PATH": f"{tmp_path}:{os.environ['PATH']}"}
        done = subprocess.run(
            ["bash", "-s"], input=script, env=environment, capture_output=True, text=True, check=True
        )  # fmt: skip
        return done.stdout.splitlines()

    # The second one is data, where a client writes what it likes.
    with (tmp_path / "authorizer.log").open("w") as log, (tmp_path / f"{0:020}.log").open("w") as data:
        log.write(f"{said}earlier for request = Fetch\n{said}now for request = Fetch\n{said}later for request\n")
        log.flush()
        data.write(f"{said}never for request = Fetch\n")
        data.flush()
        assert lines("now") == [f"{said}now for request = Fetch"]
        assert lines("never") == []
    assert lines("now") == []


def test_the_look_is_good_bash_and_its_parts_are_read_back() -> None:
    script = look.script("kafka", ["/var/lib/kafka/data", "/mnt/it's"])
    assert subprocess.run(["bash", "-n"], input=script, text=True, check=False).returncode == 0
    told = f'{look.MARK}pid\n42\n{look.MARK}listening\nLISTEN 0 50 *:9092 *:* users:(("java",pid=42,fd=1))\n'
    told += (
        'LISTEN 0 50 [::1]:22 [::]:* users:(("sshd",pid=7,fd=1))\n' + f"{look.MARK}status\nUid:\t105\t105\nUmask:\t0027"
    )
    seen = look.Look("broker-1", look.parse(told))
    assert seen["pid"] == "42"
    assert seen.listening == [("*", 9092, True), ("::1", 22, False)]
    assert (seen.status("Umask"), seen.status("CapEff")) == ("0027", "?")
    assert seen["jars"] == ""


@pytest.mark.parametrize("address", ["127.0.0.1", "127.0.0.53%lo", "[::1]", "[::ffff:127.0.0.1]"])
def test_what_is_for_the_host_alone_is_for_nobody_outside(address: str) -> None:
    """Java's sockets are of IPv6, whatever address they are bound to."""
    told = f'{look.MARK}listening\nLISTEN 0 50 {address}:4040 *:* users:(("java",pid=42,fd=1))\n'
    told += 'LISTEN 0 50 [::ffff:198.18.0.1]:9092 *:* users:(("java",pid=42,fd=2))\n'
    seen = look.Look("broker-1", look.parse(told))
    assert seen.outer() == {9092}
    assert "ffff" not in str(seen.listening)


@pytest.mark.parametrize(
    ("version", "well"),
    [
        ("3.9.1", False), ("3.9.2", True), ("3.8.1", False), ("4.0.1", False), ("4.0.2", True), ("4.1.1", False),
        ("4.1.2", True), ("4.2.0", True), ("4.3.1", True), ("2.13", False), ("5.0.0", True),
    ],
)  # fmt: skip
def test_the_gates(version: str, well: bool) -> None:
    assert software.past_the_gates(version) is well


def test_locked_jars_are_known_by_their_file_names() -> None:
    known = software.locked("4.3.1")
    assert len(known["kafka-clients-4.3.1.jar"]) == 64
    assert software.locked("1.2.3") == {}


def test_rules_compare_by_what_they_say() -> None:
    assert Acl("a", "Topic", "t", "Read") == Acl("a", "Topic", "t", "Read", "Allow", "literal", "*")
    assert Acl("a", "Topic", "t", "Read").fields == (2, "t", 3, "User:a", "*", 3, 3)


def test_a_common_name_counts_for_nothing(tmp_path: Path) -> None:
    from cryptography import x509  # noqa: PLC0415

    from validate.security.strangers import Stranger  # noqa: PLC0415

    leaf = x509.load_pem_x509_certificate(Stranger(tmp_path).issue("broker-1")[0].read_bytes())
    assert names_of(leaf) == {"127.0.0.1"}
    assert type(subject_for("198.18.0.1")).__name__ == "IPAddress"
    assert type(subject_for("broker-1")).__name__ == "DNSName"
