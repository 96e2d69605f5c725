"""The search for secrets that runs on hosts, run here: keys of the host's own, large files, logs, a long journal."""

from __future__ import annotations

import base64
import gzip
import os
import subprocess
from typing import TYPE_CHECKING
from urllib.parse import quote

import pytest

from tests.unit.validate.control import GOOD, cluster
from validate.security import traces

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SECRET = "s3cr3t/With+signs=="  # noqa: S105  nobody's
OPEN = "temporary files, homes and histories"
LINE = "MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQg0123456789/+cdef"
OPENSSH = [f"{number}{'x' * 69}" for number in range(1, 5)]
MIB = 1 << 20


@pytest.fixture(autouse=True)
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The service is a process that was started with settings of ours; what is open to all is a folder of ours."""
    for name in ("conf/ssl", "open", "sshd", "programs"):
        (tmp_path / name).mkdir(parents=True)
    monkeypatch.setattr(traces, "OPEN_TO_ALL", str(tmp_path / "open"))
    monkeypatch.setattr(traces, "SSHD", str(tmp_path / "sshd"))
    monkeypatch.setenv("PATH", f"{tmp_path}/programs:{os.environ['PATH']}")
    with (
        (tmp_path / "server.log").open("w", encoding="utf-8") as log,
        subprocess.Popen(
            ["sh", "-c", "read -r _", "sh", str(tmp_path / "conf/server.properties")], stdin=subprocess.PIPE, stdout=log
        ) as service,
    ):
        program(tmp_path, "systemctl", f"echo {service.pid}")
        yield tmp_path
        service.kill()


def program(places: Path, name: str, does: str) -> None:
    path = places / "programs" / name
    path.write_text(f"#!/bin/sh\n{does}\n", encoding="utf-8")
    path.chmod(0o755)


def bash(script: str) -> list[str]:
    done = subprocess.run(["bash", "-s"], input=script, capture_output=True, text=True, check=True)
    assert done.stderr == ""
    return done.stdout.splitlines()


def searched(place: str, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    monkeypatch.setattr(traces, "PLACES", {place: traces.PLACES[place]})
    return bash(traces.script("kafka", {"it": SECRET}))


def key(path: Path, kind: str, *lines: str) -> None:
    path.write_text("\n".join((f"-----BEGIN {kind}-----", *lines, f"-----END {kind}-----", "")), encoding="ascii")


@pytest.mark.parametrize("word", [LINE, SECRET, OPENSSH[3], "x" * 41, "y/+" * 14])
def test_the_shell_looks_for_the_same_forms(word: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(traces, "PLACES", {})
    script = traces.script("kafka", {}).removesuffix("exit 0\n")
    assert {*bash(f"{script}\nseek it '{word}'\nprintf '%s\\n' \"${{!who[@]}}\"")} == traces.forms(word)


@pytest.mark.parametrize(
    "written",
    [
        LINE, f"key: {LINE}\\n", LINE.encode().hex(), quote(LINE, safe=""), base64.b64encode(LINE.encode()).decode(),
        base64.b64encode(f"ab-----BEGIN PRIVATE KEY-----\n{LINE}\nx".encode()).decode(),
    ],
)  # fmt: skip
def test_a_host_finds_its_own_key_and_tells_no_more_than_a_fingerprint(
    written: str, places: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keystore = places / "conf/ssl/keystore.pem"
    key(keystore, "PRIVATE KEY", LINE, "rest")
    (told,) = searched(OPEN, monkeypatch)
    fingerprint, _, path = told.removeprefix(traces.PRINT).partition(" ")
    assert (len(fingerprint), path) == (64, str(keystore))
    (places / "open" / "copy").write_text(written, encoding="ascii")
    assert searched(OPEN, monkeypatch) == [told, f"{traces.FOUND}its own key {keystore} in {OPEN}"]


def test_the_key_of_sshd_is_looked_for_by_the_line_that_is_its_own(
    places: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    key(places / "sshd/ssh_host_ed25519_key", "OPENSSH PRIVATE KEY", *OPENSSH, "rest")
    key(places / "open" / "another", "OPENSSH PRIVATE KEY", *OPENSSH[:3], "4" * 70, "rest")
    assert searched(OPEN, monkeypatch) == []
    key(places / "open" / "copy", "OPENSSH PRIVATE KEY", *OPENSSH, "rest")
    name = f"its own key {places}/sshd/ssh_host_ed25519_key"
    assert searched(OPEN, monkeypatch) == [f"{traces.FOUND}{name} in {OPEN}"]


@pytest.mark.parametrize("at", [0, 8 * MIB - 7, 9 * MIB - 7, 16 * MIB - 1, 20 * MIB - len(SECRET)])
def test_a_large_file_is_searched_in_pieces(at: int, places: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Across the ends of pieces, too."""
    with (places / "open" / "large").open("wb") as large:
        large.truncate(20 * MIB)
        large.seek(at)
        large.write(SECRET.encode())
    assert searched(OPEN, monkeypatch) == [f"{traces.FOUND}it in {OPEN}"]


def test_what_is_beyond_the_bound_is_told(places: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(traces, "LARGE_MOST_MIB", 12)
    for name in ("a", "b"):
        with (places / "open" / name).open("wb") as large:
            large.truncate(10 * MIB)
    (places / "open" / "small").write_text(SECRET, encoding="ascii")
    said = [f"{traces.MISSED}1 large files in {places}/open", f"{traces.FOUND}it in {OPEN}"]
    assert sorted(searched(OPEN, monkeypatch)) == sorted(said)


@pytest.mark.parametrize(("lines", "told"), [(2, False), (3, True)])
def test_a_journal_that_is_longer_than_what_was_read_is_told(
    lines: int, told: bool, places: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(traces, "JOURNAL_MOST", 3)
    program(places, "journalctl", f"yes '{SECRET}' | head -n {lines}")
    said = [f"{traces.MISSED}the journal before its last 3 lines"] if told else []
    assert sorted(searched("journal", monkeypatch)) == sorted([*said, f"{traces.FOUND}it in journal"])


@pytest.mark.parametrize("name", ["server.log.2026-11-18", "server.log.1.gz"])
def test_logs_are_searched_wherever_the_service_writes_them(
    name: str, places: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Old ones beside them, too, packed or not."""
    assert searched("logs", monkeypatch) == []
    content = f"login of usercc: {SECRET}\n".encode()
    (places / name).write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    assert searched("logs", monkeypatch) == [f"{traces.FOUND}it in logs"]


def test_the_login_to_hosts_and_pulumis_passphrase_are_among_the_secrets(tmp_path: Path) -> None:
    work, state = tmp_path / "work", tmp_path / "work" / ".kastellan" / "local"
    (state / "ssh").mkdir(parents=True)
    (work / traces.PULUMI).mkdir()
    key(state / "ssh/id_ed25519", "OPENSSH PRIVATE KEY", *OPENSSH, "rest")
    (work / traces.PULUMI / "passphrase").write_text(f"{SECRET}\n", encoding="ascii")
    operations = {"restart": {"argv": ["true"], "cwd": str(work)}}
    at_hand = cluster(state, users=[], operations=operations)
    assert GOOD["hosts"][0]["ssh"]["key_file"] == "ssh/id_ed25519"
    secrets = traces.secrets_of(at_hand)
    assert secrets == {"key ssh/id_ed25519": OPENSSH[3], "Pulumi's passphrase": SECRET}
    assert traces.here(at_hand, secrets).found == [], "where they belong they may be"
    (state / "run.log").write_text(f"{OPENSSH[3]} {SECRET.encode().hex()}", encoding="ascii")
    found = ["Pulumi's passphrase in run.log", "key ssh/id_ed25519 in run.log"]
    assert traces.here(at_hand, secrets).found == found
