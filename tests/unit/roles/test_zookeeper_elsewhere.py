"""Brokers on an ensemble that is not ours: its servers, the login that its owner gave, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from plugins.module_utils import cluster_document, zookeeper_elsewhere
from plugins.module_utils.node_properties import server_properties
from plugins.module_utils.preflight_rules import inventory_problems, inventory_warnings

Settings = dict[str, Any]
CONNECT = "zk-1.example.org:2281,[2001:db8::2]:2281"
CERTIFICATE = "-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----\n"
KEY = "-----BEGIN PRIVATE KEY-----\n-----END PRIVATE KEY-----\n"


@pytest.fixture
def login(tmp_path: Path) -> dict[str, str]:
    made = {}
    for name, text in {"certificate": CERTIFICATE, "key": KEY, "ca": CERTIFICATE}.items():
        (tmp_path / f"{name}.pem").write_text(text, encoding="ascii")
        made[name] = str(tmp_path / f"{name}.pem")
    return made


def ensemble(connect: str, login: dict[str, str], **changes: Any) -> Settings:
    members = zookeeper_elsewhere.listed(connect)
    return {"members": members, "chroot": "/kafka", "group": 0, "connect": connect, "login": login, **changes}


@pytest.fixture
def older(context: Settings, login: dict[str, str]) -> Settings:
    """As role kafka hands it over; three brokers, and no group zookeeper."""
    nodes = [{**node, "roles": ["kafka_broker"]} for node in context["nodes"][:3]]
    zookeeper = ensemble(CONNECT, login)
    return {
        **context, "mode": "zookeeper", "version": "3.9.2", "nodes": nodes, "node": nodes[1], "zookeeper": zookeeper,
    }  # fmt: skip


def test_brokers_are_told_its_servers_and_their_own_place(older: Settings) -> None:
    assert inventory_problems(older) == []
    found = server_properties(older)
    assert found["zookeeper.connect"] == "zk-1.example.org:2281,[2001:db8::2]:2281/kafka"
    assert found["zookeeper.ssl.keystore.location"] == "/etc/kafka/ssl/zookeeper.pem"
    assert found["zookeeper.set.acl"] == "true"


def test_nobody_here_knows_whether_they_are_all_so_their_number_is_not_judged(older: Settings) -> None:
    assert len(older["zookeeper"]["members"]) == 2
    assert inventory_warnings(older) == []


def test_its_hosts_are_nobodys_to_break(older: Settings) -> None:
    login = {"user": "ops", "port": 22, "key_file": "/s/ssh/id", "known_hosts_file": "/s/known_hosts"}
    more = {
        "stack": "s", "cluster_id": "x", "state_dir": "/s", "topics": [], "users": [], "admin_user": "admin",
        "validator_user": "v", "operations": {}, "faults_allowed": True, "acls": [],
        "logins": {host["name"]: login for host in older["nodes"]},
    }  # fmt: skip
    found = json.loads(cluster_document.document(older, more))
    assert [host["name"] for host in found["hosts"]] == ["broker-1", "broker-2", "broker-3"]


@pytest.mark.parametrize(
    ("connect", "message"),
    [
        ("zk-1:2182/kafka", "kafka_zookeeper_connect ends with /kafka: write zk-1:2182, and kafka_zookeeper_chroot: /kafka."),
        ("zk-1", "kafka_zookeeper_connect has 'zk-1': write host:port of its port for TLS, e.g. zk-1.example.org:2182."),
        ("zk-1:2182;zk-2:2182", "kafka_zookeeper_connect has 'zk-1:2182;zk-2:2182': write host:port of its port for TLS,"),
        ("zk-1:2182,zk-2:2183", "kafka_zookeeper_connect has the ports 2182, 2183: all servers need the same."),
    ],
    ids=["a chroot in it", "no port", "another separator", "several ports"],
)  # fmt: skip
def test_a_connection_string_that_cannot_be(older: Settings, login: dict[str, str], connect: str, message: str) -> None:
    older["zookeeper"] = ensemble(connect, login)
    (told,) = inventory_problems(older)
    assert told.startswith(message)


def test_without_a_login_nobody_gets_in(older: Settings, login: dict[str, str]) -> None:
    older["zookeeper"] = ensemble(CONNECT, {"certificate": login["certificate"], "key": "", "ca": ""})
    assert inventory_problems(older) == [
        (
            "kafka_zookeeper_connect is set but kafka_zookeeper_key and kafka_zookeeper_ca not: brokers log in by "
            "certificate, and trust nobody unasked."
        )
    ]


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("key", "-----BEGIN EC PRIVATE KEY-----", "has no BEGIN PRIVATE KEY: openssl pkcs8 -topk8 -nocrypt makes it of another key."),
        ("ca", "DER", "has no BEGIN CERTIFICATE: make it PEM."),
        ("certificate", None, "cannot be read here: No such file or directory."),
    ],
)  # fmt: skip
def test_a_login_that_brokers_could_not_read(
    older: Settings, login: dict[str, str], name: str, text: str | None, message: str
) -> None:
    path = Path(login[name])
    path.unlink()
    if text is not None:
        path.write_text(text, encoding="ascii")
    assert inventory_problems(older) == [f"kafka_zookeeper_{name} {path} {message}"]
    login[name] = "login.pem"
    assert inventory_problems(older) == [
        f"kafka_zookeeper_{name} is 'login.pem': write the whole path of the file on this machine."
    ]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"group": 3}, "The group zookeeper has 3 hosts and kafka_zookeeper_connect names an ensemble that is there already: empty"),
        ({"chroot": ""}, "kafka_zookeeper_chroot is empty: the root of an ensemble that serves others is not this cluster's;"),
        ({"chroot": "kafka"}, "kafka_zookeeper_chroot is 'kafka': begin with / and do not end with it, e.g. /kafka."),
        ({"chroot": "/kafka/"}, "kafka_zookeeper_chroot is '/kafka/': begin with / and do not end with it, e.g. /kafka."),
    ],
)  # fmt: skip
def test_a_place_that_cannot_be(older: Settings, login: dict[str, str], changes: Settings, message: str) -> None:
    older["zookeeper"] = ensemble(CONNECT, login, **changes)
    (told,) = inventory_problems(older)
    assert told.startswith(message)


def test_a_login_alone_and_an_ensemble_without_its_mode_are_told(
    older: Settings, context: Settings, login: dict[str, str]
) -> None:
    context["zookeeper"] = ensemble(CONNECT, login)
    assert inventory_problems(context) == [
        "kafka_zookeeper_connect is set and kafka_mode is kraft: set kafka_mode: zookeeper, or leave it out."
    ]
    older["zookeeper"] = {**ensemble(CONNECT, login), "connect": "", "login": {"key": login["key"]}}
    told = inventory_problems(older)
    assert told[0] == (
        "kafka_zookeeper_key is for an ensemble that is there already, and kafka_zookeeper_connect does not name it."
    )
