"""kafka_acls, kafka_scram_users and kafka_quotas against brokers, with librdkafka as the witness."""

from __future__ import annotations

import base64
import json
import logging
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest
from confluent_kafka import KafkaException
from confluent_kafka.admin import (  # type: ignore[attr-defined]
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ResourcePatternType,
    ResourceType,
)

from plugins.module_utils import quotas_backend, users, users_backend
from tests.system.kafka_processes import ADMIN, ADMIN_PASSWORD, ROOT, fetch
from tests.system.modules.calls import Modules

if TYPE_CHECKING:
    from pathlib import Path

    from tests.system.kafka_processes import Processes

pytestmark = pytest.mark.system

SHA_256, SHA_512 = "SCRAM-SHA-256", "SCRAM-SHA-512"
BOTH = [SHA_256, SHA_512]
QUIET = logging.getLogger("librdkafka")
QUIET.addHandler(logging.NullHandler())
QUIET.propagate = False
ODD_PASSWORDS = [
    "'single' and \"double\"", "a,b,c", "with spaces ", "k=v=w", "back\\slash\\n", "$HOME ${x}", "Grüße, ß",
    "{{ lookup }}", "{% raw %}", "#hash: yes", "日本語", "tab\tin", "x" * 300,
]  # fmt: skip
FIRST, SECOND = "first", "second"


def logs_in(brokers: Processes, name: str, password: str, mechanism: str = SHA_512) -> bool:
    """Whether librdkafka gets in."""
    settings: dict[str, Any] = {
        "bootstrap.servers": brokers.servers()[0], "security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": mechanism,
        "sasl.username": name, "sasl.password": password,
    }  # fmt: skip
    client = AdminClient(settings, logger=QUIET)
    try:
        client.list_topics(timeout=1.5)
    except KafkaException:
        return False
    return True


def all_acls(brokers: Processes) -> list[Any]:
    admin = AdminClient({"bootstrap.servers": ",".join(brokers.servers()), **brokers.client()}, logger=QUIET)
    everything: Any = None  # which its types do not foresee
    every = AclBindingFilter(
        ResourceType.ANY, everything, ResourcePatternType.ANY, everything, everything, AclOperation.ANY,
        AclPermissionType.ANY,
    )  # fmt: skip
    return list(admin.describe_acls(every).result())


def test_users_come_change_and_go(modules: Modules, brokers: Processes) -> None:
    item: dict[str, Any] = {"name": "lena", "password": FIRST, "mechanisms": BOTH}
    assert modules.steady("kafka_scram_users", users=[item]) == [
        "create user lena: SCRAM-SHA-256, 4096 iterations",
        "create user lena: SCRAM-SHA-512, 4096 iterations",
    ]
    assert logs_in(brokers, "lena", FIRST, SHA_256)
    item["password"] = SECOND
    assert modules.steady("kafka_scram_users", users=[item]) == [
        "alter user lena: SCRAM-SHA-256, new password",
        "alter user lena: SCRAM-SHA-512, new password",
    ]
    assert not logs_in(brokers, "lena", FIRST)
    assert logs_in(brokers, "lena", SECOND)
    item |= {"mechanisms": [SHA_256], "iterations": 8192}
    assert modules.steady("kafka_scram_users", users=[item]) == [
        "alter user lena: SCRAM-SHA-256, iterations 4096 -> 8192",
        "delete user lena: SCRAM-SHA-512",
    ]
    assert not logs_in(brokers, "lena", SECOND)
    modules.steady("kafka_scram_users", users=[{"name": "lena", "state": "absent"}])
    assert not logs_in(brokers, "lena", SECOND, SHA_256)


def test_any_password_works_and_is_recognised(modules: Modules, brokers: Processes) -> None:
    items = [{"name": f"odd-{n}", "password": text, "mechanisms": BOTH} for n, text in enumerate(ODD_PASSWORDS)]
    items.append({"name": "o,d=d", "password": "p", "mechanisms": BOTH})
    modules.steady("kafka_scram_users", users=items)
    for item in items:
        assert logs_in(brokers, str(item["name"]), str(item["password"])), item


def test_a_password_changed_behind_the_back_is_found_and_only_that(modules: Modules, brokers: Processes) -> None:
    items = [{"name": f"rep-{n}", "password": f"p{n}", "mechanisms": BOTH} for n in range(3)]
    modules.done("kafka_scram_users", users=items)
    change = users.UserChange("alter", "rep-1", "", key=("rep-1", SHA_256), iterations=4096, password=SECOND)
    with brokers.cluster() as cluster:
        users_backend.apply(cluster, [change])
    assert modules.done("kafka_scram_users", users=items)["plan"] == ["alter user rep-1: SCRAM-SHA-256, new password"]
    assert logs_in(brokers, "rep-1", "p1", SHA_256)


def test_stray_users_and_the_one_who_connects(modules: Modules) -> None:
    items = [{"name": "stays", "password": "p", "mechanisms": [SHA_512]}]
    modules.done("kafka_scram_users", users=[*items, {"name": "goes", "password": "p", "mechanisms": [SHA_512]}])
    answer = modules.done("kafka_scram_users", users=items, ignore_strays=["odd-*", "rep-*", "o,*"])
    assert answer["strays"] == ["goes"]
    assert not answer["changed"]
    assert modules.steady("kafka_scram_users", users=items, remove_strays=True) != []
    assert modules.done("kafka_scram_users", users=items)["strays"] == [], f"{ADMIN} is none"
    assert "is protected" in modules.refused("kafka_scram_users", users=[{"name": ADMIN, "state": "absent"}])
    assert "would remove all" in modules.refused("kafka_scram_users", users=[], remove_strays=True)


def test_with_tls_and_with_a_certificate(brokers: Processes) -> None:
    items = [{"name": "sealed", "password": "päss", "mechanisms": BOTH}]
    tls = Modules(brokers, bootstrap_servers=brokers.servers("TLS"), client=brokers.client("SASL_SSL"))
    tls.steady("kafka_scram_users", users=items)
    pem = (brokers.folder / f"{ADMIN}.pem").read_text()
    for certificate in (
        {"ssl.certificate.location": str(brokers.folder / f"{ADMIN}.pem")},
        {"ssl.certificate.pem": pem, "ssl.key.pem": pem},
    ):
        client = brokers.client("SSL", **certificate)
        mutual = Modules(brokers, bootstrap_servers=brokers.servers("MTLS"), client=client)
        assert "that listener has no SASL" in mutual.refused("kafka_scram_users", users=items)
        answer = mutual.done("kafka_scram_users", users=items, login_servers=brokers.servers("TLS"))
        assert (answer["changed"], answer["tested"]) == (False, 2)


@pytest.mark.parametrize(
    ("listener", "change", "words"),
    [
        ("CLIENT", {"sasl.password": "wrong"}, "does not let 'admin' in.\nSCRAM-SHA-512: Authentication failed"),
        ("CLIENT", {"sasl.mechanism": "PLAIN"}, "does not have PLAIN turned on.\nIt offers"),
        ("TLS", {"security.protocol": "SASL_SSL"}, "is not trusted.\nself-signed certificate in certificate chain"),
        ("CLIENT", {"security.protocol": "SASL_SSL"}, "No TLS with 127.0.0.1"),
        ("TLS", {}, "No broker can be reached."),
    ],
)
def test_a_login_that_fails_says_why(brokers: Processes, listener: str, change: dict[str, str], words: str) -> None:
    client = brokers.client(**change)
    client.pop("ssl.ca.location", None)
    modules = Modules(brokers, bootstrap_servers=brokers.servers(listener)[:1], client=client, timeout_s=3)
    message = modules.refused("kafka_cluster_info")
    assert words in message
    assert "wrong" not in message
    assert ADMIN_PASSWORD not in message


def test_the_first_server_may_be_down(brokers: Processes) -> None:
    servers = ["127.0.0.1:1", *brokers.servers()]
    Modules(brokers, bootstrap_servers=servers, client=brokers.client()).done("kafka_cluster_info")


def test_acls_come_and_go(modules: Modules, brokers: Processes) -> None:
    items: list[dict[str, Any]] = [
        {"principal": "ann", "resource_type": "topic", "name": "t", "operations": ["read", "describe"]},
        {
            "principal": "ann",
            "resource_type": "group",
            "name": "g-",
            "pattern_type": "prefixed",
            "operations": ["read"],
        },
        {"principal": "User:bob", "resource_type": "cluster", "operations": ["create"], "host": "10.0.0.1"},
        {"principal": "*", "resource_type": "topic", "name": "*", "operations": ["all"], "permission": "deny"},
        {"principal": "ann", "resource_type": "transactional_id", "name": "x", "operations": ["write"]},
    ]
    assert len(modules.steady("kafka_acls", acls=items)) == 6
    seen = {(acl.principal, acl.operation.name, acl.restype.name, acl.name, acl.host) for acl in all_acls(brokers)}
    assert ("User:bob", "CREATE", "BROKER", "kafka-cluster", "10.0.0.1") in seen
    assert ("User:*", "ALL", "TOPIC", "*", "*") in seen
    admin = AdminClient({"bootstrap.servers": brokers.servers()[0], **brokers.client()}, logger=QUIET)
    stray = AclBinding(
        ResourceType.TOPIC,
        "t",
        ResourcePatternType.LITERAL,
        "User:eve",
        "*",
        AclOperation.READ,
        AclPermissionType.ALLOW,
    )
    own = AclBinding(
        ResourceType.TOPIC, "t", ResourcePatternType.LITERAL, f"User:{ADMIN}", "*", AclOperation.READ,
        AclPermissionType.ALLOW,
    )  # fmt: skip
    for future in admin.create_acls([stray, own]).values():
        future.result()
    answer = modules.done("kafka_acls", acls=items)
    assert (answer["changed"], answer["strays"]) == (False, ["User:eve allow read on topic t"])
    assert modules.steady("kafka_acls", acls=items, remove_strays=True) == [
        "delete ACL: User:eve allow read on topic t"
    ]
    gone = [{**item, "state": "absent"} for item in items]
    assert len(modules.steady("kafka_acls", acls=gone)) == 6
    assert [acl.principal for acl in all_acls(brokers)] == [f"User:{ADMIN}"], "only the protected one is left"


def test_quotas_come_and_go(modules: Modules, brokers: Processes) -> None:
    items: list[dict[str, Any]] = [
        {"user": "ann", "quotas": {"producer_byte_rate": 1048576, "request_percentage": 12.5}},
        {"user": "ann", "client_id": "<default>", "quotas": {"consumer_byte_rate": 1000}},
        {"client_id": "batch", "quotas": {"controller_mutation_rate": 5}},
        {"user": "<default>", "quotas": {"producer_byte_rate": 5000}},
        {"ip": "127.0.0.9", "quotas": {"connection_creation_rate": 10}},
        {"ip": "<default>", "quotas": {"connection_creation_rate": 1000}},
    ]
    assert len(modules.steady("kafka_quotas", quotas=items)) == 6
    told = subprocess.run(
        ["java", "-cp", f"{fetch('4.3.1')}/*", "kafka.admin.ConfigCommand", "--describe", "--entity-type", "users",
         "--entity-name", "ann", "--bootstrap-server", f"127.0.0.1:{brokers.ports[1]['BROKER']}"],
        capture_output=True, text=True, check=True, timeout=60,
    ).stdout  # fmt: skip
    assert "producer_byte_rate=1048576.0" in told
    assert "request_percentage=12.5" in told
    items[0]["quotas"] = {"producer_byte_rate": 2097152}
    assert modules.steady("kafka_quotas", quotas=items) == [
        "quota of user ann: producer_byte_rate 1048576 -> 2097152, request_percentage 12.5 -> none"
    ]
    assert modules.done("kafka_quotas", quotas=items[:1])["strays"] == [
        "client-id batch", "ip 127.0.0.9", "ip <default>", "user <default>", "user ann, client-id <default>"
    ]  # fmt: skip
    assert "not a valid IP" in modules.refused(
        "kafka_quotas", quotas=[{"ip": "no host!", "quotas": {"connection_creation_rate": 1}}], check=True
    )
    modules.steady("kafka_quotas", quotas=items[:1], remove_strays=True)
    modules.steady("kafka_quotas", quotas=[{"user": "ann", "state": "absent"}])
    with brokers.cluster() as cluster:
        assert quotas_backend.read(cluster) == {}


def test_everything_in_one_task(modules: Modules, brokers: Processes) -> None:
    params: dict[str, Any] = {
        "topics": [{"name": "one-task", "partitions": 1, "replication_factor": 1}],
        "users": [{"name": "one", "password": FIRST}],
        "acls": [{"principal": "one", "resource_type": "topic", "name": "one-task", "operations": ["read"]}],
        "quotas": [{"user": "one", "quotas": {"producer_byte_rate": 1000}}],
    }
    assert modules.steady("kafka_access", **params) == [
        "create topic one-task: partitions 1, replication factor 1",
        "create user one: SCRAM-SHA-512, 4096 iterations",
        "create ACL: User:one allow read on topic one-task",
        "quota of user one: producer_byte_rate none -> 1000",
    ]
    assert logs_in(brokers, "one", FIRST)
    bad_quota = [{"ip": "no host!", "quotas": {"connection_creation_rate": 1}}]
    other = {**params, "users": [{"name": "two", "password": SECOND}], "quotas": bad_quota}
    assert "not a valid IP" in modules.refused("kafka_access", **other)
    assert "two" not in modules.done("kafka_access", users=params["users"])["strays"]["users"], "nothing was begun"
    gone = {kind: [{**params[kind][0], "state": "absent"}] for kind in params}
    assert len(modules.steady("kafka_access", **gone)) == 4


PLAYBOOK = """
- hosts: localhost
  connection: local
  gather_facts: false
  tasks:
    - kastellan.kafka.kafka_scram_users:
        bootstrap_servers: "{{ servers }}"
        client: "{{ client }}"
        users: "{{ users }}"
"""


def test_no_secret_is_seen_in_a_playbook(brokers: Processes, tmp_path: Path) -> None:
    """Full output with --diff, twice: the first run changes, the second must not. Nothing shows a password."""
    collections = tmp_path / "collections" / "ansible_collections" / "kastellan"
    collections.mkdir(parents=True)
    (collections / "kafka").symlink_to(ROOT)
    canaries = ["canary-plain-7f3a", "canary 'quoted' \"7f3b\"", "canary\\back\\7f3c", "canary-ümläut-7f3d {{ x }}"]
    variables = {
        "servers": ",".join(brokers.servers()),
        "client": brokers.client(),
        "users": [{"name": f"c{n}", "password": text, "mechanisms": BOTH} for n, text in enumerate(canaries)],
        "ansible_python_interpreter": sys.executable,
    }
    text = json.dumps(variables, ensure_ascii=False)
    for secret in (*canaries, ADMIN_PASSWORD):  # as users write them: not to be taken for templates
        dumped = json.dumps(secret, ensure_ascii=False)
        text = text.replace(dumped, f"!unsafe {dumped}")
    (tmp_path / "vars.yml").write_text(text, encoding="utf-8")
    (tmp_path / "play.yml").write_text(PLAYBOOK, encoding="utf-8")
    outputs = []
    for _ in range(2):
        done = subprocess.run(
            ["ansible-playbook", "-i", "localhost,", "-vvv", "--diff", "-e", "@vars.yml", "play.yml"],
            cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False,
            env={"PATH": f"{sys.prefix}/bin:/usr/bin:/bin", "HOME": str(tmp_path), "LANG": "C.UTF-8",
                 "ANSIBLE_COLLECTIONS_PATH": str(tmp_path / "collections")},
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr
        outputs.append(done.stdout + done.stderr)
    assert "create user c0: SCRAM-SHA-256, 4096 iterations" in outputs[0], "names are not hidden"
    assert "changed=0" in outputs[1]
    for secret in (*canaries, ADMIN_PASSWORD):
        for form in (secret, repr(secret)[1:-1], json.dumps(secret)[1:-1], base64.b64encode(secret.encode()).decode()):
            assert form not in "".join(outputs)
    assert "7f3" not in "".join(outputs)
    for number, secret in enumerate(canaries):
        assert logs_in(brokers, f"c{number}", secret)
