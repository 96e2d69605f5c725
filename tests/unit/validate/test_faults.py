"""Faults with a stand-in for ssh: what is sent, what is written down, and that everything is healed on any way out."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from tests.unit.validate.control import GOOD, Remembering, cluster
from validate.faults import network
from validate.faults.errors import FaultError, NoAccess, NotHealed
from validate.faults.inject import Field, broken
from validate.faults.kinds import KINDS, scripts_of, with_defaults
from validate.faults.ledger import FaultLedger
from validate.faults.mend import mend
from validate.faults.record import OpenFault, Record

if TYPE_CHECKING:
    from pathlib import Path

    from validate.cluster import Host

OPTIONS = [
    (kind, dict(zip(KINDS[kind].options, words, strict=True)))
    for kind in KINDS
    for words in ([(cut, way) for cut in network.CUTS for way in network.DIRECTIONS] if KINDS[kind].options else [()])
]


class Ports:
    """Dead after a begin, alive after a heal, as those of a real broker."""

    def __init__(self, shell: Remembering, *, never_dies: bool = False, never_heals: bool = False) -> None:
        self.shell, self.never_dies, self.never_heals = shell, never_dies, never_heals

    def __call__(self, host: Host, _port: int) -> bool:
        mine = [script for name, script in self.shell.scripts if name == host.name]
        healed = bool(mine) and "unmark" in mine[-1].rpartition("state_of()")[2]
        return (healed and not self.never_heals) or (not healed and self.never_dies)


def field(folder: Path, shell: Remembering, **ports: bool) -> Field:
    at_hand = cluster(folder)
    return Field(at_hand, FaultLedger(folder), Record(folder), shell, Ports(shell, **ports), port_bound_s=0.2)


def lines(folder: Path) -> list[tuple[str, str, str]]:
    path = folder / "faults.jsonl"
    rows = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
    return [(row["fault"], row["target"], row["phase"]) for row in rows]


@pytest.mark.parametrize(("kind", "options"), OPTIONS)
def test_every_script_is_sound_bash(kind: str, options: dict[str, str], tmp_path: Path) -> None:
    at_hand = cluster(tmp_path)
    made = scripts_of(at_hand, kind, at_hand.hosts[0], with_defaults(kind, options))
    for script in (made.begin, made.heal, made.prepare):
        done = subprocess.run(["bash", "-n"], input=script, capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{done.stderr}\n{script}"
        assert "{" + "folder}" not in script


@pytest.mark.parametrize(("kind", "options"), OPTIONS)
def test_a_fault_is_written_down_and_healed(kind: str, options: dict[str, str], tmp_path: Path) -> None:
    shell = Remembering()
    place = field(tmp_path, shell, never_dies=not KINDS[kind].port_dies(with_defaults(kind, options)))
    with broken(place, kind, [place.cluster.hosts[1]], options) as bite:
        assert [entry.host for entry in place.record.all()] == ["broker-2"]
        assert bite.first_at == bite.last_at
    assert lines(tmp_path) == [(kind, "broker-2", phase) for phase in ("begin", "bit", "healed")]
    assert place.record.all() == []


def test_a_bite_is_noted_once_the_load_is_caught_by_it(tmp_path: Path) -> None:
    place = field(tmp_path, Remembering(), never_dies=True)
    noted: list[int] = []

    began_s = time.monotonic()

    def felt(since_s: float) -> bool:
        assert began_s <= since_s <= time.monotonic()
        noted.append(len(lines(tmp_path)))
        return len(noted) > 2

    place.felt = felt
    with broken(place, "isolate", [place.cluster.hosts[0]], {"cut": "nodes"}):
        assert noted == [1, 1, 1], "only the beginning was written down while the load was not caught yet"
        assert [phase for _, _, phase in lines(tmp_path)] == ["begin", "bit"]


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt, SystemExit])
def test_whatever_happens_inside_hosts_are_healed(error: type[BaseException], tmp_path: Path) -> None:
    place = field(tmp_path, Remembering())
    with pytest.raises(error), broken(place, "kill", list(place.cluster.hosts)):
        raise error
    assert sorted(target for _, target, phase in lines(tmp_path) if phase == "healed") == [
        host.name for host in place.cluster.hosts
    ]
    assert place.record.all() == []


def test_a_fault_that_did_not_bite_everywhere_is_healed_and_told(tmp_path: Path) -> None:
    shell = Remembering(refuse=["kill -STOP"])
    place = field(tmp_path, shell)
    with pytest.raises(FaultError, match="refused"), broken(place, "pause", list(place.cluster.hosts[:2])):
        pytest.fail("nothing may happen behind a fault that did not bite")
    assert {name for name, script in shell.scripts if "kill -CONT" in script} == {"broker-1", "broker-2"}
    assert place.record.all() == []


def test_a_port_that_still_answers_is_no_bite(tmp_path: Path) -> None:
    place = field(tmp_path, Remembering(), never_dies=True)
    with pytest.raises(FaultError, match="port 9092 still answers"), broken(place, "stop", [place.cluster.hosts[0]]):
        pytest.fail("it did not bite")
    assert ("stop", "broker-1", "bit") not in lines(tmp_path)


def test_a_host_that_does_not_come_back_stays_in_the_record_and_has_no_end(tmp_path: Path) -> None:
    place = field(tmp_path, Remembering(), never_heals=True)
    with pytest.raises(NotHealed, match="did not heal on every host"), broken(place, "stop", [place.cluster.hosts[0]]):
        pass
    assert [(entry.fault, entry.host) for entry in place.record.all()] == [("stop", "broker-1")]
    assert ("stop", "broker-1", "healed") not in lines(tmp_path)


def test_ctrl_c_while_healing_waits_for_its_end(tmp_path: Path) -> None:
    class Interrupting(Remembering):
        def __call__(self, host: Host, script: str, *, timeout_s: float) -> str:
            if "kill -CONT" in script:
                os.kill(os.getpid(), signal.SIGINT)
            return super().__call__(host, script, timeout_s=timeout_s)

    place = field(tmp_path, Interrupting())
    with pytest.raises(KeyboardInterrupt), broken(place, "pause", [place.cluster.hosts[0]]):
        pass
    assert ("pause", "broker-1", "healed") in lines(tmp_path)
    assert place.record.all() == []


def test_without_ssh_nothing_is_begun(tmp_path: Path) -> None:
    place = field(tmp_path, Remembering())
    closed = replace(place.cluster.hosts[0], login=None)
    with pytest.raises(NoAccess, match="no ssh access to broker-1"), broken(place, "stop", [closed]):
        pytest.fail("unreachable")
    assert place.record.all() == []


def test_the_restart_is_held_off_on_all_before_any_is_killed(tmp_path: Path) -> None:
    shell = Remembering()
    place = field(tmp_path, shell)
    with broken(place, "kill", list(place.cluster.hosts)):
        order = ["hold" if "Restart=no\\n' >" in script else "kill" for _, script in shell.scripts]
    assert order == ["hold"] * 4 + ["kill"] * 4


@pytest.mark.parametrize("cut", network.CUTS)
@pytest.mark.parametrize("direction", network.DIRECTIONS)
def test_an_isolation_names_kafkas_ports_only_and_lets_ssh_through(cut: str, direction: str, tmp_path: Path) -> None:
    at_hand = cluster(tmp_path)
    rules = network.rules(at_hand, at_hand.hosts[0], cut=cut, direction=direction)
    drops = [line for line in rules.splitlines() if line.endswith("drop")]
    assert drops
    assert all("tcp sport {" in line or "tcp dport {" in line for line in drops)
    assert all(" 22" not in line for line in drops)
    for chain in rules.split(" chain ")[1:]:
        assert chain.index("tcp dport 22 accept") < chain.index("drop")
    assert ("hook input" in rules, "hook output" in rules) == (direction != "out", direction != "in")
    assert ("9093" in rules) == (cut != "clients")
    assert ("9092" in rules) == (cut != "controller")
    assert ("198.18.0.12" in rules) == (cut in {"nodes", "clients"})


def test_clients_are_cut_off_where_the_host_listens_whatever_port_they_are_told(tmp_path: Path) -> None:
    """On its way to the host 19092 may become 9092: the packet filter there never sees what clients asked for."""
    outer = [
        {**GOOD["listeners"][0], "name": name, "port": port} for name, port in (("CONTROLLER", 9095), ("OUTER", 9092))
    ]
    at_hand = cluster(tmp_path, bootstrap_servers="198.18.0.11:19092", listeners=outer)
    rules = network.rules(at_hand, at_hand.hosts[0], cut="clients", direction="both")
    assert "{ 9092 }" in rules
    assert "19092" not in rules


def test_the_rules_are_taken_by_the_kernel(tmp_path: Path) -> None:
    """In a network namespace of its own; where that is not allowed, real hosts try it."""
    at_hand = cluster(tmp_path)
    for cut in network.CUTS:
        rules = network.rules(at_hand, at_hand.hosts[0], cut=cut, direction="both")
        try:
            done = subprocess.run(
                ["unshare", "--net", "nft", "-c", "-f", "-"], input=rules, capture_output=True, text=True, check=False
            )
        except FileNotFoundError:
            pytest.skip("no unshare here")
        if done.returncode != 0 and ("ermitted" in done.stderr or "failed to execute" in done.stderr):
            pytest.skip(done.stderr)
        assert done.returncode == 0, f"{done.stderr}\n{rules}"


def test_heal_goes_by_the_record_and_by_the_marks(tmp_path: Path) -> None:
    """A run died: one fault is in the record with its ledger, another only on a host."""
    at_hand = cluster(tmp_path)
    ledger = tmp_path / "run"
    ledger.mkdir()
    Record(tmp_path).open(OpenFault("pause", "broker-3", {}, str(ledger), "2026-11-18T07:00:00Z"))

    class Marked(Remembering):
        def __call__(self, host: Host, script: str, *, timeout_s: float) -> str:
            super().__call__(host, script, timeout_s=timeout_s)
            return "isolate\nsomething-else\n" if host.name == "broker-2" and script.startswith("ls ") else ""

    shell = Marked()
    done, failed = mend(at_hand, shell=shell, port_answers=lambda *_: True)
    assert not failed
    assert [line.split(":")[0] for line in done] == ["pause broker-3", "isolate broker-2"]
    assert lines(ledger) == [("pause", "broker-3", "healed")]
    assert lines(tmp_path) == []
    assert any(name == "broker-2" and "nft delete table" in script for name, script in shell.scripts)
    assert Record(tmp_path).all() == []


def test_a_record_of_a_host_that_is_gone_is_forgotten(tmp_path: Path) -> None:
    Record(tmp_path).open(OpenFault("stop", "broker-9"))
    done, failed = mend(cluster(tmp_path), shell=Remembering(), port_answers=lambda *_: True)
    assert ("forgotten" in done[0], failed) == (True, [])
    assert Record(tmp_path).all() == []
