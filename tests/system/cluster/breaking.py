"""Sabotage of a cluster: what is broken, which checks of the security proof must see it, and how it is mended."""

from __future__ import annotations

import contextlib
import shlex
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from common.wait import wait_until
from validate import cluster as described
from validate.admin import Admin
from validate.faults.shell import over_ssh
from validate.security import run
from validate.security.scene import Scene

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from tests.system.kafka_cluster import Cluster

HOST = "broker-2"
# What a break must leave green: some of every family, those that take moments.
NEIGHBOURS = (2, 3, 21, 26, 28, 29, 40, 44, 45, 46, 47, 49, 51, 52, 57, 58, 60, 61, 62, 63, 64, 65, 66)
WHOLE_S, SEEN_S = 180.0, 20.0
ROOT_S = 300.0  # a broker may take three minutes to stop


@dataclass(frozen=True)
class Ground:
    """A cluster to break things in, and hands to do it with."""

    cluster: Cluster

    def described(self) -> described.Cluster:
        return described.load(self.cluster.lab.state() / "cluster.json")

    def root(self, script: str, host: str = HOST) -> str:
        """By standard input of a shell that stops at the first mistake: nothing of it is on a command line anywhere."""
        (there,) = [one for one in self.described().hosts if one.name == host]
        return over_ssh(there, f"set -e\n{script}\n", timeout_s=ROOT_S)

    def mend(self, steps: Sequence[str], host: str = HOST) -> None:
        """All of them, whatever became of the others; each does nothing where nothing is broken."""
        lines = [f"( {step} ) || bad=1" for step in steps]
        self.root("\n".join(["set +e", "bad=0", *lines, "exit $bad"]), host)

    @contextlib.contextmanager
    def scene(self) -> Iterator[Scene]:
        with contextlib.closing(Scene(self.described())) as made:
            yield made

    def await_whole(self) -> None:
        admin = Admin(self.described())
        assert wait_until(lambda: not admin.not_whole(), timeout_s=WHOLE_S, every_s=1), admin.not_whole()

    def verdicts(self, numbers: Sequence[int]) -> dict[int, dict[str, Any]]:
        results: list[dict[str, Any]] = []
        run.run_checks(self.described(), sorted(set(numbers)), results, intrusive=False, say=print)
        return {one["number"]: one for one in results}


@dataclass(frozen=True)
class Sabotage:
    name: str
    checks: frozenset[int]
    """What must be failed."""
    act: Callable[[Ground], contextlib.AbstractContextManager[None]]
    """Breaks, and mends on any way out."""
    beside: frozenset[int] = frozenset()
    """What looks at the same thing and so is not passed either: failed, or unknown because its twin is gone."""
    perhaps: frozenset[int] = frozenset()
    """What sees it if the proof's topic happens to lie there."""
    said: Mapping[int, str] = field(default_factory=dict)
    """A piece of what a check must say, so that it is red for this and for nothing else."""
    neighbours: tuple[int, ...] = NEIGHBOURS

    @property
    def seen_by(self) -> frozenset[int]:
        return self.checks | self.beside


def proven(one: Sabotage, ground: Ground, *, mended: bool) -> None:
    """Its checks turn red, no other does; `mended`: and they are green again afterwards."""
    with one.act(ground):
        found = ground.verdicts((*one.neighbours, *one.seen_by))
    red = {number for number, result in found.items() if result["verdict"] != "passed"}
    told = {number: (found[number]["verdict"], found[number]["seen"]) for number in sorted(red | one.checks)}
    assert red - one.perhaps == one.seen_by, told
    assert {number for number in one.checks if found[number]["verdict"] != "failed"} == set(), told
    unsaid = [number for number, piece in one.said.items() if not any(piece in line for line in found[number]["seen"])]
    assert unsaid == [], told
    if mended:
        after = ground.verdicts(sorted(one.checks))
        still = {number: result["seen"] for number, result in after.items() if result["verdict"] != "passed"}
        assert not still, still


def shell(do: str, *undo: str, host: str = HOST) -> Callable[[Ground], contextlib.AbstractContextManager[None]]:
    """What root does on one host, and each step of its way back."""

    @contextlib.contextmanager
    def act(ground: Ground) -> Iterator[None]:
        try:
            ground.root(do, host)
            yield
        finally:
            ground.mend(undo, host)

    return act


@dataclass(frozen=True)
class Part:
    """One of several breaks that a single restart brings about, each by settings of its own."""

    name: str
    checks: frozenset[int]
    beside: frozenset[int] = frozenset()
    perhaps: frozenset[int] = frozenset()
    edits: tuple[str, ...] = ()
    """For sed, on the settings; without single quotes."""
    unit: tuple[str, ...] = ()
    """Lines of a drop-in's [Service]."""
    java: tuple[str, ...] = ()
    """What Java is told besides, behind what the unit tells it."""
    files: Callable[[Ground, str], dict[str, str]] | None = None
    """Path -> content, for root and the service alone, by the host."""
    said: Mapping[int, str] = field(default_factory=dict)


CONFIG, UNIT = "/etc/kafka/server.properties", "/etc/systemd/system/kafka.service"
DROP_IN = f"{UNIT}.d/sabotage.conf"
# A break's own program, and its end.
QUIETLY = "systemd-run --quiet --collect --unit sabotage --description sabotage"
STOP = "systemctl stop sabotage 2>/dev/null || ! systemctl is-active --quiet sabotage"
RESTART = "systemctl daemon-reload; systemctl reset-failed kafka 2>/dev/null || true; systemctl restart kafka"


def written(path: str, content: str) -> str:
    """For root's shell: a file that the service may read and nobody else."""
    return f"install -m 0640 -g kafka /dev/null {path}\nprintf %s {shlex.quote(content)} > {path}"


def restarted(name: str, *parts: Part, host: str = HOST) -> Sabotage:
    """Other settings and another unit; then the old ones again, with their mode and owner."""

    @contextlib.contextmanager
    def act(ground: Ground) -> Iterator[None]:
        files = {path: text for part in parts if part.files for path, text in part.files(ground, host).items()}
        edits = [f"sed -i '{edit}' {CONFIG}" for part in parts for edit in part.edits]
        unit = "\\n".join(("[Service]", *(line for part in parts for line in part.unit)))
        java = " ".join(option for part in parts for option in part.java)
        # The same variable with more in it: a later line takes the place of the unit's own.
        more = f's|^\\(Environment="KAFKA_OPTS=.*\\)"$|\\1 {java}"|p'
        drop_in = [f"printf '{unit}\\n' > {DROP_IN}", f"sed -n '{more}' {UNIT} >> {DROP_IN}"]
        made = [written(path, text) for path, text in files.items()]
        try:
            ground.root("\n".join([f"cp -p {CONFIG} {CONFIG}.kept", *made, *edits, *drop_in, RESTART]), host)
            ground.await_whole()
            yield
        finally:
            back = f"[ ! -e {CONFIG}.kept ] || mv {CONFIG}.kept {CONFIG}"
            ground.mend([back, f"rm -f {DROP_IN} {' '.join(files)}", RESTART], host)
            ground.await_whole()

    def every(which: str) -> frozenset[int]:
        return frozenset().union(*(getattr(part, which) for part in parts))

    checks = every("checks")
    said = {number: piece for part in parts for number, piece in part.said.items()}
    return Sabotage(name, checks, act, every("beside") - checks, every("perhaps"), said)
