"""ZooKeeper mode: what brokers and servers are told, what is refused, and that KRaft is told the same as before."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
from pathlib import Path
from typing import Any

import pytest

from plugins.filter import kafka as kafka_filters
from plugins.filter import zookeeper as filters
from plugins.module_utils import cluster_document, scram_bootstrap, zookeeper_properties
from plugins.module_utils.node_properties import server_properties
from plugins.module_utils.preflight_rules import inventory_problems, inventory_warnings
from plugins.module_utils.properties_text import document

Settings = dict[str, Any]
KRAFT = Path(__file__).with_name("kraft.properties")


def member(number: int, **changes: Any) -> Settings:
    address = f"198.18.0.{20 + number}"
    made = {"name": f"zookeeper-{number}", "login_address": address, "address": address, "id": number, "port": 2182}
    made["inner_ports"] = [2888, 3888]
    return {**made, **changes}


MEMBERS = [member(number) for number in (1, 2, 3)]


@pytest.fixture
def older(settings: Settings) -> Settings:
    nodes = [{**node, "roles": ["kafka_broker"]} for node in settings["nodes"][:3]]
    zookeeper = {"members": MEMBERS, "chroot": "/kafka"}
    return {
        **settings, "mode": "zookeeper", "version": "3.9.2", "nodes": nodes, "node": nodes[1], "zookeeper": zookeeper,
    }  # fmt: skip


@pytest.fixture
def described(context: Settings, older: Settings) -> Settings:
    return {**context, **older}


def servers(**changes: Any) -> Settings:
    return {
        "members": MEMBERS, "client_port": 2182, "quorum_port": 2888, "election_port": 3888,
        "config_dir": "/etc/zookeeper", "data_dir": "/d", "transaction_log_dir": "/t", "connections_max": 60,
        "snapshots_kept": 5, "purge_interval_h": 24, "config": {}, **changes,
    }  # fmt: skip


def test_kraft_is_told_what_it_was_told_before_there_was_another_mode(settings: Settings) -> None:
    settings["zookeeper"] = {"members": [], "chroot": "/kafka"}
    assert document(server_properties(settings)) == KRAFT.read_text(encoding="utf-8")


def test_a_broker_logs_in_to_zookeeper_by_certificate_and_owns_its_nodes(older: Settings) -> None:
    found = server_properties(older)
    assert found["broker.id"] == "2"
    assert found["zookeeper.connect"] == "198.18.0.21:2182,198.18.0.22:2182,198.18.0.23:2182/kafka"
    assert found["zookeeper.set.acl"] == "true"
    assert found["zookeeper.ssl.client.enable"] == "true"
    assert found["zookeeper.ssl.keystore.location"] == "/etc/kafka/ssl/zookeeper.pem"
    assert found["zookeeper.ssl.endpoint.identification.algorithm"] == "HTTPS"
    assert found["authorizer.class.name"] == "kafka.security.authorizer.AclAuthorizer"
    foreign = ("controller.quorum", "process.", "node.id", "broker.session")
    assert not [name for name in found if name.startswith(foreign)]


def test_listeners_are_those_of_kraft_without_the_controllers(older: Settings) -> None:
    found = server_properties(older)
    assert found["listeners"] == "CLIENT://:9092,MTLS://:9094,BROKER://:9091"
    assert found["listener.security.protocol.map"] == "CLIENT:SASL_SSL,MTLS:SSL,BROKER:SSL"


def test_a_server_has_no_plaintext_port_and_asks_everybody_for_a_certificate() -> None:
    lines = filters.zoo_cfg(servers()).splitlines()
    assert not [line for line in lines if line.startswith("clientPort")]
    for line in (
        "secureClientPort=2182", "sslQuorum=true", "ssl.clientAuth=need", "ssl.quorum.clientAuth=need",
        "admin.enableServer=false", "4lw.commands.whitelist=srvr", "server.2=198.18.0.22\\:2888\\:3888",
        "autopurge.purgeInterval=24", "dataDir=/d", "dataLogDir=/t",
    ):  # fmt: skip
        assert line.replace("\\", "") in [text.replace("\\", "") for text in lines], line


def test_a_server_alone_has_no_quorum_and_null_takes_a_line_away() -> None:
    text = filters.zoo_cfg(servers(members=MEMBERS[:1], config={"initLimit": None, "tickTime": 500}))
    assert "server.1" not in text
    assert "sslQuorum" not in text
    assert "initLimit" not in text
    assert "tickTime=500\n" in text


def test_ports_are_open_to_those_who_need_them(older: Settings) -> None:
    own = [f"198.18.0.{number}" for number in (21, 22, 23)]
    brokers = [f"198.18.0.{number}" for number in (11, 12, 13)]
    assert filters.zookeeper_firewall(servers(), older["nodes"]) == [
        {"ports": [2182], "sources": sorted(own + brokers)},
        {"ports": [2888, 3888], "sources": own},
    ]
    assert len(filters.zookeeper_firewall(servers(members=MEMBERS[:1]), older["nodes"])) == 1


def test_a_good_description_has_no_problems(described: Settings) -> None:
    assert inventory_problems(described) == []
    assert inventory_warnings(described) == []


def test_an_even_ensemble_is_told_and_allowed(described: Settings) -> None:
    described["zookeeper"]["members"] = [*MEMBERS, member(4)]
    assert inventory_problems(described) == []
    assert inventory_warnings(described) == [
        "4 ZooKeepers survive the loss of 1, as 3 do: an even number adds nothing to that."
    ]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"id": 1}, "zookeeper_id 1 is given to zookeeper-1 and zookeeper-9: ids are unique."),
        ({"id": None}, "zookeeper-9 has no zookeeper_id: give every host of group zookeeper its own number."),
        ({"id": 256}, "zookeeper-9 has zookeeper_id 256: use a number from 1 to 255."),
    ],
)
def test_ids_are_there_and_differ(described: Settings, change: Settings, message: str) -> None:
    described["zookeeper"]["members"] = [*MEMBERS, member(4), member(9, **change)]
    assert inventory_problems(described) == [message]


def test_settings_of_the_other_mode_are_refused(described: Settings, context: Settings) -> None:
    described |= {"quorum": "static", "config": {"controller.quorum.fetch.timeout.ms": 1, "num.io.threads": 9}}
    described["nodes"][0]["roles"].append("kafka_controller")
    assert inventory_problems(described) == [
        (
            "broker-1 in group kafka_controller: with kafka_mode zookeeper one of the brokers is the controller; empty "
            "that group."
        ),
        "kafka_quorum is static, which is about KRaft's voters: leave it out with kafka_mode zookeeper.",
        (
            "kafka_config sets controller.quorum.fetch.timeout.ms, which means nothing while kafka_mode is zookeeper: "
            "take it out."
        ),
    ]
    context |= {"config": {"zookeeper.session.timeout.ms": 6000}, "zookeeper": {"members": MEMBERS, "chroot": ""}}
    assert inventory_problems(context) == [
        ("The group zookeeper has 3 hosts and kafka_mode is kraft: set kafka_mode: zookeeper, or empty that group."),
        "kafka_config sets zookeeper.session.timeout.ms, which means nothing while kafka_mode is kraft: take it out.",
    ]


def test_zookeeper_mode_needs_zookeepers(described: Settings) -> None:
    described["zookeeper"]["members"] = []
    assert inventory_problems(described) == [
        "The group zookeeper is empty: kafka_mode zookeeper needs a host in it, or kafka_zookeeper_connect."
    ]


def test_members_are_read_from_the_inventory() -> None:
    hostvars = {"z": {"ansible_host": "198.18.0.21", "zookeeper_id": 7, "zookeeper_client_port": 2281}}
    assert zookeeper_properties.members(["z"], hostvars) == [
        {
            "name": "z",
            "login_address": "198.18.0.21",
            "address": "198.18.0.21",
            "id": 7,
            "port": 2281,
            "inner_ports": [],
        }
    ]


def test_credentials_are_what_a_login_proves_and_hold_no_password() -> None:
    found = scram_bootstrap.zookeeper_credentials("canary", ["SCRAM-SHA-512", "PLAIN"], 4096)
    (text,) = found.values()
    fields = dict(field.split("=", maxsplit=1) for field in text.split(","))
    salted = hashlib.pbkdf2_hmac("sha512", b"canary", base64.b64decode(fields["salt"]), 4096)
    client_key = hmac.digest(salted, b"Client Key", "sha512")
    assert base64.b64decode(fields["stored_key"]) == hashlib.sha512(client_key).digest()
    assert base64.b64decode(fields["server_key"]) == hmac.digest(salted, b"Server Key", "sha512")
    assert fields["iterations"] == "4096"
    assert "canary" not in text


def test_cluster_json_names_the_zookeepers_beside_the_nodes(older: Settings) -> None:
    login = {"user": "ops", "port": 22, "key_file": "/s/ssh/id", "known_hosts_file": "/s/known_hosts"}
    more = {
        "stack": "s", "cluster_id": "x", "state_dir": "/s", "topics": [], "users": [], "admin_user": "admin",
        "validator_user": "v", "operations": {}, "faults_allowed": True, "acls": [],
        "logins": {host["name"]: login for host in [*older["nodes"], *MEMBERS]},
    }  # fmt: skip
    older["config"] = {"zookeeper.session.timeout.ms": 9000}
    found = json.loads(cluster_document.document(older, more))
    assert [host["node_id"] for host in found["hosts"]] == [1, 2, 3, None, None, None]
    assert (found["hosts"][3]["roles"], found["hosts"][3]["service"]) == (["zookeeper"], "zookeeper")
    assert found["hosts"][3]["ports"] == [2182, 2888, 3888]
    assert not {"service", "ports"} & found["hosts"][0].keys()
    assert found["timeouts"]["zookeeper_session_ms"] == 9000
    assert "CONTROLLER" not in [listener["name"] for listener in found["listeners"]]


def test_health_tells_of_the_ensemble(older: Settings) -> None:
    state = {"not_whole": [], "controller_id": 1}
    well = {"node": {"running": True, "certificate_days": 300, "free_mib": {}}}
    seen = {node["name"]: well for node in older["nodes"]}
    ensemble = {
        "ensemble": {"leader": "zookeeper-1", "members": [{"name": "zookeeper-1", "certificate_days": 3}]},
        "not_whole": ["zookeeper-2 does not serve: refused"],
    }
    found = kafka_filters.health(state, seen, older["nodes"], 30, ensemble)
    assert found["ensemble"]["leader"] == "zookeeper-1"
    assert found["problems"] == [
        "zookeeper-2 does not serve: refused", "zookeeper-1: 3 days left on its certificate",
    ]  # fmt: skip
    assert kafka_filters.health(state, seen, older["nodes"], 30)["ensemble"] is None


def test_drift_is_told_by_host() -> None:
    diff = {"before_header": "/etc/zookeeper/zoo.cfg", "before": "a=1", "after": "a=1\nb=2"}
    hostvars: dict[str, Any] = {
        "z1": {"__zookeeper_configured": {"changed": True, "diff": [diff]}, "__zookeeper_seen": {"node": {}}},
        "z2": {"__zookeeper_seen": {"node": {"install_problems": ["not installed"]}}},
    }
    assert filters.zookeeper_drift(["z1", "z2"], hostvars) == [
        "z1: settings: /etc/zookeeper/zoo.cfg (-b=2)", "z2: installation: not installed",
    ]  # fmt: skip


def test_a_host_is_not_of_both_groups(described: Settings) -> None:
    """Each play writes the host's firewall with its own ports alone."""
    assert not [told for told in inventory_problems(described) if "in group zookeeper and" in told]
    described["zookeeper"] = {**described["zookeeper"], "members": [*MEMBERS[:2], member(3, name="broker-2")]}
    assert any(told.startswith("broker-2 in group zookeeper and in group") for told in inventory_problems(described))
