"""What a shell is told of a stack, and what it forgets of another."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from cli import env
from cli.__main__ import main

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Ask = Callable[..., list[str]]


@pytest.fixture
def said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Ask:
    home = tmp_path / ".kastellan"
    monkeypatch.setattr(env, "HOME", home)
    monkeypatch.setattr(env, "lay_out", lambda: None)
    (home / "local-spark" / "spark").mkdir(parents=True)
    (home / "local").mkdir()
    monkeypatch.delenv("SPARK_CONF_DIR", raising=False)

    def ask(*words: str) -> list[str]:
        assert main(["env", *words]) == 0
        names = ("PULUMI_STACK", "ANSIBLE_INVENTORY", "SPARK_CONF_DIR")
        return [line for line in capsys.readouterr().out.splitlines() if any(name in line for name in names)]

    return ask


def test_a_stack_with_hosts_of_spark_brings_the_drivers_settings(said: Ask, tmp_path: Path) -> None:
    told = said("local-spark")
    assert told[0] == "export PULUMI_STACK=local-spark"
    assert told[-1] == f"export SPARK_CONF_DIR={tmp_path}/.kastellan/local-spark/spark"
    assert len(told) == 3


def test_pulumi_is_told_to_fetch_no_plugins_on_its_own(capsys: pytest.CaptureFixture[str], said: Ask) -> None:
    said()
    assert main(["env"]) == 0
    assert "export PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION=true" in capsys.readouterr().out.splitlines()


@pytest.mark.parametrize("checkout", ["here", "another"])
def test_what_an_earlier_call_set_is_forgotten(said: Ask, checkout: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPARK_CONF_DIR", f"/{checkout}/.kastellan/local-spark/spark")
    assert said() == ["unset PULUMI_STACK ANSIBLE_INVENTORY SPARK_CONF_DIR"]
    assert "unset SPARK_CONF_DIR" in said("local")


@pytest.mark.parametrize("own", ["/etc/spark", "spark", ""])
def test_a_spark_of_ones_own_stays_known(said: Ask, monkeypatch: pytest.MonkeyPatch, own: str) -> None:
    monkeypatch.setenv("SPARK_CONF_DIR", own)
    assert said() == ["unset PULUMI_STACK ANSIBLE_INVENTORY"]
    assert not any("SPARK_CONF_DIR" in line for line in said("local"))
