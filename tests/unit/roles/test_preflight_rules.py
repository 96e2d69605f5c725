from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from certs.lifetimes import BACKDATING
from plugins.module_utils.preflight_rules import (
    inventory_problems,
    inventory_warnings,
    node_problems,
    unknown_variables,
    voter_problems,
)

Context = dict[str, Any]
ROOT = Path(__file__).resolve().parents[3]


def test_a_good_description_has_no_problems(context: Context) -> None:
    context["topics"] = [{"name": "a", "replication_factor": 3}, {"name": "b.c", "replication_factor": 4}]
    context["users"] = [{"name": "usercc"}, {"name": 'ünïcode, with = and " and {{'}]
    assert inventory_problems(context) == []


def test_missing_and_duplicate_node_ids(context: Context) -> None:
    context["nodes"][0]["node_id"] = None
    context["nodes"][2]["node_id"] = 4
    assert inventory_problems(context) == [
        "broker-1 has no kafka_node_id: give every host of group kafka its own number.",
        "kafka_node_id 4 is given to broker-3 and broker-4: ids are unique.",
    ]


TOPICS = [
    (
        {"name": "t", "replication_factor": 5},
        "Topic t has replication_factor 5 but there are 4 brokers: add a broker or lower it.",
    ),
    (
        {"name": "t", "replication_factor": 1},
        (
            "Topic t has min.insync.replicas 2 but replication_factor 1: nothing could be written with acks=all; lower the "
            "first or raise the second."
        ),
    ),
    (
        {"name": "t", "replication_factor": 3, "config": {"min.insync.replicas": "4"}},
        (
            "Topic t has min.insync.replicas 4 but replication_factor 3: nothing could be written with acks=all; lower the "
            "first or raise the second."
        ),
    ),
    (
        {"name": "a/b"},
        "'a/b' is no topic name: use at most 249 letters, digits, '.', '_' and '-', e.g. 'orders-eu'.",
    ),
]


@pytest.mark.parametrize(("topic", "message"), TOPICS)
def test_topics_that_cannot_be(context: Context, topic: dict[str, Any], message: str) -> None:
    context["topics"] = [topic]
    assert inventory_problems(context) == [message]


def test_a_topic_that_is_to_go_is_not_judged(context: Context) -> None:
    context["topics"] = [{"name": "t", "replication_factor": 9, "state": "absent"}]
    assert inventory_problems(context) == []


def test_topics_that_collide(context: Context) -> None:
    context["topics"] = [{"name": "a.b"}, {"name": "a_b"}, {"name": "c"}, {"name": "c"}]
    assert inventory_problems(context) == [
        "Topics a.b and a_b collide: Kafka's metrics do not tell '.' and '_' apart; rename one.",
        "Topic c is declared twice: keep one.",
    ]


def test_an_unknown_mechanism(context: Context) -> None:
    context["sasl_mechanisms"] = ["SCRAM-SHA-1"]
    assert inventory_problems(context) == [
        "SCRAM-SHA-1 is no SASL mechanism that is offered here: use SCRAM-SHA-512, SCRAM-SHA-256, PLAIN."
    ]


def test_no_super_user(context: Context) -> None:
    context["super_users"] = []
    assert inventory_problems(context) == [
        "kafka_super_users is empty: nobody could ever grant anything; keep [admin]."
    ]


def test_users_that_cannot_be(context: Context) -> None:
    context["users"] = [{"name": "broker-1"}, {"name": "User:x"}, {"name": "y"}, {"name": "y", "password": ""}]
    assert inventory_problems(context) == [
        "User broker-1 has the name of a node, and nodes are super users: give it another name.",
        "User 'User:x': leave out 'User:', it is added where Kafka wants it.",
        "User y is declared twice: keep one.",
        "User y has an empty password: leave it out and one is made.",
    ]


def test_zookeeper_mode_ends_with_3_9(context: Context) -> None:
    context["mode"] = "zookeeper"
    assert inventory_problems(context)[:1] == [
        (
            "Kafka 4.3.1 has no ZooKeeper mode; 3.9.2 is the last version with it: set kafka_version: 3.9.2, or kafka_mode: "
            "kraft."
        )
    ]


def test_listeners(context: Context) -> None:
    context["listeners"][1] |= {"port": 9092, "protocol": "PLAINTEXT"}
    context["listeners"].pop()
    assert inventory_problems(context) == [
        "Listeners CLIENT and MTLS both have port 9092: give one another.",
        "Listener MTLS has protocol PLAINTEXT: use SSL or SASL_SSL.",
        "kafka_listeners has no CONTROLLER: the nodes talk to each other there.",
    ]


def test_settings_that_are_decided_elsewhere(context: Context) -> None:
    context["config"] = {"super.users": "User:me", "num.io.threads": 8}
    assert inventory_problems(context) == ["kafka_config must not set super.users: use kafka_super_users."]


def test_an_archive_without_its_checksum(context: Context) -> None:
    context["distribution"] = "archive"
    (problem,) = inventory_problems(context)
    assert problem.startswith("kafka_distribution is archive but kafka_archive_sha512 is not set")


@pytest.mark.parametrize(
    ("waiver", "message"),
    [
        ({"check": 64, "reason": " "}, "kafka_security_waivers[0] waives check 64 without a reason: say why it may fail."),
        ({"check": "all", "reason": "x"}, "kafka_security_waivers[0] must have check, a number, and reason, e.g. {check: 64, reason: 'jump host'}."),
        ({"number": 64, "reason": "x"}, "kafka_security_waivers[0] must have check, a number, and reason, e.g. {check: 64, reason: 'jump host'}."),
    ],
)  # fmt: skip
def test_waivers_that_say_nothing(context: Context, waiver: dict[str, Any], message: str) -> None:
    assert inventory_problems({**context, "waivers": [waiver]}) == [message]
    assert inventory_problems({**context, "waivers": [{"check": "64", "reason": "jump host"}]}) == []


def test_nobody_to_serve(context: Context) -> None:
    for node in context["nodes"]:
        node["roles"] = []
    assert inventory_problems(context) == [
        "The group kafka_broker is empty: a cluster needs a broker.",
        "The group kafka_controller is empty: a KRaft cluster needs a controller.",
    ]


def test_an_even_quorum_is_said_and_not_refused(context: Context) -> None:
    assert inventory_warnings(context) == [
        "4 controllers survive the loss of 1, as 3 do: an even number adds nothing to that."
    ]
    context["nodes"].pop()
    assert inventory_warnings(context) == []


def test_unknown_variables_name_the_nearest() -> None:
    known = ["kafka_version", "kafka_topics"]
    assert unknown_variables(["kafka_versoin", "kafka_topics", "kafka_xyzzy"], known) == [
        "kafka_versoin is no variable of these roles: did you mean kafka_version?",
        "kafka_xyzzy is no variable of these roles: no variable has a name like it.",
    ]


@pytest.fixture
def seen() -> dict[str, Any]:
    return {
        "systemd": True,
        "clock_s": 1000.0,
        "memory_mib": 4096,
        "free_mib": {"/var/lib/kafka/data": 4096},
        "ports_taken": {},
        "running": False,
        "disks": [{"path": "/var/lib/kafka/data", "formatted": False, "started": False}],
    }


@pytest.fixture
def wanted() -> dict[str, Any]:
    return {
        "name": "broker-1",
        "node_id": 1,
        "roles": ["kafka_broker", "kafka_controller"],
        "quorum": "dynamic",
        "virgin": True,
        "cluster_id": "MkU3OEVBNTcwNTJENDM2Qg",
        "clock_s": 1000,
        "clock_skew_max_s": 3600,
        "memory_min_mib": 1024,
        "disk_min_mib": 1024,
    }


def test_a_good_host(seen: dict[str, Any], wanted: dict[str, Any]) -> None:
    assert node_problems(seen, wanted) == []


def test_a_poor_host(seen: dict[str, Any], wanted: dict[str, Any]) -> None:
    seen |= {
        "systemd": False, "clock_s": 5000.0, "memory_mib": 512, "free_mib": {"/data": 100},
        "ports_taken": {"9092": "nginx"},
    }  # fmt: skip
    assert node_problems(seen, wanted) == [
        "broker-1 is not run by systemd: its service is a systemd unit.",
        (
            "The clock of broker-1 differs by 4000 s from this machine's, certificates are backdated by 3600 s: run a time "
            "service there."
        ),
        (
            "broker-1 has 512 MiB of memory, kafka_memory_min_mib is 1024: give it more, or lower kafka_heap_size and that "
            "bound."
        ),
        "broker-1 has 100 MiB free for /data, kafka_disk_min_mib is 1024: give it a larger disk, or lower that bound.",
        "Port 9092 of broker-1 is taken by nginx: stop it, or give the listener another port.",
    ]


@pytest.mark.parametrize("heap", ["4g", "4096M", "3900m", "4194304k", "4294967296"])
def test_a_heap_that_its_host_has_no_memory_for(seen: dict[str, Any], wanted: dict[str, Any], heap: str) -> None:
    seen["memory_mib"] = 3920  # what is left of a flavor of 4 GiB
    (said,) = node_problems({**seen, "heap": heap}, wanted)
    assert said == (
        f"broker-1 has 3920 MiB of memory, kafka_heap_size {heap} leaves less than 256 MiB for all else: give it more (on a "
        "cloud, a larger flavor), or lower that."
    )
    for fits in ("3g", "auto", "x"):
        assert node_problems({**seen, "heap": fits}, wanted) == []


def test_a_heap_that_a_running_node_has_is_not_this_rule_s_business(
    seen: dict[str, Any], wanted: dict[str, Any]
) -> None:
    seen |= {"running": True, "memory_mib": 3920, "heap": "3800m"}
    assert node_problems(seen, wanted) == []


def test_zookeeper_s_default_heap_fits_its_least_host_whoever_says_it(
    seen: dict[str, Any], wanted: dict[str, Any]
) -> None:
    defaults = yaml.safe_load((ROOT / "roles/zookeeper/defaults/main.yml").read_text(encoding="utf-8"))
    least, heap = defaults["zookeeper_memory_min_mib"], defaults["zookeeper_heap_size"]
    asked = {**wanted, "prefix": "zookeeper", "memory_min_mib": least}
    assert node_problems({**seen, "memory_mib": least, "heap": heap}, asked) == []
    (said,) = node_problems({**seen, "memory_mib": least, "heap": "257m"}, asked)
    assert "zookeeper_heap_size 257m leaves less than 192 MiB for all else" in said


def test_clocks_may_differ_by_what_certificates_are_backdated() -> None:
    defaults = yaml.safe_load((ROOT / "roles/kafka/defaults/main.yml").read_text(encoding="utf-8"))
    assert defaults["kafka_clock_skew_max_s"] == BACKDATING.total_seconds()


def test_a_full_disk_of_a_running_node_is_not_this_rule_s_business(
    seen: dict[str, Any], wanted: dict[str, Any]
) -> None:
    seen |= {"running": True, "free_mib": {"/data": 1}}
    assert node_problems(seen, wanted) == []


def test_data_of_another_cluster_or_node(seen: dict[str, Any], wanted: dict[str, Any]) -> None:
    disk = {"path": "/d", "formatted": True, "started": True, "cluster_id": "other", "node_id": 1}
    seen["disks"] = [disk, {**disk, "path": "/e", "cluster_id": wanted["cluster_id"], "node_id": 7}]
    assert node_problems(seen, wanted) == [
        (
            "/d of broker-1 holds data of cluster other, this one is MkU3OEVBNTcwNTJENDM2Qg: set kafka_cluster_id to the "
            "former if it is the same cluster, else empty it."
        ),
        "/e of broker-1 belongs to node 7, kafka_node_id is 1: set it to the former; data never changes its owner.",
    ]


def test_a_static_voter_must_not_come_back_empty(seen: dict[str, Any], wanted: dict[str, Any]) -> None:
    assert node_problems(seen, {**wanted, "quorum": "static"}) == []
    (problem,) = node_problems(seen, {**wanted, "quorum": "static", "virgin": False})
    assert problem.startswith("/var/lib/kafka/data of broker-1 is empty, but it is a voter of a running quorum")


def test_another_set_of_controllers() -> None:
    assert voter_problems([2, 1, 3], [1, 2, 3]) == []
    assert voter_problems([], [1]) == []
    assert voter_problems([1, 2, 3], [1, 2, 3, 4]) == [
        (
            "The quorum has the voters 1, 2, 3, kafka_controller declares 1, 2, 3, 4: this playbook does not change the set "
            "of controllers."
        )
    ]


FORMS = [
    ({"mode": "kraftt"}, "kafka_mode is 'kraftt': use kraft or zookeeper."),
    ({"quorum": "fixed"}, "kafka_quorum is 'fixed': use dynamic or static."),
    (
        {"topics": [{"name": "a"}, {"name": "t", "partitons": 1}]},
        "kafka_topics[1] (t) has no field partitons: did you mean partitions?",
    ),
    ({"topics": [{"partitions": 1}]}, "kafka_topics[0] (without a name) lacks name."),
    ({"users": [{"name": "u", "pasword": "x"}]}, "kafka_users[0] (u) has no field pasword: did you mean password?"),
    (
        {"acls": [{"principal": "u", "resource_type": "topic", "operation": ["read"], "hots": "*"}]},
        "kafka_acls[0] (u) has no field hots: did you mean host?",
    ),
    ({"quotas": [{"user": "u", "quota": {}}]}, "kafka_quotas[0] (u) has no field quota: did you mean quotas?"),
]


@pytest.mark.parametrize(("wrong", "message"), FORMS)
def test_a_misspelt_word_is_told_before_hosts_are_touched(context: Context, wrong: Context, message: str) -> None:
    assert inventory_problems({**context, **wrong}) == [message]
