"""Every speed that is promised of a cluster is measured in one run, and one that is missed makes it fail."""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import json
import re
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import pytest

from cli import bench
from tests.bench import certs_bench, cluster_bench, harness, modules_bench, overview, zookeeper_bench
from tests.system.kafka_cluster import Writer
from tests.unit.validate.mock_brokers import mock_brokers

if TYPE_CHECKING:
    from collections.abc import Iterator

GOALS = {
    "first site run / bare script": 3,
    "unchanged site run / bare script": 1,
    "1,000 topics, 2,000 ACLs, 200 users, 1,000 quotas, nothing to do / bare listing and logins": 2,
    "1,000 topics, 2,000 ACLs, 200 users, 1,000 quotas, nothing to do / bare listing alone": None,
    "the same created / a JVM for each": 0.01,
    "certificates for 4 brokers and 20 users / keytool and openssl script": 0.05,
    "rolling restart / bare roll": 1.2,
    "slowest acks=all record meanwhile, in s": 2,
}
MODULES_S = {f"{what}{name}": [1.0] for name in modules_bench.declared() for what in ("", "create ")}


class Lab:
    """Hosts on which everything is done at once."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "cluster-id").write_text("x", encoding="ascii")

    def kastellan(self, *_: str) -> None:
        pass

    def state(self) -> Path:
        return self.folder

    def outputs(self) -> dict[str, Any]:
        return {
            "hosts": [
                {"address": "198.18.0.11", "roles": ["kafka_broker"]},
                {"address": "198.18.0.21", "roles": ["zookeeper"]},
            ]
        }


@pytest.fixture
def slowest_s(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """What a client saw of each roll, the bare one first."""
    slowest = [0.5, 1.5]
    clients: list[dict[str, Any]] = []

    class Writes:
        refused: tuple[str, ...] = ()
        acked = (1,)

        def __init__(self, client: dict[str, Any], topic: str) -> None:
            clients.append(client)
            assert topic == "Topic_Four"
            self.slowest_s = slowest[len(clients) - 1]

        def __enter__(self) -> Self:
            return self

        def __exit__(self, *_: object) -> None:
            pass

    class Cluster:
        def __init__(self, lab: Lab) -> None:
            self.lab = lab

        def play(self, *_: str) -> None:
            pass

        def bundle(self, user: str) -> dict[str, Any]:
            return {"sasl.username": user}

    @contextlib.contextmanager
    def new_lab() -> Iterator[Lab]:
        yield Lab(tmp_path)

    for name, stand_in in {"Writer": Writes, "Cluster": Cluster, "new_lab": new_lab}.items():
        monkeypatch.setattr(cluster_bench, name, stand_in)
    monkeypatch.setattr(cluster_bench, "bare", lambda *_: None)
    monkeypatch.setattr(cluster_bench, "timed", lambda work: work() or 1.0)
    monkeypatch.setattr(harness, "RESULTS", tmp_path)
    monkeypatch.setattr(certs_bench, "measure", lambda _: {"certs": [0.1], "keytool": [10.0]})
    times = {**MODULES_S, "bare": [3.0], "listing": [1.0], "one JVM": [1.0]}
    monkeypatch.setattr(modules_bench, "measured", lambda *_: times)
    return slowest


@pytest.mark.usefixtures("slowest_s")
def test_all_that_is_promised_of_a_cluster_is_measured_in_one_run(tmp_path: Path) -> None:
    assert cluster_bench.main() == 0
    written = json.loads((tmp_path / "cluster.json").read_text(encoding="utf-8"))["ratios"]
    assert {one["name"]: one["goal"] for one in written} == GOALS
    ratios = {one["name"]: one["ratio"] for one in written}
    assert ratios["slowest acks=all record meanwhile, in s"] == 1.5, "of our roll, not of the bare one"
    assert next(ratio for name, ratio in ratios.items() if name.endswith("listing alone")) == 4, (
        "told, and holds nobody up"
    )
    assert ratios["the same created / a JVM for each"] == pytest.approx(4 / 4200), "2,000 ACLs are as many items"


@pytest.mark.usefixtures("slowest_s")
def test_the_other_mode_is_held_to_the_same_goals_and_told_beside_the_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Certificates are the same in both, and measured once."""
    certificates = {"name": "certificates", "ratio": 0.01, "goal": 0.05}
    first = {"name": "first site run / bare script", "ratio": 1.234, "goal": 3}
    before = {"date": "2026-11-19T10:00:00Z", "ratios": [certificates, first]}
    (tmp_path / "cluster.json").write_text(json.dumps(before), encoding="utf-8")
    monkeypatch.setattr(zookeeper_bench, "new_lab", vars(cluster_bench)["new_lab"])
    monkeypatch.setattr(zookeeper_bench, "disguise", lambda _: None)
    assert zookeeper_bench.main() == 0
    written = json.loads((tmp_path / "zookeeper.json").read_text(encoding="utf-8"))["ratios"]
    goals = {one["name"]: one["goal"] for one in written}
    assert goals == {name: goal for name, goal in GOALS.items() if not name.startswith("certificates")}
    said = capsys.readouterr().out
    assert "| certificates | 0.01 | - | 0.05 |" in said
    assert "| first site run / bare script | 1.23 | 1.00 | 3 |" in said


def test_the_bare_script_is_told_who_keeps_the_metadata(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    called: list[tuple[list[str], str]] = []
    monkeypatch.setattr(cluster_bench, "ensure", lambda version: {"archive": f"kafka-{version}.tar"})
    monkeypatch.setattr(subprocess, "run", lambda argv, *, env, **_: called.append((argv[2:], env["KEEPERS"])))
    for way in (cluster_bench.KRAFT, cluster_bench.ZOOKEEPER):
        cluster_bench.bare(Lab(tmp_path), "install", way)  # type: ignore[arg-type]
    folder = str(tmp_path)
    assert called == [
        (["install", folder, "kafka-4.3.1.tar", f"{folder}/bare", "198.18.0.11"], ""),
        (["install", folder, "kafka-3.9.2.tar", f"{folder}/bare", "198.18.0.11"], "198.18.0.21"),
    ]


def test_a_record_that_is_too_slow_makes_it_fail(slowest_s: list[float]) -> None:
    slowest_s[1] = 2.1
    assert cluster_bench.main() == 1


def test_a_roll_that_lost_its_writer_misses_its_goal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    class Refused(contextlib.nullcontext[Any]):
        refused, acked = ("_MSG_TIMED_OUT",), (1,)

    monkeypatch.setattr(cluster_bench, "Writer", lambda *_: Refused(Refused()))
    _, slowest_s = cluster_bench.under_load({}, lambda: None)
    assert slowest_s > cluster_bench.SLOWEST_S
    assert "_MSG_TIMED_OUT" in capsys.readouterr().out


def test_what_the_slowest_record_took_is_the_brokers_delay() -> None:
    with mock_brokers(1) as brokers:
        brokers.make_topic("t")
        assert brokers._library.rd_kafka_mock_broker_set_rtt(brokers._cluster, 1, ctypes.c_int(400)) == 0
        client = {"bootstrap.servers": brokers.bootstrap}
        with Writer(client, "t") as writer:
            writer._stop.wait(0.2)
    assert writer.acked
    assert 0.4 <= writer.slowest_s < 20


def test_without_a_name_nothing_is_measured_twice() -> None:
    assert set(bench.without_parts(bench.names())) == set(bench.names()) - {"certs", "modules"}
    assert bench.without_parts(["certs", "judge"]) == ["certs", "judge"]
    assert set(bench.WITHIN.values()) <= set(bench.names())


def test_without_a_name_all_are_measured_and_told_in_one_table(monkeypatch: pytest.MonkeyPatch) -> None:
    called: list[str] = []
    monkeypatch.setattr(bench, "lay_out", lambda: None)
    monkeypatch.setattr(bench, "called", lambda file: called.append(file) or 0)  # type: ignore[func-returns-value]
    assert bench.run(argparse.Namespace(name=None)) == 0
    assert [Path(file).name for file in called] == [
        *(f"{name}_bench.py" for name in bench.without_parts(bench.names())), "overview.py",
    ]  # fmt: skip
    called.clear()
    assert bench.run(argparse.Namespace(name="judge")) == 0
    assert [Path(file).name for file in called] == ["judge_bench.py"]


def test_the_overview_is_one_file_and_one_table_with_spread_machine_and_date(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(harness, "RESULTS", tmp_path)
    harness.write("judge", [harness.Ratio("a / b", [1.0, 2.0, 4.0], [1.0, 1.0, 3.0], 2.0, 1)])
    harness.write("outages", [harness.Ratio("c", [5.0], [2.0], 2.5, None)])
    (tmp_path / "nobodys.json").write_text("no json", encoding="utf-8")
    (tmp_path / "wire.json").write_text(json.dumps({**harness.machine(), "ratios": []}), encoding="utf-8")
    capsys.readouterr()
    assert overview.main() == 0
    said = capsys.readouterr().out
    assert "| judge | a / b | 2.00 s [1.00..4.00] | 1.00 s [1.00..3.00] | 2.00 | \u2264 1, missed |" in said
    assert "| outages | c | 5.00 s [5.00..5.00] | 2.00 s [2.00..2.00] | 2.50 | none |" in said
    assert re.search(r"^judge: \d{4}-\d\d-\d\d, \d+ cores \(", said, re.MULTILINE)
    written = json.loads((tmp_path / "all.json").read_text(encoding="utf-8"))
    assert set(written) == {"judge", "outages", "wire"}
    assert written["judge"]["ratios"][0]["ours_s"] == [1.0, 2.0, 4.0]
    rest = ", ".join(name for name in bench.names() if name not in {"judge", "outages"})
    assert f"Missing, never measured here or not to its end: {rest}.\n" in said
    assert "wire" in rest


def test_what_is_measured_within_another_is_not_missing() -> None:
    found: dict[str, dict[str, Any]] = {name: {"ratios": [{}]} for name in bench.without_parts(bench.names())}
    assert overview.missing(found) == []
    del found["cluster"]
    assert overview.missing(found) == ["certs", "cluster", "modules"]


def test_the_page_of_speeds_names_every_benchmark_and_no_other() -> None:
    page = (Path(harness.__file__).parents[2] / "docs" / "reference" / "speed.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (`[a-z`, ]+`) \|", page, re.MULTILINE)
    named = [name.strip("`") for row in rows for name in row.split(", ")]
    assert sorted(named) == bench.names()
