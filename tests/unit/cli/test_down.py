"""What `down` brings along, and what it leaves."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from cli import down
from tools.pulumi import plugins

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(("stack", "asked"), [("openstack", ["openstack"]), ("aws", ["aws"]), ("local", [])])
def test_down_brings_a_clouds_plugin(stack: str, asked: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """The checkout that takes hosts down need not be the one that made them."""
    brought: list[str] = []
    monkeypatch.setattr(plugins, "ensure_plugin", lambda name, *_: brought.append(name))
    down.bring_plugin(stack)
    assert brought == asked


def test_down_has_nothing_to_do_where_only_reports_are_left(tmp_path: Path) -> None:
    assert down.state_of(tmp_path / "never", purge=False) == []
    (tmp_path / "runs/one").mkdir(parents=True)
    assert down.state_of(tmp_path, purge=False) == []
    assert down.state_of(tmp_path, purge=True) == [tmp_path / "runs"]
    (tmp_path / "version").touch()
    assert down.state_of(tmp_path, purge=False) == [tmp_path / "version"]
