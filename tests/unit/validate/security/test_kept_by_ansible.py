"""Check 59 finds what Ansible keeps, wherever it was told to keep it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.unit.validate.control import cluster
from validate.security import kept_by_ansible, traces

if TYPE_CHECKING:
    from pathlib import Path

SECRET = "s3cr3t/With+signs=="  # noqa: S105  nobody's


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for variable, *_ in kept_by_ansible.SETTINGS:
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.delenv("ANSIBLE_CONFIG", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    (tmp_path / "home").mkdir()
    return tmp_path / "home"


def found(tmp_path: Path, work: Path) -> traces.Searched:
    operations = {"rolling_restart": {"argv": ["ansible-playbook"], "cwd": str(work)}}
    state = tmp_path / "state"
    state.mkdir(exist_ok=True)
    return traces.here(cluster(state, operations=operations), {"password of usercc": SECRET})


@pytest.mark.parametrize(
    ("section", "option", "target", "said"),
    [
        ("defaults", "log_path", "logs/ansible.log", "Ansible's log (ansible.log)"),
        ("defaults", "fact_caching_connection", "facts", "Ansible's fact cache (broker-1)"),
        ("inventory", "cache_connection", "kept", "Ansible's inventory cache (broker-1)"),
    ],
)
def test_by_the_configuration_beside_the_playbooks(
    section: str, option: str, target: str, said: str, tmp_path: Path
) -> None:
    work = tmp_path / "work"
    place = work / target if target.endswith(".log") else work / target / "broker-1"
    place.parent.mkdir(parents=True)
    place.write_text(f"TASK output: {SECRET.encode().hex()}")
    (work / "ansible.cfg").write_text(f"[{section}]\n{option} = {target}\n")
    assert found(tmp_path, work).found == [f"password of usercc in {said}"]
    (work / "ansible.cfg").write_text("[defaults]\n")
    assert found(tmp_path, work).found == []


def test_by_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    work = tmp_path / "work"
    work.mkdir()
    (tmp_path / "a.log").write_text(SECRET)
    monkeypatch.setenv("ANSIBLE_LOG_PATH", str(tmp_path / "a.log"))
    assert found(tmp_path, work).found == ["password of usercc in Ansible's log (a.log)"]


def test_files_that_a_killed_play_left(tmp_path: Path, home: Path) -> None:
    (home / ".ansible/tmp/ansible-local-1").mkdir(parents=True)
    (home / ".ansible/tmp/ansible-local-1/source").write_text(SECRET)
    (tmp_path / "work").mkdir()
    assert found(tmp_path, tmp_path / "work").found == ["password of usercc in files that Ansible left (source)"]


@pytest.mark.parametrize("value", ["localhost:6379:0", "redis://cache:6379/0"])
def test_a_cache_that_is_a_service_is_named_as_not_looked_at(value: str, tmp_path: Path) -> None:
    work = tmp_path / "work"
    work.mkdir()
    (work / "ansible.cfg").write_text(f"[defaults]\nfact_caching_connection = {value}\n")
    (left,) = found(tmp_path, work).left
    assert left.startswith("Ansible's fact cache at ")


@pytest.mark.parametrize(
    "text", ["no section\n", "[defaults\n", "[defaults]\nlog_path = ~nobody-of-that-name/x\n", "\0"]
)
def test_a_configuration_that_cannot_be_meant_ends_nothing(text: str, tmp_path: Path) -> None:
    work = tmp_path / "work"
    work.mkdir()
    (work / "ansible.cfg").write_text(text)
    assert found(tmp_path, work).found == []


def test_keys_of_either_authority_are_looked_for_and_may_lie_where_they_belong(tmp_path: Path) -> None:
    at_hand = cluster(tmp_path, operations={}, users=[])
    for name in traces.AUTHORITIES:
        (tmp_path / name).mkdir()
        (tmp_path / name / "authority.key").write_text(f"head\nbody-of-{name}-key\nfoot\n")
    secrets = traces.secrets_of(at_hand)
    assert set(secrets) == {f"key {name}/authority.key" for name in traces.AUTHORITIES}
    assert traces.here(at_hand, secrets).found == []
    (tmp_path / "copied").write_text("body-of-pki-zookeeper-key")
    assert traces.here(at_hand, secrets).found == ["key pki-zookeeper/authority.key in copied"]
