"""The inventories that docs/how-to/zookeeper.md shows are such as preflight has nothing against."""

from __future__ import annotations

import re
import textwrap
from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible.inventory.manager import InventoryManager
from ansible.parsing.dataloader import DataLoader
from ansible.vars.manager import VariableManager

from plugins.filter import kafka as filters
from plugins.module_utils import preflight_rules, zookeeper_elsewhere, zookeeper_properties

ROOT = Path(__file__).resolve().parents[3]
PAGE = (ROOT / "docs/how-to/zookeeper.md").read_text(encoding="utf-8")
# An inventory begins with a group, and goes on as long as lines are indented or empty.
SHOWN = [textwrap.dedent(text) for text in re.findall(r"\n\n((?:    \[[^\n]*\n(?:    [^\n]*\n|\n)*))", PAGE)]
DEFAULTS: dict[str, Any] = yaml.safe_load((ROOT / "roles/kafka/defaults/main.yml").read_text(encoding="utf-8"))


def described(text: str, folder: Path) -> tuple[dict[str, Any], dict[str, Any], list[str]]:
    """What role kafka makes of an inventory: the context of its rules, what it knows of the ensemble, all names."""
    path = folder / "hosts.ini"
    path.write_text(text, encoding="utf-8")
    loader = DataLoader()
    inventory = InventoryManager(loader=loader, sources=[str(path)])
    hostvars = {h.name: VariableManager(loader, inventory).get_vars(host=h) for h in inventory.get_hosts()}
    groups = inventory.get_groups_dict()
    some = {**DEFAULTS, **hostvars[groups["kafka"][0]]}
    connect, keepers = some["kafka_zookeeper_connect"], groups.get("zookeeper", [])
    zookeeper = {
        "members": zookeeper_elsewhere.listed(connect) if connect else zookeeper_properties.members(keepers, hostvars),
        "chroot": some["kafka_zookeeper_chroot"], "group": len(keepers), "connect": connect,
        "login": {name: some[f"kafka_zookeeper_{name}"] for name in zookeeper_elsewhere.LOGIN},
    }  # fmt: skip
    nodes = filters.nodes(groups["kafka"], hostvars)
    context = {
        **{key.removeprefix("kafka_"): value for key, value in DEFAULTS.items()},
        "mode": some["kafka_mode"], "version": some["kafka_version"], "nodes": nodes, "zookeeper": zookeeper,
        "waivers": [],
    }  # fmt: skip
    named = [name for variables in hostvars.values() for name in variables if name.startswith(("kafka_", "zookeeper_"))]
    return context, zookeeper, named


def test_both_shapes_are_shown() -> None:
    assert ["kafka_zookeeper_connect" in text for text in SHOWN] == [False, True]


@pytest.mark.parametrize("text", SHOWN, ids=["one ZooKeeper and three brokers", "an ensemble of others"])
def test_a_shown_inventory_is_a_good_one(text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # The files are the reader's.
    monkeypatch.setattr(zookeeper_elsewhere, "_bad", lambda *_: [])
    context, zookeeper, named = described(text, tmp_path)
    assert preflight_rules.unknown_variables(named, filters.known_variables(str(ROOT / "roles"))) == []
    assert preflight_rules.inventory_problems(context) == []
    assert [node["roles"] for node in context["nodes"]] == [["kafka_broker"]] * 3
    assert len(zookeeper["members"]) == (3 if zookeeper["connect"] else 1)
