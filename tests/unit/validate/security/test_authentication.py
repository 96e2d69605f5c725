"""Checks of logins on a broker made up for them: what it says, and how late."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

import pytest

from tests.unit.validate.control import cluster
from validate.security import authentication, run
from validate.security.registry import CHECKS
from validate.security.scene import Scene
from validate.security.wire import LOGIN_FAILED, NONE, Login

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

REFUSED, LET_IN = Login(LOGIN_FAILED, "Authentication failed"), Login(NONE)


@pytest.fixture
def scene(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Scene]:
    monkeypatch.setattr(Scene, "password", lambda *_: "right")
    with contextlib.closing(Scene(cluster(tmp_path))) as made:
        yield made


def checked(scene: Scene, number: int) -> tuple[str, list[str]]:
    result = run.run_check(CHECKS[number], scene, consent=True)
    return result["verdict"], result["seen"]


@pytest.mark.parametrize(
    ("wrong", "right", "verdict"),
    [
        ((0.12, REFUSED), (0.02, LET_IN), "passed"),
        ((0.12, REFUSED), (0.11, LET_IN), "failed"),  # a slow broker is no delay
        ((0.12, REFUSED), (0.02, REFUSED), "unknown"),
        ((0.12, LET_IN), (0.02, LET_IN), "failed"),
    ],
)
def test_a_failed_login_is_late_against_right_ones_alone(
    wrong: Any, right: Any, verdict: str, scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(authentication, "timed", lambda *said: right if said[-1] == "right" else wrong)
    assert checked(scene, 22)[0] == verdict
