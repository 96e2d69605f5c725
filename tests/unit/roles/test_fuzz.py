"""Whatever a name, a value or a password holds: it reaches Java whole, or it is refused before anything is written."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import yaml
from ansible.errors import AnsibleActionFail
from hypothesis import example, given
from hypothesis import strategies as st

from plugins.action.stack_secrets import held_in, written
from plugins.filter.kafka import admin_properties
from plugins.module_utils.client_files import files
from plugins.module_utils.errors import KafkaModuleError
from plugins.module_utils.node_properties import server_properties
from plugins.module_utils.preflight_rules import inventory_problems
from plugins.module_utils.properties_text import document, jaas
from plugins.module_utils.scram_bootstrap import credentials, zookeeper_credentials
from plugins.module_utils.settings import parse_server, read_settings
from tests.fuzz import answered, any_text, bounded, json_junk, junk, spoiled
from tests.unit.roles import java
from tests.unit.roles.conftest import LISTENERS, node

LOGIN = {"mechanism": "SCRAM-SHA-512", "ca": "-----BEGIN\nEND-----\n", "folder": "/x", "sasl_servers": "b:9092",
         "mtls_servers": "b:9094", "certificate": "c", "key": "k", "ca_path": "/etc/kafka/ssl/ca.pem"}  # fmt: skip
NODES = [node(number) for number in range(1, 5)]
TOPIC = {"name": "orders", "partitions": 3, "replication_factor": 3, "config": {"min.insync.replicas": 2}}
ACL = {"principal": "usercc", "resource_type": "topic", "name": "orders", "operations": ["read"]}
CONTEXT: dict[str, Any] = {
    "mode": "kraft", "version": "4.3.1", "quorum": "dynamic", "nodes": NODES, "node": NODES[0],
    "listeners": LISTENERS, "sasl_mechanisms": ["SCRAM-SHA-512", "PLAIN"], "super_users": ["admin"],
    "plain_users": {"admin": "p"}, "config_dir": "/etc/kafka", "data_dirs": ["/data"], "config": {},
    "topics": [TOPIC], "users": [{"name": "usercc", "password": "p"}], "acls": [ACL],
    "quotas": [{"user": "usercc", "quotas": {"producer_byte_rate": 1}}], "admin_user": "admin",
    "cluster_defaults": {"min.insync.replicas": 2}, "distribution": "maven", "archive_sha512": "",
}  # fmt: skip
ITEMS = ("topics", "users", "acls", "quotas")
words = any_text.filter(bool)


@bounded
@given(st.dictionaries(words, any_text, max_size=4))
@example({"\ufeffkey": " leading", "#a": "trailing\\", "a=b:c d": "\\\nx"})
def test_a_file_of_properties_comes_back_whole(wanted: dict[str, str]) -> None:
    assert java.properties(document(wanted)) == wanted


@bounded
@given(any_text, any_text)
@example("user", "two\nlines")
@example("user", "carriage\rreturn")
@example('u"s\\er', "a'b,c=d;e//f/*g*/\\101\t{{ x }} ${env:HOME}")
def test_user_and_password_in_a_jaas_line_come_back_whole(user: str, password: str) -> None:
    line = jaas("SCRAM-SHA-512", username=user, password=password)
    assert java.jaas(line) == (
        "org.apache.kafka.common.security.scram.ScramLoginModule", {"username": user, "password": password}
    )  # fmt: skip


@bounded
@given(words, any_text)
@example("a b", "p")
@example("alice@example.org", "p")
@example('x="y" user_admin', "p")
@example("a;b", "p")
def test_users_of_plain_come_back_whole(user: str, password: str) -> None:
    """The name is the option's name there: what ends a word must not make another option of it."""
    assert java.jaas(jaas("PLAIN", **{f"user_{user}": password}))[1] == {f"user_{user}": password}


@bounded
@given(words, words)
def test_the_files_of_a_user_say_the_same_login(user: str, password: str) -> None:
    made = files(user, {**LOGIN, "password": password})
    found = java.properties(made["client.properties"])
    assert java.jaas(found["sasl.jaas.config"])[1] == {"username": user, "password": password}
    assert found["ssl.truststore.certificates"] == LOGIN["ca"]
    native = json.loads(made["librdkafka.json"])
    assert (native["sasl.username"], native["sasl.password"]) == (user, password)
    assert (
        java.properties(admin_properties(user, {**LOGIN, "password": password}))["sasl.jaas.config"]
        == (found["sasl.jaas.config"])
    )


@bounded
@given(any_text)
def test_any_password_makes_a_credential(password: str) -> None:
    (line,) = credentials("admin", password, ["SCRAM-SHA-256"], 4096)
    assert line.startswith("SCRAM-SHA-256=[name=admin,iterations=4096,salt=")
    assert zookeeper_credentials(password, ["SCRAM-SHA-512"], 4096).keys() == {"SCRAM-SHA-512"}


@bounded
@given(st.sampled_from(ITEMS).flatmap(lambda kind: st.tuples(st.just(kind), spoiled(CONTEXT[kind], json_junk))))
@example(("topics", [{"name": 3}]))
@example(("topics", [{"name": "x", "replication_factor": "many"}]))
@example(("topics", [{"name": "x", "replication_factor": 1, "config": "small"}]))
@example(("topics", [{"name": "x", "replication_factor": 1, "config": {"min.insync.replicas": "most"}}]))
@example(("users", [{"name": None}]))
def test_spoiled_items_are_told(made: tuple[str, Any]) -> None:
    """Ansible sees to it that they are lists of dicts, and looks no deeper."""
    kind, items = made
    if isinstance(items, list) and all(isinstance(item, dict) for item in items):
        problems = inventory_problems({**copy.deepcopy(CONTEXT), kind: items})
        assert all(isinstance(problem, str) and problem for problem in problems)


@bounded
@given(
    st.fixed_dictionaries({
        "admin_user": any_text, "version": any_text, "super_users": st.lists(any_text, max_size=3),
        "cluster_defaults": st.dictionaries(st.sampled_from(("min.insync.replicas", "x")), json_junk),
        "config": st.dictionaries(words, st.one_of(any_text, st.integers(), st.booleans(), st.none()), max_size=3),
    })
)  # fmt: skip
@example({"super_users": ["admin;User:mallory"]})
@example({"cluster_defaults": {"min.insync.replicas": "two"}})
@example({"version": "x"})
def test_what_passes_the_rules_reaches_java_whole(changes: dict[str, Any]) -> None:
    context = {**copy.deepcopy(CONTEXT), **changes}
    problems = inventory_problems(context)
    assert all(isinstance(problem, str) and problem for problem in problems)
    if not problems:
        made = server_properties(context)
        assert java.properties(document(made)) == made
        names = [name.removeprefix("User:") for name in made["super.users"].split(";")]
        assert names == list(dict.fromkeys([*context["super_users"], *(one["name"] for one in NODES)]))


@bounded
@given(any_text)
def test_any_address_of_a_broker(server: str) -> None:
    found = answered(lambda: parse_server(server), KafkaModuleError)
    assert found is None or (found[0] and 1 <= found[1] <= 65535)


@bounded
@given(spoiled({"bootstrap.servers": "b:9092", "security.protocol": "SASL_SSL", "sasl.mechanism": "PLAIN",
                "sasl.username": "u", "sasl.password": "p", "ssl.ca.pem": "x"}, any_text))  # fmt: skip
def test_any_settings_of_a_client(client: dict[str, str]) -> None:
    """Their types are Ansible's to check."""
    found = answered(lambda: read_settings(None, client), KafkaModuleError)
    assert found is None or found.servers


@bounded
@given(st.dictionaries(words, words, max_size=4))
@example({"u": "\x85\u2028\ufeff x: [y] # z '\"{{ }}"})
@example({"yes": "no", "1": "0x1f", "~": "null", "<<": "2026-11-18"})
def test_passwords_come_back_whole_from_the_stacks_secrets(passwords: dict[str, str]) -> None:
    assert held_in(written(passwords), Path("secrets.yml")) == passwords


@bounded
@given(st.one_of(spoiled({"kafka_user_passwords": {"usercc": "hush-hush"}}), junk).map(yaml.safe_dump))
@example("kafka_user_passwords: {usercc: 12345}")
@example("kafka_user_passwords: {usercc: }")
@example("kafka_user_passwords:\n  usercc: hush-hush\n bad: [")
@example("kafka_user_passwords: {usercc: !!timestamp hush-hush}")
@example("")
def test_spoiled_secrets_are_refused_and_not_shown(text: str) -> None:
    try:
        found = held_in(text, Path("secrets.yml"))
    except AnsibleActionFail as error:
        told = str(error)
    else:
        told = ""
        assert all(isinstance(one, str) and one for pair in found.items() for one in pair[1:])
    assert "hush-hush" not in told
    assert "12345" not in told
