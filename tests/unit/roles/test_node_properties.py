from __future__ import annotations

from typing import Any

import pytest

from plugins.module_utils.node_properties import listeners_of, server_properties, super_users

Settings = dict[str, Any]


def test_a_combined_node(settings: Settings) -> None:
    found = server_properties(settings)
    assert found["process.roles"] == "broker,controller"
    assert found["node.id"] == "2"
    assert found["listeners"] == "CLIENT://:9092,MTLS://:9094,BROKER://:9091,CONTROLLER://:9093"
    assert found["advertised.listeners"].startswith("CLIENT://198.18.0.12:9092,")
    assert found["controller.quorum.bootstrap.servers"] == (
        "198.18.0.11:9093,198.18.0.12:9093,198.18.0.13:9093,198.18.0.14:9093"
    )
    assert found["controller.quorum.auto.join.enable"] == "true"
    assert "broker.rack" not in found


def test_every_listener_speaks_tls_and_no_name_is_left_out(settings: Settings) -> None:
    found = server_properties(settings)
    assert found["listener.security.protocol.map"] == "CLIENT:SASL_SSL,MTLS:SSL,BROKER:SSL,CONTROLLER:SSL"
    assert found["listener.name.mtls.ssl.client.auth"] == "required"
    assert found["listener.name.broker.ssl.client.auth"] == "required"
    assert found["listener.name.controller.ssl.client.auth"] == "required"
    assert found["listener.name.client.ssl.client.auth"] == "none"
    assert found["ssl.endpoint.identification.algorithm"] == "https"


def test_deny_by_default(settings: Settings) -> None:
    found = server_properties(settings)
    assert found["authorizer.class.name"] == "org.apache.kafka.metadata.authorizer.StandardAuthorizer"
    assert found["allow.everyone.if.no.acl.found"] == "false"
    assert found["auto.create.topics.enable"] == "false"
    assert found["super.users"] == "User:admin;User:broker-1;User:broker-2;User:broker-3;User:broker-4"


def test_super_users_are_named_once(settings: Settings) -> None:
    settings["super_users"] = ["admin", "broker-1", "admin"]
    assert super_users(settings) == ["admin", "broker-1", "broker-2", "broker-3", "broker-4"]


def test_sessions_end_so_that_a_changed_password_counts(settings: Settings) -> None:
    assert server_properties(settings)["listener.name.client.connections.max.reauth.ms"] == "3600000"


def test_no_password_stands_there_with_scram(settings: Settings) -> None:
    settings["plain_users"] = {"usercc": "seen-nowhere"}
    found = server_properties(settings)
    assert "seen-nowhere" not in "".join(found.values())
    assert found["listener.name.client.sasl.enabled.mechanisms"] == "SCRAM-SHA-512,SCRAM-SHA-256"


def test_plain_holds_its_users_in_the_file(settings: Settings) -> None:
    settings["sasl_mechanisms"] = ["PLAIN"]
    settings["plain_users"] = {"usercc": 'a"b\\c'}
    line = server_properties(settings)["listener.name.client.plain.sasl.jaas.config"]
    assert line == (
        'org.apache.kafka.common.security.plain.PlainLoginModule required user_usercc="a\\"b\\\\c";'
    )  # fmt: skip


def test_a_broker_alone_opens_no_controller_listener(settings: Settings) -> None:
    settings["node"] = {**settings["node"], "roles": ["kafka_broker"]}
    found = server_properties(settings)
    assert [listener["name"] for listener in listeners_of(settings)] == ["CLIENT", "MTLS", "BROKER"]
    assert "CONTROLLER" not in found["listeners"]
    assert found["process.roles"] == "broker"
    assert "controller.quorum.auto.join.enable" not in found


def test_a_controller_alone_opens_nothing_else(settings: Settings) -> None:
    settings["node"] = {**settings["node"], "roles": ["kafka_controller"]}
    settings["data_dirs"] = ["/data/1", "/data/2"]
    found = server_properties(settings)
    assert found["listeners"] == "CONTROLLER://:9093"
    assert found["log.dirs"] == "/data/1"
    assert "offsets.topic.replication.factor" not in found
    assert not [name for name in found if name.startswith("listener.name.client.")]


def test_a_static_quorum_names_its_voters(settings: Settings) -> None:
    settings["quorum"] = "static"
    found = server_properties(settings)
    assert found["controller.quorum.voters"].startswith("1@198.18.0.11:9093,2@198.18.0.12:9093,")
    assert "controller.quorum.bootstrap.servers" not in found


def test_an_older_version_knows_neither_automatic_joining_nor_share_groups(settings: Settings) -> None:
    settings["version"] = "3.9.2"
    found = server_properties(settings)
    assert "controller.quorum.auto.join.enable" not in found
    assert not [name for name in found if name.startswith("share.")]


@pytest.mark.parametrize(("brokers", "replicas", "in_sync"), [(1, "1", "1"), (2, "2", "1"), (4, "3", "2")])
def test_topics_of_its_own_fit_the_number_of_brokers(
    settings: Settings, brokers: int, replicas: str, in_sync: str
) -> None:
    settings["nodes"] = settings["nodes"][:brokers]
    settings["node"] = settings["nodes"][0]
    found = server_properties(settings)
    assert found["offsets.topic.replication.factor"] == replicas
    assert found["transaction.state.log.min.isr"] == in_sync


def test_what_the_user_sets_comes_last_and_null_takes_away(settings: Settings) -> None:
    settings["config"] = {"num.io.threads": 9, "unclean.leader.election.enable": None, "compression.type": "zstd"}
    found = server_properties(settings)
    assert found["num.io.threads"] == "9"
    assert found["compression.type"] == "zstd"
    assert "unclean.leader.election.enable" not in found


def test_keys_are_sorted_and_ipv6_is_bracketed(settings: Settings) -> None:
    settings["node"] = {**settings["node"], "address": "2001:db8::2", "rack": "north"}
    found = server_properties(settings)
    assert list(found) == sorted(found)
    assert found["advertised.listeners"].startswith("CLIENT://[2001:db8::2]:9092")
    assert found["broker.rack"] == "north"
