"""Whatever a description of a stack holds: a plan comes of it, or the product's own error with a way out."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st

from infra.description import as_told, load_plan, plan_from
from infra.quantities import format_size, parse_size
from infra.state import ROOT
from tests.fuzz import TAGS, answered, any_text, bounded, junk, spoiled, torn

if TYPE_CHECKING:
    from pathlib import Path

    from infra.plan import StackPlan

STACKS = sorted((ROOT / "infra/stacks").glob("*.yaml"))
LOCAL = next(path for path in STACKS if path.stem == "local").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("stacks")


def planned(folder: Path, text: str, overrides: dict[str, Any] | None = None) -> StackPlan | None:
    """None: it was refused as it should be."""
    (folder / "local.yaml").write_text(text, encoding="utf-8")
    return answered(lambda: load_plan("local", folder=folder, overrides=overrides or {}))


def sound(plan: StackPlan) -> None:
    """What hosts are made of is of the types that it says, so nothing breaks later."""
    assert len({host.name for host in plan.hosts}) == len(plan.hosts) > 0
    for host in plan.hosts:
        assert isinstance(host.name, str)
        assert host.node_id is None or (type(host.node_id) is int and host.node_id >= 1)
        assert host.rack is None or isinstance(host.rack, str)
        assert all(type(size) is int for size in (host.memory_bytes, host.disk_bytes, host.address_index))


@bounded
@given(st.data())
def test_a_spoiled_description(folder: Path, data: st.DataObject) -> None:
    path = data.draw(st.sampled_from(STACKS))
    description = yaml.safe_load(path.read_text(encoding="utf-8"))
    text = yaml.safe_dump(data.draw(spoiled(description)), allow_unicode=True)
    plan = planned(folder, text)
    if plan:
        sound(plan)


@bounded
@given(torn(LOCAL))
def test_a_torn_file(folder: Path, text: str) -> None:
    plan = planned(folder, text)
    if plan:
        sound(plan)


@pytest.mark.parametrize("tag", TAGS)
def test_words_that_yaml_itself_stumbles_over(folder: Path, tag: str) -> None:
    planned(folder, f"provider: nspawn\nnetwork: {tag}\n")
    planned(folder, tag)


@bounded
@given(st.dictionaries(st.sampled_from(("groups", "network", "provider", "cloud", "hosts", "x")), junk, max_size=3))
def test_any_override(folder: Path, overrides: dict[str, Any]) -> None:
    plan = planned(folder, LOCAL, overrides)
    if plan:
        sound(plan)


@bounded
@given(any_text)
@example("[" * 5000)
@example("1" * 5000)
def test_any_text_of_pulumis_configuration(text: str) -> None:
    told = as_told(text)
    try:
        assert json.loads(text) == told or told != told  # noqa: PLR0124  NaN
    except (ValueError, RecursionError):
        assert told == text


@bounded
@given(st.integers(1, 10**9), st.sampled_from(("MiB", "GiB", "TiB")))
def test_a_size_comes_back_exactly(number: int, unit: str) -> None:
    assert parse_size(format_size(parse_size(f"{number}{unit}"))) == parse_size(f" {number} {unit} ")


@bounded
@given(junk)
def test_what_is_no_size_is_refused(value: Any) -> None:
    size = answered(lambda: parse_size(value), ValueError)
    assert size is None or size >= 0


@bounded
@given(junk)
def test_any_provider(value: Any) -> None:
    with pytest.raises(ValueError, match="provider is"):
        plan_from("local", {"provider": value})
