"""Pulumi's programs in the cache: what no longer is what was built is noticed, and built again."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tools.pulumi import build
from tools.sums import sha256_of

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def begun(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """Builds that were begun."""
    folders: list[Path] = []

    def pretend(folder: Path) -> None:
        folders.append(folder)
        folder.mkdir(parents=True, exist_ok=True)
        for name in build.PROGRAMS:
            (folder / name).write_text(name)
        sums = {name: sha256_of(folder / name) for name in build.PROGRAMS}
        (folder / build.MANIFEST).write_text(json.dumps(sums))

    monkeypatch.setattr(build, "_build", pretend)
    monkeypatch.setattr(build, "on_path", lambda: None)
    monkeypatch.setattr(build, "tools_path", lambda: tmp_path / "tools" / "pulumi")
    return folders


@pytest.mark.parametrize("spoiled", ["pulumi", "pulumi-language-python", build.MANIFEST])
def test_what_was_cut_off_is_noticed_and_built_again(spoiled: str, begun: list[Path]) -> None:
    said = [build.ensure_pulumi(), build.ensure_pulumi()]
    assert build.damaged() == []
    path = build.tools_path() / spoiled
    path.write_bytes(path.read_bytes()[:-1])
    assert build.damaged() == [spoiled]
    said.append(build.ensure_pulumi())
    assert [word.rpartition(", ")[2] for word in said] == ["built", "built before", "built"]
    assert build.damaged() == []
    assert len(begun) == 2
