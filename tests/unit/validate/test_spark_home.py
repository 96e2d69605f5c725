"""Where Spark's home lies, and when it is used."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from validate import spark_home

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The place of the home in a cache that is empty yet."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("SPARK_HOME", "")  # so that what the product sets there is taken back
    monkeypatch.delenv("SPARK_HOME")
    monkeypatch.setattr(spark_home, "_java", lambda: 'openjdk version "17.0.15"')
    place = spark_home.place()
    assert place is not None
    return place


def made(home: Path) -> None:
    home.mkdir(parents=True)
    (home / spark_home.ARCHIVE).touch()


def test_half_a_home_is_none(home: Path) -> None:
    home.mkdir(parents=True)
    assert spark_home.ready() is None
    assert spark_home.options() == []
    assert "SPARK_HOME" not in os.environ


def test_a_whole_home_is_used(home: Path) -> None:
    made(home)
    assert any(str(home / spark_home.ARCHIVE) in option for option in spark_home.options())
    assert os.environ["SPARK_HOME"] == str(home)


def test_the_users_own_home_goes_first(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made(home)
    monkeypatch.setenv("SPARK_HOME", "/opt/spark")
    assert spark_home.options() == []
    assert os.environ["SPARK_HOME"] == "/opt/spark"


def test_another_java_has_another_home(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spark_home, "_java", lambda: 'openjdk version "21.0.2"')
    assert spark_home.place() != home


def test_without_java_there_is_none(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made(home)
    monkeypatch.setattr(spark_home, "_java", lambda: None)
    assert spark_home.ready() is None
    assert "no Java" in spark_home.ensure()


def test_a_java_that_keeps_no_classes_is_asked_once(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[object] = []
    monkeypatch.setattr(spark_home, "run", lambda *words, **_: asked.append(words))
    assert "keeps no classes" in spark_home.ensure()
    assert "keeps no classes" in spark_home.ensure()
    assert len(asked) == 1
    assert {path.name for path in home.iterdir()} >= {"jars", "bin", spark_home.NONE}
