"""What is documented is what there is."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from jinja2 import Environment

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


def imports(play: dict[str, Any]) -> list[dict[str, Any]]:
    return [task["ansible.builtin.import_role"] for task in play["tasks"]]


def test_preflight_asks_what_site_asks_first() -> None:
    site, preflight = (load(ROOT / "playbooks" / f"{name}.yml") for name in ("site", "preflight"))
    asked = [
        (play["hosts"], role) for play in site for role in imports(play) if role.get("tasks_from") == "preflight.yml"
    ]
    assert [(play["hosts"], role) for play in preflight for role in imports(play)] == asked
    assert {hosts for hosts, _ in asked} == {play["hosts"] for play in site}
    assert all(play["check_mode"] is True for play in preflight)


@pytest.mark.parametrize(("others", "early"), [((), False), (("zookeeper",), True), (("spark",), True)])
def test_kafka_s_description_is_refused_before_other_hosts_are_changed(others: tuple[str, ...], *, early: bool) -> None:
    """Where Kafka's are the only hosts, their own play says it as early."""
    first = load(ROOT / "playbooks" / "site.yml")[0]
    assert imports(first) == [{"name": "kastellan.kafka.kafka", "tasks_from": "declared.yml"}]
    asks = Environment(autoescape=True).compile_expression(first["tasks"][0]["when"])
    assert asks(groups={"kafka": ["a"], **{name: ["b"] for name in others}}) is early


def test_reset_goes_wherever_site_goes() -> None:
    site, reset = (load(ROOT / "playbooks" / f"{name}.yml") for name in ("site", "reset"))
    went = {play["hosts"] for play in site}
    assert {play["hosts"] for play in reset[1:]} == went
    assert set(reset[0]["hosts"].split(":")) == went, "who asks names all hosts"


@pytest.mark.parametrize("stack", sorted((ROOT / "inventories").iterdir()), ids=lambda stack: stack.name)
def test_an_inventory_names_no_stack_but_its_own(stack: Path) -> None:
    """Most of one begins as a copy of another."""
    texts = [path.read_text(encoding="utf-8") for path in stack.rglob("*.yml")]
    named = {name for text in texts for name in re.findall(r"\bof stack ([\w-]+)|\.kastellan/([\w-]+)/", text)}
    assert {own or state for own, state in named} <= {stack.name}


@pytest.mark.parametrize("role", readmes.roles(), ids=lambda role: role.name)
def test_readmes_are_fresh(role: Path) -> None:
    fresh = readmes.readme(role) == (role / "README.md").read_text(encoding="utf-8")
    assert fresh, "Run python -m tools.readmes."
