"""What is documented is what there is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from tools import readmes

ROOT = Path(__file__).resolve().parents[3]
ROLES = sorted(path.name for path in (ROOT / "roles").iterdir() if (path / "meta").is_dir())


def load(path: Path) -> Any:
    return yaml.safe_load(path.read_text(encoding="utf-8"))


@pytest.mark.parametrize("role", ROLES)
def test_specs_and_defaults_agree(role: str) -> None:
    options = load(ROOT / "roles" / role / "meta" / "argument_specs.yml")["argument_specs"]["main"]["options"]
    defaults = load(ROOT / "roles" / role / "defaults" / "main.yml") or {}
    assert {name: option["default"] for name, option in options.items() if "default" in option} == defaults


@pytest.mark.parametrize("role", ROLES)
def test_public_names_have_the_role_s_prefix(role: str) -> None:
    options = load(ROOT / "roles" / role / "meta" / "argument_specs.yml")["argument_specs"]["main"]["options"]
    assert [name for name in options if not name.startswith(f"{role}_")] == []


@pytest.mark.parametrize(
    "path", sorted((ROOT / "roles").glob("*/tasks/*.yml")), ids=lambda path: "/".join(path.parts[-3:])
)
def test_task_files_are_short(path: Path) -> None:
    assert len(path.read_text(encoding="utf-8").splitlines()) <= 150


def test_drift_runs_what_site_runs() -> None:
    """One more task at its end, and check mode: else drift would tell of another cluster."""
    site, drift = (load(ROOT / "playbooks" / f"{name}.yml") for name in ("site", "drift"))
    assert [play["hosts"] for play in drift] == [play["hosts"] for play in site]
    assert [task for play in drift for task in play["tasks"]][:-1] == [task for play in site for task in play["tasks"]]
    assert all(play["check_mode"] is True for play in drift)


@pytest.mark.parametrize("role", readmes.roles(), ids=lambda role: role.name)
def test_readmes_are_fresh(role: Path) -> None:
    fresh = readmes.readme(role) == (role / "README.md").read_text(encoding="utf-8")
    assert fresh, "Run python -m tools.readmes."
