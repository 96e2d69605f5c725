"""What status says of a cluster, from what playbook health wrote down."""

from __future__ import annotations

import argparse
import subprocess
from typing import TYPE_CHECKING, Any

import pytest

from cli import status

if TYPE_CHECKING:
    from pathlib import Path

NODE = {"node_id": 1, "running": True, "controller": True, "certificate_days": 396.4, "free_mib": 3000}
HEALTH: dict[str, Any] = {
    "cluster_id": "c", "mode": "kraft", "topics": 3, "partitions": 8, "under_replicated": ["t-0"], "offline": [],
    "at_min_isr": [], "problems": ["broker-2: Kafka does not run"],
    "hosts": {
        "broker-1": NODE,
        "broker-2": {**NODE, "node_id": 2, "running": False, "controller": False, "certificate_days": None},
        "broker-5": {**NODE, "node_id": 5, "controller": False},
    },
    "quorum": {"voters": [{"id": 1, "lag": 0, "lag_ms": 0}, {"id": 2, "lag": 18, "lag_ms": 9282}], "observers": []},
}  # fmt: skip


def test_every_node_has_its_row(capsys: pytest.CaptureFixture[str]) -> None:
    assert status.cluster_rows(HEALTH)[1:] == [
        ("broker-1", "1", "runs", "controller", "0 records, 0 ms", "396 days"),
        ("broker-2", "2", "down", "voter", "18 records, 9282 ms", "none"),
        ("broker-5", "5", "runs", "-", "-", "396 days"),
    ]
    status.show_cluster("local", HEALTH)
    said = capsys.readouterr().out
    assert "under-replicated 1, offline 0" in said
    assert "Problem: broker-2: Kafka does not run" in said
    assert "The cluster is well." not in said


def test_a_cluster_without_a_quorum_is_shown_as_well() -> None:
    assert status.cluster_rows({**HEALTH, "mode": "zookeeper", "quorum": None})[1][3:5] == ("controller", "-")


def test_an_ensemble_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    members: list[dict[str, Any]] = [
        {"name": "zookeeper-1", "mode": "leader", "zxid": "0x1", "certificate_days": 396},
        {"name": "zookeeper-2", "mode": "", "zxid": "", "certificate_days": None},
    ]
    cluster = {**HEALTH, "mode": "zookeeper", "quorum": None, "ensemble": {"members": members}}
    assert status.ensemble_rows(cluster["ensemble"])[1:] == [
        ("zookeeper-1", "leader", "0x1", "396 days"),
        ("zookeeper-2", "does not serve", "-", "unknown"),
    ]
    status.show_cluster("local", cluster)
    assert "zookeeper-2  does not serve" in capsys.readouterr().out


def test_a_look_that_fails_is_a_problem_and_not_silence(monkeypatch: pytest.MonkeyPatch) -> None:
    answer = subprocess.CompletedProcess(
        [], 4, stdout="PLAY [Health]\nfatal: [broker-1]: UNREACHABLE! => gone\n", stderr=""
    )
    monkeypatch.setattr("cli.status.subprocess.run", lambda *_, **__: answer)
    (problem,) = status.health("local")["problems"]
    assert "fatal: [broker-1]: UNREACHABLE! => gone" in problem


@pytest.mark.parametrize(("there", "asked"), [(True, True), (False, False)])
def test_only_a_cluster_that_was_made_is_looked_at(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, there: bool, asked: bool
) -> None:
    asks: list[str] = []

    def health(stack: str) -> dict[str, Any]:
        asks.append(stack)
        return {"problems": []}

    monkeypatch.setattr(status, "HOME", tmp_path)
    monkeypatch.setattr(status, "hosts_of", lambda _: [])
    monkeypatch.setattr(status, "health", health)
    if there:
        (tmp_path / "local").mkdir()
        (tmp_path / "local" / "cluster.json").write_text("{}")
    parser = argparse.ArgumentParser()
    status.configure(parser)
    assert status.run(parser.parse_args(["--json"])) == 0
    assert bool(asks) is asked
