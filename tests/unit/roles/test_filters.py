from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING, Any

from plugins.filter import kafka as filters
from plugins.modules import kafka_format, kafka_service

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

Settings = dict[str, Any]


def look(*, started: bool = False, formatted: bool = False) -> dict[str, Any]:
    return {"disks": [{"started": started, "formatted": formatted}]}


def test_who_is_down_is_restarted_first_and_the_active_controller_last(settings: Settings) -> None:
    state = {"controller_id": 1, "brokers": [{"id": number, "fenced": number == 4} for number in (1, 2, 3, 4)]}
    order = filters.restart_order(settings["nodes"], ["broker-1", "broker-2", "broker-4"], state)
    assert [node["name"] for node in order] == ["broker-4", "broker-2", "broker-1"]


def test_a_cluster_is_founded_only_when_every_node_was_seen_and_none_ever_ran(settings: Settings) -> None:
    looks = {node["name"]: look(formatted=True) for node in settings["nodes"]}
    assert filters.is_virgin(looks, settings["nodes"])
    assert not filters.is_virgin({**looks, "broker-3": look(started=True)}, settings["nodes"])
    looks.pop("broker-4")
    assert not filters.is_virgin(looks, settings["nodes"])


def test_who_is_waited_for_in_a_roll(settings: Settings) -> None:
    state = {"brokers": [{"id": 1, "fenced": False}, {"id": 5, "fenced": True}]}
    assert filters.live_brokers(state, settings["nodes"][1]) == [1, 2]
    controller = {**settings["nodes"][1], "roles": ["kafka_controller"]}
    assert filters.live_brokers(state, controller) == [1]


def test_nodes_ports_are_open_to_nodes_only(settings: Settings) -> None:
    assert filters.firewall_rules(settings) == [
        {"ports": [9092, 9094], "sources": []},
        {"ports": [9091, 9093], "sources": ["198.18.0.11", "198.18.0.12", "198.18.0.13", "198.18.0.14"]},
    ]


def test_names_in_a_certificate_come_from_the_inventory(settings: Settings) -> None:
    node = {**settings["nodes"][0], "address": "kafka.example.org"}
    variables = {
        "inventory_hostname": "broker-1",
        "kafka_certificate_aliases": ["k1", "broker-1"],
        "__kafka_requested": {"request": "R", "certificate": ""},
    }
    assert filters.signing_request(variables, [node]) == {
        "name": "broker-1",
        "aliases": ["k1", "kafka.example.org"],
        "addresses": ["198.18.0.11"],
        "request": "R",
        "certificate": None,
    }


def test_users_get_every_mechanism_unless_they_say_which() -> None:
    users: list[dict[str, Any]] = [
        {"name": "a"},
        {"name": "b", "mechanisms": ["SCRAM-SHA-256"], "iterations": 4096},
        {"name": "c", "state": "absent"},
    ]
    found = filters.scram_users(users, {"a": "1", "b": "2"}, ["PLAIN", "SCRAM-SHA-512"], 8192)
    assert found[0] == {"name": "a", "mechanisms": ["SCRAM-SHA-512"], "iterations": 8192, "password": "1"}
    assert found[1]["mechanisms"] == ["SCRAM-SHA-256"]
    assert "password" not in found[2]


def test_health_names_what_is_wrong(settings: Settings) -> None:
    state = {"not_whole": ["voters behind: 2"], "controller_id": 1}
    well = {"node": {"running": True, "certificate_days": 300, "free_mib": {}}}
    ill = {"node": {"running": False, "certificate_days": 5, "free_mib": {}}}
    seen = {"broker-1": well, "broker-2": ill, "broker-3": well, "broker-4": None}
    found = filters.health(state, seen, settings["nodes"], 30)
    assert found["problems"] == [
        "voters behind: 2",
        "broker-2: Kafka does not run",
        "broker-2: 5 days left on its certificate",
        "broker-4 was not looked at",
    ]
    assert found["hosts"]["broker-1"]["controller"] is True


def test_words_of_an_argument_file_stay_whole() -> None:
    assert kafka_format.quoted('salt="a\\b" c') == '"salt=\\"a\\\\b\\" c"'


def test_a_restart_is_due_when_the_disk_says_otherwise(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a").write_text("1", encoding="ascii")
    started, witness = tmp_path / "started-with", "sha256sum a; echo version"
    assert kafka_service.differences(str(started), witness) == ["not known what it was started with"]
    subprocess.run(f"{{ {witness}; }} > started-with", shell=True, check=True)  # noqa: S602 - as the unit does it
    assert kafka_service.differences(str(started), witness) == []
    (tmp_path / "a").write_text("2", encoding="ascii")
    assert kafka_service.differences(str(started), witness) == ["a"]
