"""What a module documents is what it takes."""

from __future__ import annotations

import ast
import importlib
from pathlib import Path
from typing import Any

import pytest
import yaml

FOLDER = Path(__file__).parents[3] / "plugins" / "modules"
# What stands beside an action plugin is its documentation alone.
MODULES = sorted(path.stem for path in FOLDER.glob("[!_]*.py") if path.stem != "stack_secrets")


def documents(name: str) -> dict[str, Any]:
    """DOCUMENTATION, EXAMPLES and RETURN as Ansible reads them: from the source."""
    tree = ast.parse((FOLDER / f"{name}.py").read_text(encoding="utf-8"))
    texts = {
        node.targets[0].id: node.value.value
        for node in tree.body
        if isinstance(node, ast.Assign)
        and isinstance(node.targets[0], ast.Name)
        and isinstance(node.value, ast.Constant)
    }
    return {key: yaml.safe_load(str(texts[key])) for key in ("DOCUMENTATION", "EXAMPLES", "RETURN")}


def merged_options(documentation: dict[str, Any]) -> dict[str, Any]:
    """As Ansible merges them: what a module says of an option itself counts more."""
    options = dict(documentation.get("options", {}))
    for fragment in documentation.get("extends_documentation_fragment", []):
        file, part = (*fragment.split(".")[2:], "documentation")[:2]
        found = importlib.import_module(f"plugins.doc_fragments.{file}").ModuleDocFragment
        for option, said in yaml.safe_load(getattr(found, part.upper()))["options"].items():
            options[option] = said | options.get(option, {})
    return options


def check_same(options: dict[str, Any], spec: dict[str, Any], where: str) -> None:
    assert options.keys() == spec.keys(), where
    for name, option in options.items():
        taken = spec[name]
        for key in ("type", "default", "choices", "required", "elements", "aliases"):
            assert option.get(key) == taken.get(key), f"{where}{name}: {key}"
        assert option["description"], f"{where}{name}"
        if "options" in taken:
            check_same(option["suboptions"], taken["options"], f"{where}{name}.")


@pytest.mark.parametrize("name", MODULES)
def test_documented_options_are_those_of_the_argument_spec(name: str) -> None:
    module = importlib.import_module(f"plugins.modules.{name}")
    check_same(merged_options(documents(name)["DOCUMENTATION"]), module.SPEC, "")


@pytest.mark.parametrize("name", MODULES)
def test_examples_call_the_module_by_its_full_name(name: str) -> None:
    assert all(f"kastellan.kafka.{name}" in task for task in documents(name)["EXAMPLES"])


@pytest.mark.parametrize("name", MODULES)
def test_every_returned_value_is_described(name: str) -> None:
    assert all({"description", "returned", "type"} <= value.keys() for value in documents(name)["RETURN"].values())
