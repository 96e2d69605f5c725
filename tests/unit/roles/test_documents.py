"""cluster.json, client bundles, drift lines, ids and credentials."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from typing import Any

from plugins.module_utils import client_files, cluster_document, drift, quorum_ids, scram_bootstrap

Settings = dict[str, Any]


def more(settings: Settings) -> Settings:
    login = {"user": "ops", "port": 22, "key_file": "/s/ssh/id", "known_hosts_file": "/s/known_hosts"}
    return {
        "stack": "local",
        "cluster_id": "x",
        "state_dir": "/s",
        "topics": [{"name": "t", "partitions": 1, "replication_factor": 3, "config": {"retention.ms": 5}}],
        "users": ["admin", "usercc"],
        "admin_user": "admin",
        "validator_user": "validator",
        "operations": {},
        "faults_allowed": True,
        "logins": {node["name"]: login for node in settings["nodes"]},
        "acls": [
            {"principal": "usercc", "resource_type": "topic", "name": "t", "operations": ["read", "alter_configs"]},
            {"principal": "gone", "resource_type": "cluster", "operations": ["describe"], "state": "absent"},
        ],
    }


def test_cluster_json(settings: Settings) -> None:
    found = json.loads(cluster_document.document(settings, more(settings)))
    assert found["bootstrap_servers"] == "198.18.0.11:9092,198.18.0.12:9092,198.18.0.13:9092,198.18.0.14:9092"
    assert found["hosts"][0]["ssh"] == {
        "user": "ops", "port": 22, "key_file": "ssh/id", "known_hosts_file": "known_hosts",
    }  # fmt: skip
    assert found["topics"][0]["config"] == {"retention.ms": "5"}
    assert [acl["operation"] for acl in found["acls"]] == ["Read", "AlterConfigs"]
    assert found["timeouts"]["broker_session_ms"] == 9000
    assert found["listeners"][0]["mechanisms"] == ["SCRAM-SHA-512", "SCRAM-SHA-256"]


def test_waivers_of_checks_reach_the_proof(settings: Settings) -> None:
    given = {**more(settings), "waivers": [{"check": "64", "reason": "jump host"}]}
    found = json.loads(cluster_document.document(settings, given))
    assert found["security_waivers"] == [{"check": 64, "reason": "jump host"}]
    assert json.loads(cluster_document.document(settings, more(settings)))["security_waivers"] == []


def test_timeouts_are_those_in_force(settings: Settings) -> None:
    settings["config"] = {"broker.session.timeout.ms": 6000}
    found = json.loads(cluster_document.document(settings, more(settings)))
    assert found["timeouts"]["broker_session_ms"] == 6000


def test_a_bundle_names_the_user_s_own_files() -> None:
    login = {
        "password": "p", "mechanism": "SCRAM-SHA-512", "ca": "CA\n", "certificate": "C\n", "key": "K\n",
        "folder": "/c/u", "sasl_servers": "a:1", "mtls_servers": "",
    }  # fmt: skip
    made = client_files.files("u", login)
    assert sorted(made) == ["client.properties", "librdkafka.json"]
    assert json.loads(made["librdkafka.json"])["ssl.ca.location"] == "/c/u/ca.pem"
    assert "ssl.truststore.certificates=CA\\n\n" in made["client.properties"]


def test_drift_says_what_and_nothing_else() -> None:
    diff = {"before_header": "/f", "after_header": "/f", "before": "file\na=1\nb=2", "after": "file\na=1\nb=3"}
    assert drift.lines([
        ("settings", {"changed": True, "diff": [diff]}),
        ("topics", {"changed": True, "plan": ["create topic t"]}),
        ("ACLs", {"changed": False, "plan": [], "strays": ["User:m"]}),
        ("host", {"changed": False, "diff": []}),
        ("user", {"changed": True}),
        ("skipped", {"skipped": True, "changed": True}),
    ]) == [
        "settings: /f (-b=3; +b=2)", "topics: create topic t", "ACLs: not declared: User:m", "user: differs",
    ]  # fmt: skip


def test_a_founding_voter_has_the_same_directory_again() -> None:
    first = quorum_ids.directory_id("cluster", 1)
    assert first == quorum_ids.directory_id("cluster", 1)
    assert first != quorum_ids.directory_id("cluster", 2)
    assert re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9_-]{21}", first)


def test_ids_never_look_like_options() -> None:
    assert not any(quorum_ids.directory_id("c", number).startswith("-") for number in range(500))


def test_credentials_hold_no_password() -> None:
    (line,) = scram_bootstrap.credentials("admin", "canary", ["SCRAM-SHA-512", "PLAIN"], 4096)
    match = re.fullmatch(r'SCRAM-SHA-512=\[name=admin,iterations=4096,salt="(.+)",saltedpassword="(.+)"\]', line)
    assert match
    salt = base64.b64decode(match[1])
    assert base64.b64decode(match[2]) == hashlib.pbkdf2_hmac("sha512", b"canary", salt, 4096)
    assert "canary" not in line
