"""Playbooks that ask no host, run for real: secrets, authority, bundles, and what is refused before any host is asked."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from cli.surroundings import lay_out, variables

ROOT = Path(__file__).resolve().parents[3]
HOSTS = """\
[kafka_broker]
broker-1 ansible_host=198.18.255.254 kafka_node_id=1
[kafka_controller]
broker-1
[kafka:children]
kafka_broker
kafka_controller
"""
# Everything that a shell, Java, JAAS, Jinja or JSON gives a meaning to.
ODD = 'it\'s "quoted", with = \\ $HOME grüße {{ x }}'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    lay_out()
    (tmp_path / "hosts.ini").write_text(HOSTS + f"[all:vars]\nkastellan_state_dir={tmp_path}/state\n", encoding="utf-8")
    return tmp_path


def play(folder: Path, name: str, *words: str) -> subprocess.CompletedProcess[str]:
    argv = ["ansible-playbook", "-i", str(folder / "hosts.ini"), f"playbooks/{name}.yml", *words]
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environ = {**os.environ, **variables(), "PATH": path}
    return subprocess.run(argv, cwd=ROOT, env=environ, capture_output=True, text=True, timeout=120, check=False)


def test_bundles_with_made_and_given_passwords(folder: Path) -> None:
    users = [{"name": "made"}, {"name": "odd", "password": {"__ansible_unsafe": ODD}}]
    done = play(folder, "client", "-e", json.dumps({"kafka_users": users}), "-vvv", "--diff")
    assert done.returncode == 0, done.stdout + done.stderr
    state = folder / "state"
    odd = json.loads((state / "clients/odd/librdkafka.json").read_text(encoding="utf-8"))
    made = json.loads((state / "clients/made/librdkafka.json").read_text(encoding="utf-8"))
    assert odd["sasl.password"] == ODD
    assert len(made["sasl.password"]) >= 24
    assert made["sasl.password"] not in done.stdout
    for path in (state / "secrets.yml", state / "vault-password", state / "clients/made/client.properties"):
        assert path.stat().st_mode & 0o777 == 0o600
    assert "$ANSIBLE_VAULT" in (state / "secrets.yml").read_text(encoding="ascii")
    again = play(folder, "client", "-e", json.dumps({"kafka_users": users}))
    assert "changed=0" in again.stdout

    (state / "vault-password").write_text("another\n", encoding="ascii")
    refused = play(folder, "client")
    assert refused.returncode != 0
    assert "secrets.yml cannot be decrypted: the vault password is not the one it was made with." in refused.stdout


def test_preflight_refuses_before_any_host_is_asked(folder: Path) -> None:
    bad = {"kafka_versoin": 4, "kafka_super_users": [], "kafka_distribution": "archive"}
    refused = play(folder, "preflight", "-e", json.dumps(bad))
    assert refused.returncode == 2
    for message in (
        "kafka_versoin is no variable of these roles: did you mean kafka_version?",
        "kafka_super_users is empty: nobody could ever grant anything; keep [admin].",
        "kafka_distribution is archive but kafka_archive_sha512 is not set",
    ):
        assert message in refused.stdout
    assert not (folder / "state").exists()
