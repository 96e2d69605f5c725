"""Which checks of the security proof are shown to turn red by a cluster that was broken, and why others are not."""

from __future__ import annotations

import ast
import contextlib
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.system.cluster import breaking, sabotages
from tests.system.cluster.breaking import CONFIG, DROP_IN, NEIGHBOURS, Ground, Part, Sabotage, proven, restarted, shell
from tests.system.zookeeper.breaks import NEIGHBOURS as BY_THE_ENSEMBLE
from validate.security.registry import CHECKS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

LEAST, EACH_TIME = 40, 10
SHOWN = frozenset().union(*(one.checks for one in sabotages.ALL))
SYSTEM = Path(breaking.__file__).parent.parent


def test_forty_checks_at_least_are_shown_and_each_other_has_its_reason() -> None:
    assert len(SHOWN) >= LEAST
    assert set(CHECKS) - SHOWN == set(sabotages.NONE)
    assert all(reason.strip() for reason in sabotages.NONE.values())


def test_ten_are_tried_each_time_and_none_of_them_restarts_anything() -> None:
    names = [one.name for one in sabotages.ALL]
    assert len(set(names)) == len(names)
    assert len(sabotages.USUAL) == EACH_TIME
    assert {one.name for one in sabotages.SWIFT} >= sabotages.USUAL
    families = {
        CHECKS[number].family for one in sabotages.SWIFT if one.name in sabotages.USUAL for number in one.checks
    }
    assert families == {"transport", "authentication", "authorization", "controller", "host"}


@pytest.mark.parametrize("one", sabotages.ALL, ids=lambda one: one.name)
def test_what_a_sabotage_says_of_itself_can_be(one: Sabotage) -> None:
    assert one.checks
    assert not one.checks & (one.beside | one.perhaps)
    assert not one.beside & one.perhaps
    assert set(one.said) <= one.seen_by
    assert one.perhaps <= set(one.neighbours) | one.seen_by
    assert {*one.neighbours, *one.seen_by} <= set(CHECKS)
    mode = "zookeeper" if one in sabotages.ENSEMBLE else "kraft"
    assert [n for n in {*one.neighbours, *one.seen_by} if mode not in CHECKS[n].modes] == []


@pytest.mark.parametrize(("numbers", "mode"), [(NEIGHBOURS, "kraft"), (BY_THE_ENSEMBLE, "zookeeper")])
def test_neighbours_are_of_every_family_that_is_asked_of_hosts(numbers: tuple[int, ...], mode: str) -> None:
    assert all(mode in CHECKS[number].modes for number in numbers)
    assert {CHECKS[n].family for n in numbers} >= {"transport", "authorization", "controller", "host"}


@pytest.mark.parametrize(
    ("file", "tables"),
    [("cluster/test_security.py", {"SWIFT", "RESTARTS"}), ("zookeeper/test_security.py", {"ENSEMBLE"})],
)
def test_every_sabotage_is_a_test(file: str, tables: set[str]) -> None:
    """A table that no test goes through would show nothing, and be counted."""
    tree = ast.parse((SYSTEM / file).read_text(encoding="utf-8"))
    walked = {
        generator.iter.id
        for test in tree.body
        if isinstance(test, ast.FunctionDef)
        for mark in test.decorator_list
        for node in ast.walk(mark)
        if isinstance(node, ast.ListComp)
        for generator in node.generators
        if isinstance(generator.iter, ast.Name)
    }
    assert walked == tables
    assert (*sabotages.SWIFT, *sabotages.RESTARTS, *sabotages.ENSEMBLE) == sabotages.ALL


class Pretended(Ground):
    """No host: it remembers what root would have been told, and what checks would say."""

    def __init__(self, found: dict[int, dict[str, Any]], *, refuses: str = "") -> None:
        object.__setattr__(self, "cluster", None)
        object.__setattr__(self, "told", [])
        object.__setattr__(self, "found", found)
        object.__setattr__(self, "refuses", refuses)

    told: list[tuple[str, str]]
    found: dict[int, dict[str, Any]]
    refuses: str

    def root(self, script: str, host: str = breaking.HOST) -> str:
        self.told.append((host, script))
        assert not self.refuses or self.refuses not in script
        return ""

    def await_whole(self) -> None:
        self.told.append(("all", "whole"))

    def verdicts(self, numbers: Sequence[int]) -> dict[int, dict[str, Any]]:
        return {number: self.found.get(number, {"verdict": "passed", "seen": []}) for number in numbers}


def seen(verdict: str, *lines: str) -> dict[str, Any]:
    return {"verdict": verdict, "seen": list(lines)}


ONE = Sabotage("one", frozenset({65}), shell("break", "mend"), beside=frozenset({28}), said={65: "port 4444"})
WELL = {65: seen("failed", "broker-2: port 4444 from outside: refused"), 28: seen("unknown", "no twin")}


@pytest.mark.parametrize(
    ("found", "well"),
    [
        (WELL, True),
        ({28: WELL[28]}, False),  # its check stays green
        ({65: WELL[65]}, False),  # what looks at the same thing stays green
        (WELL | {65: seen("unknown", "port 4444: silent")}, False),  # unknown is not failed
        (WELL | {44: seen("failed", "x")}, False),  # an unrelated one turns red
        (WELL | {44: seen("unknown", "x")}, False),
        (WELL | {65: seen("failed", "broker-1: port 7")}, False),  # red for something else
    ],
)
def test_a_sabotage_is_proven_by_its_checks_alone(found: dict[int, Any], well: bool) -> None:
    ground = Pretended(found)
    with contextlib.nullcontext() if well else pytest.raises(AssertionError):
        proven(ONE, ground, mended=False)
    assert ground.told[0] == (breaking.HOST, "break")
    assert "( mend ) || bad=1" in ground.told[-1][1]


def test_what_is_red_after_the_mending_is_told() -> None:
    with pytest.raises(AssertionError, match="port 4444"):
        proven(ONE, Pretended(WELL), mended=True)


@pytest.mark.parametrize("red", [{29}, {29, 49}, set()])
def test_what_is_chance_may_be_red_or_not(red: set[int]) -> None:
    one = replace(ONE, perhaps=frozenset({29, 49}))
    proven(one, Pretended(WELL | {number: seen("failed", "x") for number in red}), mended=False)


def test_it_is_mended_though_the_break_came_about_by_half() -> None:
    ground = Pretended(WELL, refuses="break")
    with pytest.raises(AssertionError):
        proven(ONE, ground, mended=False)
    assert "( mend ) || bad=1" in ground.told[-1][1]


def test_every_step_of_a_mending_is_tried_and_the_worst_is_told(tmp_path: Path) -> None:
    ground = Pretended({})
    ground.mend(["false", f"touch {tmp_path}/second"])
    done = subprocess.run(["bash", "-e"], input=ground.told[0][1], text=True, check=False)
    assert (done.returncode, (tmp_path / "second").exists()) == (1, True)
    ground.mend(["true"])
    assert subprocess.run(["bash", "-e"], input=ground.told[1][1], text=True, check=False).returncode == 0


def test_one_restart_takes_all_parts_and_gives_everything_back() -> None:
    parts = (
        Part("a", frozenset({3}), frozenset({26}), edits=("s/a/b/",), said={3: "x"}),
        Part("b", frozenset({26, 60}), unit=("UMask=0",), files=lambda _, host: {"/etc/kafka/f": f"of {host}'s"}),
    )
    one = restarted("both", *parts, host="broker-3")
    assert (set(one.checks), set(one.beside), dict(one.said)) == ({3, 26, 60}, set(), {3: "x"})
    ground = Pretended({})
    with one.act(ground):
        pass
    (host, broken), _, (_, mended), last = ground.told
    assert (host, last) == ("broker-3", ("all", "whole"))
    assert broken.startswith(f"cp -p {CONFIG} {CONFIG}.kept\n")
    assert broken.count("systemctl restart kafka") == mended.count("systemctl restart kafka") == 1
    assert mended.index(f"mv {CONFIG}.kept {CONFIG}") < mended.index(f"rm -f {DROP_IN} /etc/kafka/f")
    assert mended.index("rm -f") < mended.index("systemctl restart kafka")


# Those that ask nobody but hosts: one of the restarts has a certificate made.
ON_HOSTS = [one for one in (*sabotages.HOSTS, *sabotages.RESTARTS) if 8 not in one.checks]


@pytest.mark.parametrize("act", [pytest.param(one.act, id=one.name) for one in ON_HOSTS])
def test_every_script_is_one_that_a_shell_can_read(act: Callable[[Ground], Any]) -> None:
    ground = Pretended({})
    bundle = {"sasl.password": "it's-a_secret"}
    object.__setattr__(ground, "cluster", type("C", (), {"bundle": staticmethod(lambda _: bundle)}))
    with act(ground):
        pass
    for host, script in ground.told:
        if host != "all":
            done = subprocess.run(["bash", "-n"], input=script, text=True, capture_output=True, check=False)
            assert (done.returncode, done.stderr) == (0, ""), script
