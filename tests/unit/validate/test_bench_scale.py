"""Benchmarks of outages, of the wire and of scale: figures are taken from where they stand, and no wrong one is told."""

from __future__ import annotations

import contextlib
import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from tests.bench import harness, outages_bench, scale_bench, wire_bench
from tests.system.kafka_cluster import PATIENCE_S
from tests.unit.validate.control import cluster
from validate import plan
from validate.admin import Partition

if TYPE_CHECKING:
    from collections.abc import Iterator

NOTES = [
    "2,000,000 acked in 20.5 s: 97,561 records a second, ledger included.",
    "Read back in 6.2 s, judged in 11.4 s.",
    "The driver and its JVM had 1,900 MiB in memory at most, as seen every 1 s; 0 MiB more of them lay in swap than before.",
]


def test_a_loads_cost_is_what_the_run_says_of_it() -> None:
    cost = scale_bench.told(2_000_000, NOTES, 30, 60, 444)
    assert (cost.load_s, cost.read_s, cost.judge_s, cost.memory_mib) == (20.5, 6.2, 11.4, 1900.0)
    with pytest.raises(SystemExit, match="does not say what it took"):
        scale_bench.told(2_000_000, NOTES[:1], 30, 60, 444)


def test_the_run_says_it_in_the_words_that_are_looked_for() -> None:
    """They are the runner's, and nobody who changes them would look here."""
    source = (Path(__file__).resolve().parents[3] / "validate/run/one.py").read_text(encoding="utf-8")
    assert "{total / took_s:,.0f} records a second" in source
    assert 'f"Read back in {read_s:.1f} s, judged in {judged_s:.1f} s."' in source


@pytest.mark.parametrize(("factor", "reached"), [(1.0, True), (1.09, True), (0.92, True), (1.2, False), (0.8, False)])
def test_bytes_that_the_model_does_not_foretell_miss_the_goal(factor: float, reached: bool) -> None:
    n = 20_000_000
    brokers = n * plan.record_bytes(100) * scale_bench.REPLICAS
    cost = scale_bench.Cost(n, 200, 70, 90, 2000, n * plan.SENT_BYTES * factor, n * plan.LOG_BYTES, brokers)
    found = {one.name.partition(" at ")[0]: one for one in scale_bench.against_model(cost)}
    assert found["sent on disk"].reached is reached
    assert found["log on disk"].reached
    assert found["brokers' disks"].reached
    assert found["final read"].goal is found["judge"].goal is None


def test_growth_is_told_from_one_size_to_the_next() -> None:
    less, more = (
        scale_bench.Cost(n, s, s, s, m, 1, 1, 1) for n, s, m in ((2_000_000, 10, 1000), (20_000_000, 90, 1500))
    )
    assert [(one.name, one.ratio, one.unit) for one in scale_bench.growth(less, more)] == [
        ("load at 20,000,000 by at 2,000,000", 9.0, "s"),
        ("read at 20,000,000 by at 2,000,000", 9.0, "s"),
        ("judge at 20,000,000 by at 2,000,000", 9.0, "s"),
        ("memory at 20,000,000 by at 2,000,000", 1.5, "MiB"),
    ]


def test_a_hundred_million_need_room_that_is_looked_for_first() -> None:
    scale_bench.require_room([2_000_000, 20_000_000], 40 * 2**30)
    with pytest.raises(SystemExit, match=r"has 40 GiB free; loads of 100,000,000 records may take \d+ GiB"):
        scale_bench.require_room([100_000_000], 40 * 2**30)


class Asked:
    """A cluster of three partitions; node 1 leads the quorum, node 2 one of the partitions, until it is hit."""

    def __init__(self) -> None:
        self.leaders = [1, 2, 3]

    def controller(self) -> int:
        return 1

    def partitions(self, _: object) -> list[Partition]:
        return [Partition("t", n, leader, (1, 2, 3), (1, 2, 3)) for n, leader in enumerate(self.leaders)]

    def not_whole(self) -> list[str]:
        return []


def test_who_is_hit_leads_a_partition_and_not_the_quorum(tmp_path: Path) -> None:
    hosts = cluster(tmp_path).hosts
    admin: Any = Asked()
    assert outages_bench.victim(admin, hosts).node_id == 2
    admin.leaders = [1, 1, 1]
    with pytest.raises(SystemExit, match="begin again"):
        outages_bench.victim(admin, hosts)


def test_where_the_quorums_leader_leads_all_preferred_leaders_are_elected(monkeypatch: pytest.MonkeyPatch) -> None:
    admin: Any = Asked()
    elections: list[object] = []

    def elect(place: object) -> None:
        elections.append(place)
        admin.leaders = [1, 2, 3]

    monkeypatch.setattr(outages_bench, "elect_preferred", elect)
    place: Any = "there"
    outages_bench.set_apart(place, admin)
    assert elections == []
    admin.leaders = [1, 1, 1]
    outages_bench.set_apart(place, admin)
    assert elections == ["there"]


def test_nothing_is_healed_before_others_lead(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    admin: Any = Asked()
    happened: list[str] = []

    @contextlib.contextmanager
    def broken(_: object, kind: str, hosts: list[Any]) -> Iterator[None]:
        happened.append(f"{kind} {hosts[0].node_id}")
        looks = iter(([1, 2, 3], [1, -1, 3], [1, 3, 3]))

        def partitions(_: object) -> list[Partition]:
            admin.leaders = next(looks)
            happened.append(str(admin.leaders))
            return Asked.partitions(admin, None)

        monkeypatch.setattr(admin, "partitions", partitions)
        yield
        happened.append("healed")

    monkeypatch.setattr(outages_bench, "broken", broken)
    place: Any = SimpleNamespace(cluster=cluster(tmp_path))
    outages_bench.hit(place, admin, "kill")
    assert happened == ["kill 2", "[1, 2, 3]", "[1, -1, 3]", "[1, 3, 3]", "healed"]


class Pretended:
    """The bench without a cluster: what is done is noted, and beneath a load each thing takes what `told` says."""

    def __init__(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.order: list[str] = []
        self.told: Iterator[tuple[float, float]] = iter(())
        lab = SimpleNamespace(bundle=lambda _: {}, play=lambda _: self.order.append("roll"))
        place = SimpleNamespace(described=lambda: SimpleNamespace(state_dir=tmp_path))
        for name, stand_in in {
            "Admin": lambda _: Asked(),
            "Field": lambda *_: SimpleNamespace(cluster=cluster(tmp_path)),
            "Ground": lambda _: place,
            "benched": lambda: contextlib.nullcontext((lab, tmp_path)),
            "hit": lambda _place, _admin, kind: self.order.append(kind),
            "under_load": self.under_load,
        }.items():
            monkeypatch.setattr(outages_bench, name, stand_in)

    def under_load(self, _: object, work: Any) -> tuple[float, float]:
        work()
        return next(self.told)


@pytest.fixture
def pretended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Pretended:
    return Pretended(tmp_path, monkeypatch)


def test_rounds_take_turns_and_become_medians(pretended: Pretended) -> None:
    pretended.told = iter([(0.0, 0.0), *[(30.0 + n, 9.0 + n) if n % 3 == 0 else (20.0, 0.5) for n in range(9)]])
    found = list(outages_bench.measured(3))
    assert pretended.order == ["kill", "stop", "roll"] * 3
    assert found[0].ours_s == [9.0, 12.0, 15.0]
    assert (found[0].ratio, found[0].goal) == (12.0 / 0.5, None)


def test_whole_rounds_are_told_when_a_later_one_fails(pretended: Pretended) -> None:
    well = [(30.0, 9.0), (20.0, 0.5), (60.0, 2.0)]
    pretended.told = iter([(0.0, 0.0), *well, *well, (31.0, 9.5), (20.0, PATIENCE_S)])
    found: list[harness.Ratio] = []
    with pytest.raises(SystemExit, match="stop: records were refused"):
        found.extend(outages_bench.measured(5))
    assert [(len(one.ours_s), len(one.other_s)) for one in found] == [(2, 2)] * 4
    assert found[0].ours_s == [9.0, 9.0]


def test_a_round_that_fails_at_once_is_no_figure(pretended: Pretended) -> None:
    pretended.told = iter([(0.0, 0.0), (30.0, PATIENCE_S)])
    found: list[harness.Ratio] = []
    with pytest.raises(SystemExit, match="kill: records were refused"):
        found.extend(outages_bench.measured(5))
    assert found == []


def test_a_port_without_tls_is_opened_on_every_host_one_after_the_other() -> None:
    done: list[str] = []
    hosts = [{"name": f"broker-{n}", "address": f"198.18.0.{n}"} for n in (1, 2)]
    ground: Any = SimpleNamespace(
        cluster=SimpleNamespace(document=lambda: {"hosts": hosts}),
        root=lambda script, host: done.append(f"{host}: {script}"),
        await_whole=lambda: done.append("whole"),
    )
    client = wire_bench.open_port(ground)
    assert client == {"bootstrap.servers": "198.18.0.1:9094,198.18.0.2:9094"}
    assert [one.partition(":")[0] for one in done] == ["broker-1", "whole", "broker-2", "whole"]


def test_the_edits_turn_real_settings_into_open_ones(tmp_path: Path) -> None:
    settings = tmp_path / "server.properties"
    settings.write_text(
        "listener.security.protocol.map=CLIENT:SASL_SSL,MTLS:SSL,BROKER:SSL\nsuper.users=User:admin;User:broker-1\n",
        encoding="ascii",
    )
    for edit in wire_bench.OPEN:
        subprocess.run(["sed", "-i", edit, str(settings)], check=True)
    assert settings.read_text(encoding="ascii").splitlines() == [
        "listener.security.protocol.map=CLIENT:SASL_SSL,MTLS:PLAINTEXT,BROKER:SSL",
        "super.users=User:admin;User:broker-1;User:ANONYMOUS",
    ]


def test_both_ways_are_measured_in_turn() -> None:
    sent: list[str] = []

    def bench(name: str, took_s: float) -> Any:
        def ours(size: int, *, ledger: bool) -> float:
            assert ledger
            sent.append(f"{name} {size}")
            return took_s

        return SimpleNamespace(ours=ours)

    found = list(wire_bench.ratios(bench("tls", 3.0), bench("plain", 2.0), harness.PAIRS))
    assert [(one.ratio, one.goal) for one in found] == [(1.5, None), (1.5, None)]
    assert sent[2:6] == ["tls 100", "plain 100", "tls 100", "plain 100"]
    assert sent.count("tls 1024") == harness.PAIRS
