"""What `down` brings along, and what it leaves."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest

from cli import down
from cli.__main__ import build_parser
from common.errors import KastellanError
from tools.pulumi import plugins

if TYPE_CHECKING:
    from pathlib import Path


PROTECTED = {"urn": "urn:a::Volume::broker-1", "protect": True}
MADE = {"urn": "urn:a::Instance::broker-1", "provider": "urn:a::pulumi:providers:openstack::default_5_5_3::1"}
STACK = {"urn": "urn:a::pulumi:pulumi:Stack::kastellan", "type": "pulumi:pulumi:Stack"}


@pytest.mark.parametrize("volume", ["broker-1", "broker-1-data"])
def test_a_stack_that_keeps_its_data_is_left_alone(volume: str) -> None:
    with pytest.raises(KastellanError) as refusal:
        down.refuse_kept_data("openstack", [PROTECTED | {"urn": f"urn:a::Volume::{volume}"}, MADE])
    assert refusal.value.brief == "Stack openstack keeps its data: 1 volumes are protected."
    assert refusal.value.details == "Those of broker-1."
    assert "kastellan:keep_data false --stack openstack" in refusal.value.resolution
    down.refuse_kept_data("openstack", [MADE])


@dataclass
class Taken:
    """What became of a stack that is taken down."""

    monkeypatch: pytest.MonkeyPatch
    known: list[dict[str, Any]]
    there: bool = False
    done: list[str] = field(default_factory=list)

    def down(self, stack: str) -> list[str]:
        asked = json.dumps({"deployment": {"resources": self.known}})
        for name, stand_in in {
            "exists": lambda _: True,
            "repair": lambda _: [],
            "lay_out": lambda: None,
            "record_of": lambda _: None,
            "remove_state": lambda *_, **__: None,
            "pulumi": lambda *words: asked if "export" in words else self.done.append(words[1]),
            "run_shown": lambda argv, **_: self.done.append(argv[1]),
        }.items():
            self.monkeypatch.setattr(down, name, stand_in)
        self.monkeypatch.setattr(plugins, "is_there", lambda *_: self.there)
        self.monkeypatch.setattr(plugins, "ensure_plugin", lambda name, *_: self.done.append(name))
        assert down.run(build_parser().parse_args(["down", stack, "--yes"])) == 0
        return self.done


def test_kept_data_is_asked_for_before_the_first_machine_is_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    taken = Taken(monkeypatch, [PROTECTED, MADE])
    with pytest.raises(KastellanError, match="keeps its data"):
        taken.down("openstack")
    assert taken.done == []


@pytest.mark.parametrize(
    ("stack", "known", "there", "done"),
    [
        ("openstack", [STACK, MADE], False, ["openstack", "destroy", "rm"]),
        ("openstack", [STACK, MADE], True, ["destroy", "rm"]),
        ("openstack", [STACK], False, ["destroy", "rm"]),
        ("openstack", [], False, ["destroy", "rm"]),
        ("local", [STACK, PROTECTED], False, ["destroy", "rm"]),
    ],
)
def test_a_clouds_plugin_is_brought_if_something_was_made_by_it(
    stack: str, known: list[dict[str, Any]], there: bool, done: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The checkout that takes hosts down need not be the one that made them."""
    assert Taken(monkeypatch, known, there).down(stack) == done


def test_down_has_nothing_to_do_where_only_reports_are_left(tmp_path: Path) -> None:
    assert down.state_of(tmp_path / "never", purge=False) == []
    (tmp_path / "runs/one").mkdir(parents=True)
    assert down.state_of(tmp_path, purge=False) == []
    assert down.state_of(tmp_path, purge=True) == [tmp_path / "runs"]
    (tmp_path / "version").touch()
    assert down.state_of(tmp_path, purge=False) == [tmp_path / "version"]
