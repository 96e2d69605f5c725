"""Whose plugin is used, and that a built one knows all that the program asks for."""

from __future__ import annotations

import json
import os
import re
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from common.errors import KastellanError
from tests.unit.infra import test_libvirt, test_openstack
from tests.unit.infra.clouds import run_program
from tools.pulumi import plugins, reach
from tools.sums import write_sum

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).resolve().parents[3]
# Answers like Pulumi, and writes down what it was asked. Official plugins are there if the file `reachable` is. What it
# installs lies in a folder of its own, anew each time.
PULUMI = """#!/bin/sh
here=$(dirname "$0")
echo "$*" >> "$here/asked"
case "$*" in
"plugin ls"*) cat "$here/plugins"; exit ;;
*--file*) ;;
*) [ -e "$here/reachable" ] || exit 1 ;;
esac
kept="$PULUMI_HOME/plugins/resource-$5-v$6"
rm -rf "$kept"
mkdir -p "$kept"
cp "${8:-$here/reachable}" "$kept/pulumi-resource-$5"
"""

OPENSTACK = {"kind": "resource", "name": "openstack", "version": "5.5.3"}
# Says that it is new enough, and writes what is asked of it.
GO = """#!/bin/sh
case "$1" in
env) echo go1.26.8 ;;
list)
    mkdir -p "$GOCACHE"
    echo "$*" >> "$(dirname "$0")/listed"
    ;;
build)
    while [ "$1" != -o ]; do shift; done
    echo "$3" > "$2"
    ;;
esac
"""


class FakePulumi:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.environ = {**os.environ, "PATH": f"{folder}:/usr/bin:/bin", "PULUMI_HOME": str(folder / "home")}
        program = folder / "pulumi"
        program.write_text(PULUMI)
        program.chmod(0o755)
        self.has([])

    def has(self, found: list[dict[str, str]]) -> None:
        (self.folder / "plugins").write_text(json.dumps(found))

    def kept(self) -> Path:
        return Path(self.environ["PULUMI_HOME"]) / "plugins/resource-openstack-v5.5.3"

    def installed(self) -> list[str]:
        lines = (self.folder / "asked").read_text().splitlines()
        return [line for line in lines if line.startswith("plugin install")]


@pytest.fixture
def pulumi(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakePulumi:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    monkeypatch.setattr(
        reach, "_answers", lambda *_: (folder / "reachable").exists() or (folder / "answering").exists()
    )
    return FakePulumi(folder)


@pytest.fixture
def build(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Builds that were begun."""
    begun: list[str] = []

    def pretend(name: str) -> None:
        begun.append(name)
        plugins.built_path(name).parent.mkdir(parents=True, exist_ok=True)
        plugins.built_path(name).write_bytes(b"program of " + plugins.MODULE)
        write_sum(plugins.built_path(name))

    monkeypatch.setattr(plugins, "_build", pretend)
    return begun


def test_what_pulumi_has_is_left_alone(pulumi: FakePulumi, build: list[str]) -> None:
    pulumi.has([OPENSTACK])
    assert plugins.ensure_plugin("openstack", pulumi.environ) == "5.5.3, there before"
    assert (pulumi.installed(), build) == ([], [])


def test_another_version_is_not_what_is_needed(pulumi: FakePulumi, build: list[str]) -> None:
    pulumi.has([{"kind": "resource", "name": "openstack", "version": "5.5.2"}, {"kind": "language", "name": "python"}])
    (pulumi.folder / "reachable").touch()
    assert plugins.ensure_plugin("openstack", pulumi.environ) == "5.5.3, Pulumi's own"
    assert pulumi.installed() == ["plugin install --non-interactive resource openstack 5.5.3 --reinstall"]
    assert build == []


def test_where_pulumi_is_not_reached_it_is_built_once(pulumi: FakePulumi, build: list[str]) -> None:
    assert plugins.ensure_plugin("openstack", pulumi.environ) == "5.5.3, built from Go modules"
    assert plugins.ensure_plugin("openstack", pulumi.environ) == "5.5.3, built before"
    assert build == ["openstack"]
    handed_over = f"--file {plugins.built_path('openstack')} --reinstall"
    assert [line.partition(" openstack 5.5.3")[2].strip() for line in pulumi.installed()] == [handed_over, handed_over]


@pytest.mark.parametrize("marked", [True, False], ids=["marked", "of a time without marks"])
def test_one_that_was_built_of_something_else_is_built_again(
    pulumi: FakePulumi, build: list[str], monkeypatch: pytest.MonkeyPatch, *, marked: bool
) -> None:
    """Its version is the same: what it knows of a cloud is not."""
    recipe = plugins._recipe
    monkeypatch.setattr(plugins, "_recipe", lambda _: "another")
    plugins.ensure_plugin("openstack", pulumi.environ)
    pulumi.has([OPENSTACK])
    assert plugins.ensure_plugin("openstack", pulumi.environ) == "5.5.3, there before"
    monkeypatch.setattr(plugins, "_recipe", recipe)
    if not marked:
        (pulumi.kept() / plugins.MARK).unlink()
    assert plugins.ensure_plugin("openstack", pulumi.environ) == "5.5.3, built from Go modules"
    assert plugins.ensure_plugin("openstack", pulumi.environ) == "5.5.3, there before"
    assert build == ["openstack", "openstack"]
    monkeypatch.setattr(plugins, "_recipe", lambda _: "a third")
    (pulumi.folder / "reachable").touch()
    assert plugins.ensure_plugin("openstack", pulumi.environ) == "5.5.3, Pulumi's own"
    assert plugins.ensure_plugin("openstack", pulumi.environ) == "5.5.3, there before"


def test_the_mark_of_a_built_one_is_in_the_program() -> None:
    assert f"module {plugins.MODULE.decode()}" in (plugins.SOURCES / "go.mod").read_text().splitlines()


def test_the_user_hears_what_is_being_done(pulumi: FakePulumi, build: list[str]) -> None:
    told: list[str] = []
    plugins.ensure_plugin("openstack", pulumi.environ, told.append)
    assert told == [
        "asking Pulumi's site, 10 s at most",
        "Nobody answers where Pulumi has its plugin for openstack; building it from Go modules, once, about 5 minutes",
    ]
    assert build == ["openstack"]


def test_what_a_site_that_answers_does_not_give_is_built(pulumi: FakePulumi, build: list[str]) -> None:
    (pulumi.folder / "answering").touch()
    told: list[str] = []
    assert plugins.ensure_plugin("openstack", pulumi.environ, told.append) == "5.5.3, built from Go modules"
    assert pulumi.installed()[0] == "plugin install --non-interactive resource openstack 5.5.3 --reinstall"
    assert told[1] == "fetching it from Pulumi's site"
    assert told[2].endswith("; building it from Go modules, once, about 5 minutes")
    assert build == ["openstack"]


def test_a_build_leaves_the_program_and_nothing_else(pulumi: FakePulumi) -> None:
    go = pulumi.folder / "go"
    go.write_text(GO)
    go.chmod(0o755)
    assert plugins.ensure_plugin("libvirt", pulumi.environ) == "0.5.4, built from Go modules"
    assert plugins.built_path("libvirt").read_text() == "./libvirt\n"
    assert (pulumi.folder / "listed").read_text() == "list -deps ./libvirt\n"  # what may hang comes first, with a bound
    cache = plugins.built_path("libvirt").parents[2]
    assert list((cache / "build").iterdir()) == []
    assert {path.name for path in (cache / "tools").iterdir()} == {
        plugins.built_path("libvirt").parent.name,
        "plugin-libvirt.lock",
    }


@pytest.mark.parametrize("spoil", [lambda path: path.write_text("progra"), lambda path: path.unlink()])
def test_a_built_plugin_that_was_altered_is_built_again(pulumi: FakePulumi, spoil: Callable[[Path], object]) -> None:
    go = pulumi.folder / "go"
    go.write_text(GO)
    go.chmod(0o755)
    assert plugins.ensure_plugin("libvirt", pulumi.environ) == "0.5.4, built from Go modules"
    spoil(plugins.built_path("libvirt"))
    assert plugins.ensure_plugin("libvirt", pulumi.environ) == "0.5.4, built from Go modules"
    assert plugins.built_path("libvirt").read_text() == "./libvirt\n"
    assert plugins.ensure_plugin("libvirt", pulumi.environ) == "0.5.4, built before"


def test_a_plugin_that_cannot_be_built_is_asked_for(pulumi: FakePulumi, build: list[str]) -> None:
    with pytest.raises(KastellanError) as refusal:
        plugins.ensure_plugin("aws", pulumi.environ)
    assert refusal.value.brief == "Nobody answers where Pulumi has its plugin for aws."
    assert "Not within 10 s: https://github.com/pulumi/pulumi-aws/releases/download/v7.51.1/" in refusal.value.details
    assert "pulumi plugin install resource aws 7.51.1 --file FILE" in refusal.value.resolution
    assert pulumi.installed() == []
    assert build == []


def test_versions_are_those_of_the_packages() -> None:
    text = (ROOT / "requirements-clouds.in").read_text()
    assert dict(re.findall(r"^pulumi-(\w+) == (\S+)$", text, re.MULTILINE)) == plugins.VERSIONS
    for name in plugins.BUILT_HERE:
        table = json.loads((plugins.SOURCES / name / "table.json").read_text())
        assert (table["name"], table["version"]) == (name, plugins.VERSIONS[name])


@pytest.mark.parametrize("name", plugins.BUILT_HERE)
def test_a_built_plugin_knows_all_that_the_program_uses(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LIBVIRT_DEFAULT_URI", "qemu:///system")
    module = {"openstack": test_openstack, "libvirt": test_libvirt}[name]
    seen = module.cloud()
    run_program(seen, module.described(), tmp_path)
    used = {request.type for request in seen.requests.values() if request.type.startswith(f"{name}:")}
    table = json.loads((plugins.SOURCES / name / "table.json").read_text())
    assert used
    assert used <= set(table["resources"].values())
    assert {word for word, _ in seen.asked} <= {token.rpartition(":")[2] for token in table["functions"].values()}


def test_a_change_of_what_goes_in_makes_another_build(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    path: Callable[[str], Path] = plugins.built_path
    before = {name: path(name) for name in plugins.BUILT_HERE}
    shutil.copytree(plugins.SOURCES, tmp_path / "sources")
    monkeypatch.setattr(plugins, "SOURCES", tmp_path / "sources")
    assert {name: path(name) for name in plugins.BUILT_HERE} == before
    (tmp_path / "sources/libvirt/table.json").write_text("{}")
    assert path("openstack") == before["openstack"]
    assert path("libvirt") != before["libvirt"]
