"""What changes: behind Ansible's back, by a new setting, by a lost disk, by a new host."""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING, Any

import pytest
from confluent_kafka.admin import (  # type: ignore[attr-defined]
    AclBinding,
    AclOperation,
    AclPermissionType,
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    ResourcePatternType,
    ResourceType,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialUpsertion,
)

from infra.providers.nspawn.cgroup import HostGroup
from tests.system.kafka_cluster import SILENT, Cluster, Writer, write

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.system

# One of each kind on a host: property, unit, mode, packet filter, certificate.
MEDDLE = """
echo num.io.threads=9 >> /etc/kafka/server.properties
sed -i s/RestartSec=5/RestartSec=7/ /etc/systemd/system/kafka.service
chmod 0644 /etc/kafka/admin.properties
nft add rule inet kastellan input tcp dport 9999 accept
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout /tmp/k -out /tmp/c -subj /CN=broker-2
cat /tmp/k /tmp/c > /etc/kafka/ssl/keystore.pem
rm /tmp/k /tmp/c
"""


def meddle_with_the_cluster(admin: AdminClient) -> None:
    """One of each kind: a topic, another's setting, an ACL, a password."""
    entry = ConfigEntry("retention.ms", "1000", incremental_operation=AlterConfigOpType.SET)
    resource = ConfigResource(ResourceType.TOPIC, "Topic_Four", incremental_configs=[entry])
    admin.delete_topics(["Topic_Three"])["Topic_Three"].result()
    stray = AclBinding(
        ResourceType.TOPIC, "Topic_One", ResourcePatternType.LITERAL, "User:mallory", "*",
        AclOperation.READ, AclPermissionType.ALLOW,
    )  # fmt: skip
    other = ScramCredentialInfo(ScramMechanism.SCRAM_SHA_512, 8192)
    answers = [
        *admin.incremental_alter_configs([resource]).values(),
        *admin.create_acls([stray]).values(),
        *admin.alter_user_scram_credentials([UserScramCredentialUpsertion("usercc", other, b"another")]).values(),
    ]
    for answer in answers:
        answer.result()


QUOTA = ("-e", '{"kafka_quotas": [{"user": "usercc", "quotas": {"producer_byte_rate": 50000000}}]}')
NO_QUOTA = ("-e", '{"kafka_quotas": [{"user": "usercc", "state": "absent"}]}')
MEDDLE_QUOTA = (
    "sudo kafka-configs.sh --bootstrap-server broker-1:9092 --command-config /etc/kafka/admin.properties --alter "
    "--entity-type users --entity-name usercc --add-config producer_byte_rate=1000"
)


def test_drift_names_each_change_and_site_repairs_exactly_those(cluster: Cluster) -> None:
    assert cluster.play("access", *QUOTA).changed == 1
    cluster.lab.ssh("broker-1", MEDDLE_QUOTA)
    cluster.lab.ssh("broker-2", f"sudo sh -c '{MEDDLE}' 2>/dev/null")
    meddle_with_the_cluster(AdminClient(cluster.bundle("admin", mtls=True), logger=SILENT))
    drift = cluster.play("drift", *QUOTA, check=False)
    assert drift.code != 0
    for line in (
        "settings: /etc/kafka/server.properties (+num.io.threads=9)",
        "settings: /etc/systemd/system/kafka.service (-RestartSec=5; +RestartSec=7)",
        "login of the administrator: /etc/kafka/admin.properties",
        "host: live inet kastellan",
        "certificates of hosts: broker-2: it was not signed by",
        "topics: create topic Topic_Three",
        "topics: configure topic Topic_Four: retention.ms 1000 -> 36000000",
        "quotas: quota of user usercc: producer_byte_rate 1000 -> 50000000",
        "users: alter user usercc: SCRAM-SHA-512, new password",
        "ACLs: not declared: User:mallory allow read on topic Topic_One",
    ):
        assert line in drift.output, line
    untouched = [host for host in brokers(cluster) if host not in {"broker-1", "broker-2"}]
    assert drift.output.count("Nothing differs from what is declared.") == len(untouched)
    assert write(cluster.bundle("usercc"), "Topic_One", timeout_s=4) != [""]

    repaired = cluster.play("site", *QUOTA, "-e", "kafka_remove_strays=true")
    assert repaired.restarted == ["broker-2"]
    assert [host for host in untouched if repaired.changed_on(host)] == []
    assert write(cluster.bundle("usercc"), "Topic_Three") == [""]
    assert cluster.play("site", *QUOTA).changed == 0
    assert cluster.play("site", *NO_QUOTA).changed == 1


@pytest.fixture(autouse=True)
def _left_whole(cluster: Cluster, request: pytest.FixtureRequest) -> Iterator[None]:
    """A test that fails half-way must not redden those after it."""
    failed = request.session.testsfailed
    yield
    if request.session.testsfailed > failed:
        cluster.play("site", "-e", "kafka_remove_strays=true", check=False)


def brokers(cluster: Cluster) -> list[str]:
    return [host["name"] for host in cluster.document()["hosts"] if "kafka_broker" in host["roles"]]


def processes(cluster: Cluster) -> dict[str, str]:
    """Host -> what systemd calls this life of its service."""
    look = "systemctl show --property=InvocationID --value kafka"
    return {host: cluster.lab.ssh(host, look) for host in cluster.nodes()}


TEN_THREADS = ("-e", '{"kafka_config": {"num.io.threads": 10}}')


def test_check_mode_foretells_and_touches_nothing(cluster: Cluster) -> None:
    before = processes(cluster)
    foretold = cluster.play("site", "--check", "--diff", *TEN_THREADS)
    assert foretold.output.count("+num.io.threads=10") == len(before)
    assert all(foretold.changed_on(host) > 0 for host in before)
    assert processes(cluster) == before
    assert "Nothing differs from what is declared." in cluster.play("drift").output


def test_one_host_is_restarted_alone_and_a_roll_goes_on_with_the_others(cluster: Cluster) -> None:
    """As after a run that ended when it had restarted one: the settings lie on all disks, one node has them."""
    before = processes(cluster)
    cluster.play("site", *TEN_THREADS, "--tags", "kafka_configure")
    assert processes(cluster) == before
    cluster.play("rolling_restart", "--limit", "broker-2")
    after = processes(cluster)
    assert {host for host in before if after[host] != before[host]} == {"broker-2"}
    went_on = cluster.play("site", *TEN_THREADS)
    assert sorted(went_on.restarted) == sorted(before.keys() - {"broker-2"})
    assert cluster.play("site", *TEN_THREADS).changed == 0


def test_a_changed_setting_rolls_and_loses_nothing(cluster: Cluster) -> None:
    active = cluster.health()["controller_id"]
    with Writer(cluster.bundle("usercc"), "Topic_Four") as writer:
        rolled = cluster.play("site", "-e", '{"kafka_config": {"num.io.threads": 9}}')
    assert sorted(rolled.restarted) == brokers(cluster)
    assert rolled.restarted[-1] == f"broker-{active}", "the active controller moves once"
    assert "cannot stay writable through any restart" in rolled.output
    assert "Topic_One-0" in rolled.output
    assert writer.refused == []
    assert len(writer.acked) > 500
    assert writer.lost("after-the-roll") == set()


def test_a_setting_of_the_cluster_restarts_nobody(cluster: Cluster) -> None:
    changed = cluster.play("site", "-e", '{"kafka_config": {"num.io.threads": 9}}', "-e", "@tests/system/defaults.yml")
    assert changed.restarted == []
    assert changed.changed == 1


def test_a_broker_that_does_not_come_back_stops_the_roll(cluster: Cluster) -> None:
    bad = '{"kafka_config": {"num.io.threads": "many"}, "kafka_restart_timeout_s": 25}'
    stopped = cluster.play("site", "-e", bad, check=False)
    assert stopped.code != 0
    assert len(stopped.restarted) == 1
    (ill,) = stopped.restarted
    assert f"{ill} did not come back, so no other node is touched." in stopped.output
    assert "Look there: journalctl --unit kafka.service" in stopped.output
    cluster.play("site")
    assert "All is well." in cluster.play("health").output
    assert cluster.play("site").changed == 0


def refilled(cluster: Cluster, host: str) -> None:
    """Its disk is wiped under load, and a run of site has it serve as before: nothing that was acknowledged is lost."""
    with Writer(cluster.bundle("usercc"), "Topic_Four") as writer:
        cluster.lab.ssh(
            host, "sudo systemctl kill -s KILL kafka; sudo systemctl stop kafka; sudo rm -rf /var/lib/kafka/data"
        )
        healed = cluster.play("site")
    assert healed.restarted == []
    assert writer.refused == []
    assert writer.lost("after-the-wipe") == set()
    assert cluster.health()["under_replicated"] == [], "it has refilled"


def test_a_wiped_voter_is_replaced_in_the_quorum(cluster: Cluster) -> None:
    before = voters(cluster)
    refilled(cluster, "broker-3")
    after = voters(cluster)
    assert after.keys() == before.keys()
    assert {number for number in after if after[number] != before[number]} == {"3"}
    assert cluster.play("site").changed == 0


def test_a_host_that_kept_only_its_data_disk_is_the_same_node_again(cluster: Cluster) -> None:
    before, host = known(cluster), brokers(cluster)[-1]
    cluster.lab.ssh(
        host,
        "sudo systemctl stop kafka; sudo rm -rf /opt/kafka /etc/kafka /var/log/kafka /etc/systemd/system/kafka.service; "
        "sudo systemctl daemon-reload",
    )
    assert cluster.play("site").restarted == []
    assert known(cluster) == before


def test_a_host_made_anew_around_its_data_disk_is_the_same_node_again(cluster: Cluster) -> None:
    """Its root file system is gone with its keys and certificates; the provider finds the disk and keeps it."""
    before, host = known(cluster), brokers(cluster)[-1]
    with Writer(cluster.bundle("usercc"), "Topic_Four") as writer:
        HostGroup(cluster.lab.stack_id(), host).end()
        shutil.rmtree(cluster.lab.state() / "machines" / host / "upper")
        cluster.lab.kastellan("up", "--until", "hosts")
        left = "sudo ls -d /etc/kafka /opt/kafka /var/lib/kafka/data/meta.properties 2>/dev/null"
        assert cluster.lab.ssh(host, left, check=False) == "/var/lib/kafka/data/meta.properties"
        # The user of the service may have another number on the new host.
        cluster.lab.ssh(host, "sudo chown -R 4711:4711 /var/lib/kafka/data")
        assert cluster.play("site").restarted == []
    assert known(cluster) == before
    assert writer.refused == []
    assert writer.lost("after-the-new-host") == set()
    assert cluster.play("site").changed == 0


# What makes good hosts poor ones, in stand-ins: all of them have one clock and one memory.
UNFIT = {
    "kafka_memory_min_mib": 999999,
    "kafka_clock_skew_max_s": -1,
    "kafka_cluster_id": "AAAAAAAAAAAAAAAAAAAAAQ",
    "kafka_listeners": [
        {"name": "CLIENT", "port": 9092, "protocol": "SASL_SSL", "client_auth": "none"},
        *(
            {"name": name, "port": port, "protocol": "SSL", "client_auth": "required"}
            for name, port in {"MTLS": 9094, "BROKER": 9091, "CONTROLLER": 9093, "SSH": 22}.items()
        ),
    ],
}


def is_refused(cluster: Cluster, bad: dict[str, Any], *messages: str) -> None:
    """Before anything changes, with all these words."""
    refused = cluster.play("site", "-e", json.dumps(bad), check=False)
    assert (refused.code != 0, refused.changed) == (True, 0), refused.output
    for message in messages:
        assert message in refused.output, message


def test_bad_input_is_refused_before_anything_changes(cluster: Cluster) -> None:
    is_refused(
        cluster,
        {"kafka_versoin": 4, "kafka_topics": [{"name": "x", "replication_factor": 9}], "kafka_super_users": []},
        "kafka_versoin is no variable of these roles: did you mean kafka_version?",
        "Topic x has replication_factor 9 but there are",
        "kafka_super_users is empty: nobody could ever grant anything; keep [admin].",
    )
    is_refused(
        cluster,
        UNFIT,
        "MiB of memory, kafka_memory_min_mib is 999999",
        "The clock of broker-1 differs by",
        "Port 22 of broker-1 is taken by",
        "/var/lib/kafka/data of broker-1 holds data of cluster",
    )
    is_refused(
        cluster,
        {"kafka_distribution": "archive", "kafka_archive_file": "galaxy.yml", "kafka_archive_sha512": "0" * 128},
        "is not the release that kafka_archive_sha512 names: nothing was installed.",
    )


def voters(cluster: Cluster) -> dict[str, str]:
    """Id -> directory id."""
    lines = cluster.lab.ssh(
        "broker-1",
        "sudo kafka-metadata-quorum.sh --bootstrap-server broker-1:9092,broker-2:9092 --command-config /etc/kafka/admin.properties "
        "describe --replication",
    ).splitlines()
    rows = [line.split() for line in lines[1:]]
    return {row[0]: row[1] for row in rows if row[-1] in {"Leader", "Follower"}}


def known(cluster: Cluster) -> dict[str, str]:
    """Who is who: a quorum knows its voters and their directories, without one each disk knows its owner."""
    if cluster.document()["mode"] == "kraft":
        return voters(cluster)
    look = "sudo grep -v '^#' /var/lib/kafka/data/meta.properties | sort"
    return {host: cluster.lab.ssh(host, look) for host in brokers(cluster)}


def test_a_fifth_broker_joins_and_another_controller_is_refused(cluster: Cluster) -> None:
    cluster.lab.native("pulumi", "config", "set", "--stack", "local", "--path", "kastellan:groups.extra.count", "1")
    cluster.lab.kastellan("up", "--until", "hosts")
    cluster.play("site")
    assert len(cluster.document()["hosts"]) == 5
    assert sorted(voters(cluster)) == ["1", "2", "3", "4"]
    assert cluster.play("site").changed == 0
    refused = cluster.play("site", "-i", "inventories/local", "-i", str(more_controllers(cluster)), check=False)
    assert refused.code != 0
    assert "The quorum has the voters 1, 2, 3, 4, kafka_controller declares 1, 2, 3, 4, 5" in refused.output


def more_controllers(cluster: Cluster) -> Path:
    path = cluster.lab.folder / "more.ini"
    path.write_text("[kafka_controller]\nbroker-5\n", encoding="ascii")
    return path
