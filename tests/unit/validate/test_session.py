"""What is said when Spark cannot start; nothing here starts it."""

from __future__ import annotations

import os
import socket
from typing import TYPE_CHECKING
from unittest.mock import MagicMock

import pytest

from common.errors import EXIT_UNKNOWN, UnreadableError, UsageError
from tests.unit.validate.control import cluster
from validate import session
from validate.run import runner
from validate.run.context import INTERPRETED_BYTES, Context

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ('openjdk version "17.0.15" 2025-04-15', 17),
        ('openjdk version "21" 2023-09-19', 21),
        ('java version "1.8.0_402"', 8),
        ("command not found", None),
    ],
)
def test_java_version(text: str, version: int | None) -> None:
    assert session.java_version(text) == version


def fake_java(home: Path, version: str) -> None:
    (home / "bin").mkdir(parents=True)
    java = home / "bin" / "java"
    java.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\"' >&2\n", encoding="ascii")
    java.chmod(0o755)


def test_java_too_old_says_which_is_needed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake_java(tmp_path, "11.0.2")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(UnreadableError, match="11 is too old, Spark needs 17") as caught:
        session.check_java()
    assert caught.value.exit_code == EXIT_UNKNOWN


def test_java_missing_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UnreadableError, match="Install a Java runtime"):
        session.check_java()


@pytest.mark.parametrize(
    ("java", "master", "told"),
    [
        ("11.0.2", None, "Java 11 is too old"),
        (None, None, "Java is missing"),
        ("17.0.1", "spark://127.0.0.1:1", "cannot be reached"),
    ],
)
def test_a_run_that_nobody_could_judge_is_not_begun(
    java: str | None, master: str | None, told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Spark is needed at the end of the first scenario: minutes of load, and faults, for nothing."""
    if java:
        fake_java(tmp_path / "java", java)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "java"))
    monkeypatch.setattr(runner, "Admin", lambda _: pytest.fail("the cluster was asked already"))
    wish = runner.Wish(suite=None, ids=("kill-leader",), spark_master=master, ledger=str(tmp_path))
    with pytest.raises(UnreadableError, match=told):
        runner.run(cluster(tmp_path), wish)
    assert not (tmp_path / "runs").exists()


def test_a_ledger_that_executors_do_not_see_ends_the_run_before_any_load(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuses(_: object) -> None:
        raise UsageError("The ledger's folder is not shared.")

    for name in ("Admin", "Workplace", "OwnTopics", "_require_spark"):
        monkeypatch.setattr(runner, name, MagicMock())
    monkeypatch.setattr(Context, "require_shared_ledger", refuses)
    monkeypatch.setattr(runner, "_all", lambda *_: pytest.fail("load began"))
    (tmp_path / "shared").mkdir()
    wish = runner.Wish(
        suite=None, ids=("baseline",), spark_master="spark://127.0.0.1:1", ledger=str(tmp_path / "shared"), seed=1
    )
    with pytest.raises(UsageError, match="is not shared"):
        runner.run(cluster(tmp_path), wish)
    (head,) = (tmp_path / "runs").glob("*/run.json")
    assert "is not shared" in head.read_text(encoding="utf-8")


def test_java_new_enough_is_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake_java(tmp_path, "17.0.1")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    session.check_java()


def test_a_master_that_does_not_answer_is_told_at_once() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))  # bound and not listening: a connection is refused
        port = unused.getsockname()[1]
        with pytest.raises(UnreadableError, match=f"spark://127.0.0.1:{port} cannot be reached"):
            session.check_master(f"spark://127.0.0.1:{port}")


@pytest.mark.parametrize("master", ["nonsense", "host:7077", "http://host:8080", "yarn-cluster"])
def test_what_is_no_master_is_told_with_an_example(master: str) -> None:
    with pytest.raises(UsageError, match=f"'{master}' is no address of a Spark cluster") as caught:
        session.check_master(master)
    assert "spark://HOST:7077" in str(caught.value.resolution)


@pytest.mark.parametrize("master", ["", "local", "local[2]", "local[*]", "yarn", "k8s://https://host:6443"])
def test_other_kinds_of_masters_are_sparks_own_matter(master: str) -> None:
    assert session.check_master(master) is None


def test_a_master_without_a_port_is_told() -> None:
    with pytest.raises(UnreadableError, match="spark://somewhere cannot be reached"):
        session.check_master("spark://somewhere")


def test_one_of_two_masters_is_enough() -> None:
    with socket.socket() as dead, socket.create_server(("127.0.0.1", 0)) as alive:
        dead.bind(("127.0.0.1", 0))
        addresses = ",".join(f"127.0.0.1:{s.getsockname()[1]}" for s in (dead, alive))
        session.check_master(f"spark://{addresses}")


@pytest.mark.parametrize("master", ["", "local[2]", "yarn", "k8s://https://host:443"])
def test_other_masters_are_not_asked(master: str) -> None:
    session.check_master(master)


@pytest.mark.parametrize(("size", "least"), [(0, 1), (session.SMALL_BYTES - 1, 1), (session.SMALL_BYTES, 8)])
def test_shuffle_partitions(size: int, least: int) -> None:
    assert session.shuffle_partitions(size) == least


@pytest.mark.parametrize(
    ("table_bytes", "planned"), [(INTERPRETED_BYTES - 1, "1"), (INTERPRETED_BYTES, "8"), (300 * 2**20, "18")]
)
def test_a_run_plans_each_verdict_by_the_tables_of_its_ledger(table_bytes: int, planned: str, tmp_path: Path) -> None:
    """Not by the session's own size, nor by journals and what else lies beside them."""
    for place, size in (("log/part-0.parquet", table_bytes), ("journals/writer-1.journal", 2**30)):
        (tmp_path / place).parent.mkdir()
        (tmp_path / place).touch()
        os.truncate(tmp_path / place, size)
    asked: dict[str, str] = {}
    spark = MagicMock()
    spark.conf.get.side_effect = lambda name: asked.get(name, "before")
    spark.conf.set.side_effect = asked.__setitem__
    with Context.planned_for(spark, tmp_path):
        assert asked["spark.sql.shuffle.partitions"] == planned
        assert asked["spark.sql.adaptive.enabled"] == str(planned != "1").lower()
    assert set(asked.values()) == {"before"}


def test_what_spark_says_is_cut_to_what_helps() -> None:
    noise = """WARNING: Using incubator modules
26/11/18 15:12:26 WARN Utils: Your hostname, vm, resolves to a loopback address
Exception in thread "main" org.apache.spark.SparkException: Master must either be yarn or start with spark
\tat org.apache.spark.deploy.SparkSubmit.error(SparkSubmit.scala:1045)
java.base/java.lang.Thread.run(Thread.java:840)"""
    error = session._not_started(RuntimeError("gateway exited"), noise, "sprak://x")
    assert "Master must either be yarn" in error.details
    assert not any(word in error.details for word in (".scala:", "Thread.java", "loopback"))


def test_a_listener_that_is_no_master_is_named() -> None:
    stopped = RuntimeError("Cannot call methods on a stopped SparkContext.")
    error = session._not_started(stopped, "", "spark://10.0.0.1:7077")
    assert "spark://10.0.0.1:7077 does not answer as a Spark master" in str(error)
    assert error.exit_code == EXIT_UNKNOWN
