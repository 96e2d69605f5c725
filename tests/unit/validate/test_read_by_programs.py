"""Output that programs read: a name is never broken, and who has read enough is no crash; and what brokers are asked."""

from __future__ import annotations

import subprocess
import sys
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from tests.unit.validate.control import cluster
from tests.unit.validate.test_workplace import future
from validate import admin
from validate.__main__ import main

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


def test_a_line_of_the_list_is_a_row(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list"]) == 0
    lines = [line for line in capsys.readouterr().out.splitlines() if line.startswith("lazy-commits-half-second ")]
    assert len(lines) == 1
    assert "taken for dead" in lines[0]


def test_whoever_has_read_enough_is_no_crash() -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "validate", "list", "--json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()  # before its first word: nobody reads
    told = process.stderr.read()
    assert (process.wait(60), told) == (2, "")


def test_brokers_are_asked_one_by_one_for_the_session_they_allow(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """librdkafka takes one broker a call, and the strictest of them decides."""
    allowed = {"1": 6000, "2": 500}

    def describe(asked: list[Any], **_: Any) -> dict[Any, Any]:
        (resource,) = asked
        return {resource: future({admin.LEAST_SESSION: SimpleNamespace(value=str(allowed[resource.name]))})}

    client = SimpleNamespace(describe_configs=describe, list_topics=lambda **_: SimpleNamespace(brokers={1: "", 2: ""}))
    monkeypatch.setattr(admin, "admin_client", lambda *_: client)
    monkeypatch.setattr("validate.cluster.Cluster._bundle", lambda *_: {})
    assert admin.Admin(cluster(tmp_path)).least_session_ms() == 6000
