"""What status says of a cluster, from what playbook health wrote down."""

from __future__ import annotations

import argparse
import subprocess
from types import SimpleNamespace
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


SOUND = "running\n\n 41% /\n"


def spark_host(roles: tuple[str, ...]) -> Any:
    return SimpleNamespace(name="spark-1", roles=list(roles), login=SimpleNamespace(address="198.18.0.31"))


@pytest.mark.parametrize(
    ("roles", "said", "daemons", "well", "detail"),
    [
        (("spark_worker",), "LoadState=loaded ActiveState=active \n", {"spark_worker": "runs"}, True, "/ 41% full"),
        (("spark_worker",), "LoadState=loaded ActiveState=inactive \n", {"spark_worker": "inactive"}, False, "spark_worker inactive"),
        (("spark_worker",), "", {"spark_worker": "unknown"}, False, "spark_worker unknown"),
        (("spark_worker",), "LoadState=not-found ActiveState=inactive \n", {"spark_worker": "missing"}, False, "spark_worker missing"),
        (
            ("spark_master", "spark_worker"), "LoadState=loaded ActiveState=active \nLoadState=loaded ActiveState=failed \n",
            {"spark_master": "runs", "spark_worker": "failed"}, False, "spark_worker failed",
        ),
        (("kafka_broker",), "", None, True, "/ 41% full"),
    ],
)  # fmt: skip
def test_daemons_of_spark_are_looked_at(
    monkeypatch: pytest.MonkeyPatch, roles: tuple[str, ...], said: str, daemons: Any, well: bool, detail: str
) -> None:
    """A worker that was stopped has not failed: systemd alone calls its host well."""
    asked: list[str] = []

    def answer(argv: list[str], **_: Any) -> subprocess.CompletedProcess[str]:
        asked.append(argv[-1])
        return subprocess.CompletedProcess([], 0, stdout=SOUND + said, stderr="")

    monkeypatch.setattr(status, "ssh_argv", lambda _, words: ["ssh", words])
    monkeypatch.setattr("cli.status.subprocess.run", answer)
    seen = status.look(spark_host(roles), made=True)
    assert (seen.get("spark"), seen["well"], seen["detail"]) == (daemons, well, detail)
    assert asked[0].count("spark-") == len(daemons or {})


def test_a_daemon_that_was_never_made_is_not_missed() -> None:
    said = ["LoadState=not-found ActiveState=inactive "]
    assert status.spark_daemons(["spark_worker"], said, made=False) == {"spark_worker": status.NOT_MADE}


def test_spark_is_counted_and_named(capsys: pytest.CaptureFixture[str]) -> None:
    facts = {"address": "198.18.0.31", "state": "running", "detail": "", "roles": [], "well": True}
    status.show("local-spark", [
        {**facts, "name": "spark-master-1", "spark": {"spark_master": "runs"}},
        {**facts, "name": "spark-worker-1", "spark": {"spark_worker": "runs"}},
        {**facts, "name": "spark-worker-2", "well": False, "spark": {"spark_worker": "inactive"}},
    ])  # fmt: skip
    said = capsys.readouterr().out
    assert "spark-worker-2  worker  inactive" in said
    assert "1 of 1 masters run, 1 of 2 workers run" in said
    assert "Not well: spark-worker-2." in said


def test_the_words_for_spark_work_in_a_shell(tmp_path: Path) -> None:
    """As systemd answers: a line for each value."""
    program = tmp_path / "systemctl"
    program.write_text('#!/bin/sh\nprintf "LoadState=loaded\\nActiveState=active\\n"\n')
    program.chmod(0o755)
    words = status.look_of(["spark_master", "spark_worker"]).removeprefix(status.LOOK)
    said = subprocess.run(
        ["sh", "-c", words], capture_output=True, text=True, check=True, env={"PATH": f"{tmp_path}:/usr/bin:/bin"}
    ).stdout
    assert status.spark_daemons(["spark_master", "spark_worker"], said.splitlines(), made=True) == {
        "spark_master": "runs", "spark_worker": "runs",
    }  # fmt: skip


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
    looks: list[bool] = []

    def look(host: Any, *, made: bool) -> dict[str, Any]:
        looks.append(made)
        return {"name": host.name, "well": True}

    monkeypatch.setattr(status, "hosts_of", lambda _: [spark_host(("spark_worker",))])
    monkeypatch.setattr(status, "look", look)
    monkeypatch.setattr(status, "health", health)
    if there:
        (tmp_path / "local").mkdir()
        (tmp_path / "local" / "cluster.json").write_text("{}")
    parser = argparse.ArgumentParser()
    status.configure(parser)
    assert status.run(parser.parse_args(["--json"])) == 0
    assert bool(asks) is asked
    assert looks == [there], "what a made cluster lacks is missing"
