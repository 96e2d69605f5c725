"""First boot, arrival, host keys and what the state says: the parts of a cloud's stack that need no cloud."""

from __future__ import annotations

import json
import subprocess
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from common.errors import CommandFailed, KastellanError
from infra import arrival, known, login
from infra.arrival import Arrival
from infra.cloud_init import FirstBoot, document, user_data
from infra.known import Found, Known, parse_export, refuse_strays

if TYPE_CHECKING:
    from pathlib import Path

BOOT = FirstBoot(
    host="broker-1", data_path="/var/lib/kafka", keys=("ssh-ed25519 A", "ssh-ed25519 B"), host_key="ssh-ed25519 HOST",
    host_key_private="PRIVATE", disk_rule='ENV{ID_SERIAL}=="*abc*"',
)  # fmt: skip
PROPS = {
    "name": "broker-1", "machine": "id-1", "address": "192.0.2.11", "port": 22, "user": "ops", "host_key": "ssh-ed25519 K",
    "state_dir": "/s", "data_path": "/var/lib/kafka", "timeout_s": 30,
}  # fmt: skip


def written(boot: FirstBoot, path: str) -> str:
    return str(next(file["content"] for file in document(boot)["write_files"] if file["path"].endswith(path)))


def test_first_boot_is_yaml_that_says_the_same() -> None:
    text = user_data(BOOT)
    assert text.startswith("#cloud-config\n")
    assert yaml.safe_load(text) == document(BOOT)


def test_only_the_keys_let_in_and_nobody_else() -> None:
    told = document(BOOT)
    assert [user["name"] for user in told["users"]] == ["ops"]  # no user of the image's own
    assert told["users"][0]["ssh_authorized_keys"] == ["ssh-ed25519 A", "ssh-ed25519 B"]
    assert (told["users"][0]["lock_passwd"], told["disable_root"], told["ssh_pwauth"]) == (True, True, False)
    assert written(BOOT, "10-kastellan.conf").splitlines() == [
        "HostKey /etc/ssh/ssh_host_ed25519_key",
        "PasswordAuthentication no",
        "PermitRootLogin no",
    ]


def test_names_of_the_cluster_are_left_alone() -> None:
    assert document(BOOT)["manage_etc_hosts"] is False


def test_the_disk_is_made_only_if_empty_grows_and_keeps_no_machine_from_booting() -> None:
    device, path, kind, options, *_ = written(BOOT, "fstab").split()
    assert (device, path, kind) == ("/dev/kastellan-data", "/var/lib/kafka", "ext4")
    assert {"x-systemd.makefs", "x-systemd.growfs", "nofail", "nodev", "nosuid"} <= set(options.split(","))
    assert 'ENV{ID_SERIAL}=="*abc*", SYMLINK+="kastellan-data"' in written(BOOT, "99-kastellan.rules")
    commands = [" ".join(command) for command in document(BOOT)["runcmd"]]
    assert "chattr +i /var/lib/kafka" in commands[1]
    assert commands[-1].startswith("sh -c systemctl start")


def test_first_boot_commands_are_shell() -> None:
    for command in document(BOOT)["runcmd"]:
        if command[:2] == ["sh", "-c"]:
            subprocess.run(["sh", "-n", "-c", command[2]], check=True)


def test_the_metadata_service_is_roots_alone() -> None:
    assert "ip daddr 169.254.169.254 meta skuid != 0 drop" in written(BOOT, "metadata.nft")


def test_settings_too_large_for_a_cloud_are_refused() -> None:
    with pytest.raises(KastellanError, match="a cloud takes 16384") as refusal:
        user_data(replace(BOOT, keys=("ssh-ed25519 " + "A" * 100,) * 200))
    assert "PRIVATE" not in str(refusal.value)


def answering(monkeypatch: pytest.MonkeyPatch, answers: dict[str, str | list[str]]) -> list[str]:
    """ssh that fails with the words given for a command, in turn; empty words are success."""
    commands: list[str] = []

    def run(argv: list[str], **_: float) -> str:
        command = argv[-1]
        commands.append(command)
        words = next((answer for start, answer in answers.items() if command.startswith(start)), "")
        word = words.pop(0) if isinstance(words, list) else words
        if word:
            raise CommandFailed("Exit code 255", details=word)
        known_hosts = next(word for word in argv if word.startswith("UserKnownHostsFile=")).split('"')[1]
        with open(known_hosts, encoding="ascii") as file:  # noqa: PTH123 - shorter
            assert file.read() == "192.0.2.11 ssh-ed25519 K\n"
        return ""

    monkeypatch.setattr(arrival, "run", run)
    monkeypatch.setattr(arrival, "EVERY_S", 0)
    return commands


def test_a_machine_arrives_when_it_lets_us_in_and_has_its_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    commands = answering(monkeypatch, {"true": ["Connection refused", "Connection refused", ""]})
    ident, outs = Arrival().create(PROPS)
    assert (ident, outs["status"]) == ("arrival/broker-1", "running")
    assert commands == ["true", "true", "true", arrival.SETTLED, "mountpoint /var/lib/kafka"]


@pytest.mark.parametrize(("code", "settled"), [(0, True), (2, True), (1, False)])
def test_cloud_init_s_words_are_told_without_the_dots_of_waiting(tmp_path: Path, code: int, settled: bool) -> None:
    pretended = tmp_path / "cloud-init"
    pretended.write_text(f'#!/bin/sh\n[ "$2" = --long ] || echo .....\necho status: told\nexit {code}\n')
    pretended.chmod(0o755)
    done = subprocess.run(
        ["sh", "-c", arrival.SETTLED],
        env={"PATH": f"{tmp_path}:/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode == 0, done.stdout) == (settled, "status: told\n")


@pytest.mark.parametrize(
    ("answers", "brief", "evidence", "remedy"),
    [
        (
            {"true": "Host key verification failed."},
            "ops@192.0.2.11 does not let us in",
            "Host key verification failed",
            "cloud-init",
        ),
        ({"cloud-init": "status: error"}, "broker-1 did not settle", "status: error", "cloud-init status --long"),
        (
            {"mountpoint": "/var/lib/kafka is not a mountpoint"},
            "broker-1 did not settle",
            "is not a mountpoint",
            "findmnt",
        ),
    ],
)
def test_what_does_not_arrive_says_why(
    monkeypatch: pytest.MonkeyPatch, answers: dict[str, str | list[str]], brief: str, evidence: str, remedy: str
) -> None:
    answering(monkeypatch, answers)
    with pytest.raises(KastellanError) as refusal:
        Arrival().create({**PROPS, "timeout_s": 0.2})
    assert brief in refusal.value.brief
    assert evidence in refusal.value.details
    assert remedy in refusal.value.resolution


def test_a_look_tells_the_truth_and_a_silent_machine_is_a_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    answering(monkeypatch, {"mountpoint": ["No route to host", ""]})
    silent = Arrival().read("id", PROPS)
    assert silent is not None
    assert silent["status"] == "silent"
    assert Arrival().diff(old=silent, new=PROPS).changes
    seen = Arrival().read("id", PROPS)
    assert seen is not None
    assert not Arrival().diff(old=seen, new=PROPS).changes
    assert Arrival().diff(old=seen, new={**PROPS, "machine": "id-2"}).changes


def test_where_it_is_not_asked_for_nobody_logs_in(monkeypatch: pytest.MonkeyPatch) -> None:
    commands = answering(monkeypatch, {})
    _, outs = Arrival().create({**PROPS, "timeout_s": 0})
    assert outs["status"] == "unasked"
    assert not Arrival().diff(old=outs, new={**PROPS, "timeout_s": 0}).changes
    assert commands == []


def test_a_host_key_is_whole_and_stays(tmp_path: Path) -> None:
    ident, outs = login.HostKey().create({"name": "broker-1"})
    private = tmp_path / "key"
    private.write_text(outs["private_key"])
    private.chmod(0o600)
    derived = subprocess.run(["ssh-keygen", "-y", "-f", private], capture_output=True, text=True, check=True).stdout
    assert derived.split()[:2] == outs["public_key"].split()
    assert login.HostKey().read(ident, outs) == outs
    assert not login.HostKey().diff(old=outs, new={"name": "broker-1"}).changes


def exported(*resources: dict[str, Any]) -> str:
    return json.dumps({"version": 3, "deployment": {"resources": list(resources)}})


def test_the_state_is_what_it_holds_and_is_not_about_to_delete() -> None:
    state = parse_export(
        exported({"urn": "a::T::x", "id": "1"}, {"urn": "a::T::y", "id": "2", "delete": True}, {"urn": "c"})
    )
    assert "1" in state
    assert "2" not in state
    assert state.of("T", "x") == {"urn": "a::T::x", "id": "1"}
    assert state.of("T", "y") is None
    assert parse_export('{"version": 3, "deployment": null}').resources == {}


def test_it_is_read_by_pulumis_own_command(monkeypatch: pytest.MonkeyPatch) -> None:
    called: list[list[str]] = []

    def run(argv: list[str], **_: Any) -> str:
        called.append(argv)
        return exported()

    monkeypatch.setattr(known, "run", run)
    assert known.known_resources("openstack").resources == {}
    assert called == [["pulumi", "stack", "export", "--non-interactive", "--stack", "openstack"]]


def test_what_is_known_is_no_stray() -> None:
    found = [Found("port", "1", "remove 1"), Found("server", "2", "remove 2")]
    refuse_strays("label", found, Known({"1": {}, "2": {}}))
    with pytest.raises(KastellanError) as refusal:
        refuse_strays("label", found, Known({"1": {}}))
    assert refusal.value.details == "server 2"
    assert "remove 2" in refusal.value.resolution
    assert "cloud.label" in refusal.value.resolution
