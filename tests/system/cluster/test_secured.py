"""What the playbooks make is what was declared, serves who may, and refuses everybody else."""

from __future__ import annotations

import base64
import json
import socket
from secrets import token_urlsafe
from typing import TYPE_CHECKING, Any

import pytest
from ansible.parsing.vault import VaultLib, VaultSecret

from plugins.action.stack_secrets import held_in, written
from tests.system.canaries import leaks, places_of_controller, places_of_host, plant, secrets_of, watched_processes
from tests.system.kafka_cluster import Cluster, read, write

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

pytestmark = pytest.mark.system

TOPICS = ("Topic_One", "Topic_Three", "Topic_Four")
SHAPES = {"Topic_One": (1, 2), "Topic_Three": (3, 2), "Topic_Four": (4, 3)}
SETTINGS = ("min.insync.replicas=2", "flush.ms=1000", "flush.messages=10000", "segment.bytes=1073741824")
NO_LOGIN = "_AUTHENTICATION"
DENIED = "TOPIC_AUTHORIZATION_FAILED"
BY_HAND = "--bootstrap-server broker-1:9092 --command-config /etc/kafka/admin.properties"


def test_check_mode_works_on_virgin_hosts(cluster: Cluster) -> None:
    if cluster.virgin_check is None:
        pytest.skip("the hosts of KASTELLAN_TEST_LAB are no virgins")
    assert cluster.virgin_check.changed > 20


def test_check_mode_told_the_truth_of_virgin_hosts(cluster: Cluster) -> None:
    """It stops where a cluster would be needed; what it said until then was done, and what it fetches it keeps."""
    if cluster.virgin_check is None or cluster.first_run is None:
        pytest.skip("the hosts of KASTELLAN_TEST_LAB are no virgins")
    foretold = {entry for entry in cluster.virgin_check.changing if "Fetch" not in entry[0]}
    assert len(foretold) > 20
    assert foretold - cluster.first_run.changing == set()


def test_a_second_run_changes_nothing_and_nothing_drifts(cluster: Cluster) -> None:
    again = cluster.play("site")
    assert again.changed == 0, again.output
    assert "Nothing differs from what is declared." in cluster.play("drift").output


@pytest.mark.parametrize("mtls", [False, True], ids=["sasl", "mtls"])
def test_usercc_writes_and_reads_its_topics(cluster: Cluster, mtls: bool) -> None:
    client = cluster.bundle("usercc", mtls=mtls)
    for topic in TOPICS:
        assert write(client, topic, 3) == ["", "", ""]
        assert read(client, topic, f"usercc-{mtls}") == "record"


@pytest.mark.parametrize("mtls", [False, True], ids=["sasl", "mtls"])
def test_usercc_is_refused_on_everything_else(cluster: Cluster, mtls: bool) -> None:
    client = cluster.bundle("usercc", mtls=mtls)
    assert write(client, "other") == [DENIED]
    assert write(client, "kastellan-x") == [DENIED]
    assert read(client, "kastellan-x", "g") == DENIED


def test_both_mechanisms_log_in(cluster: Cluster) -> None:
    client = cluster.bundle("usercc") | {"sasl.mechanism": "SCRAM-SHA-256"}
    assert write(client, "Topic_One") == [""]


WRONG = {
    "password": {"sasl.password": "wrong"},
    "user": {"sasl.username": "nobody"},
    "mechanism": {"sasl.mechanism": "PLAIN"},
}


@pytest.mark.parametrize("change", WRONG.values(), ids=list(WRONG))
def test_a_wrong_login_is_refused(cluster: Cluster, change: dict[str, str]) -> None:
    client = cluster.bundle("usercc") | change
    assert NO_LOGIN in read(client, "Topic_One", "wrong", timeout_s=6)


def test_without_a_certificate_there_is_no_mutual_tls(cluster: Cluster) -> None:
    client = cluster.bundle("usercc", mtls=True)
    for name in ("ssl.certificate.location", "ssl.key.location"):
        client.pop(name)
    assert write(client, "Topic_One", timeout_s=4) == ["_MSG_TIMED_OUT"]


def test_a_certificate_of_another_authority_is_refused(cluster: Cluster, tmp_path: Path) -> None:
    for words in (["init"], ["issue", "--clients", str(tmp_path / "clients"), "usercc"]):
        cluster.lab.run(".venv/bin/python", "-m", "certs", *words, "--pki", str(tmp_path / "pki"))
    client = cluster.bundle("usercc", mtls=True)
    client["ssl.certificate.location"] = str(tmp_path / "clients/usercc/cert.pem")
    client["ssl.key.location"] = str(tmp_path / "clients/usercc/key.pem")
    assert write(client, "Topic_One", timeout_s=4) == ["_MSG_TIMED_OUT"]


@pytest.mark.parametrize("port", [9092, 9094])
def test_plaintext_gets_no_answer(cluster: Cluster, port: int) -> None:
    """ApiVersions, the first thing that every client says, without TLS."""
    address = cluster.document()["hosts"][0]["address"]
    hello = bytes.fromhex("0000000e 0012 0000 00000001 0004 74657374")
    with socket.create_connection((address, port), timeout=5) as connection:
        connection.sendall(hello)
        connection.settimeout(5)
        try:
            answer = connection.recv(64)
        except (TimeoutError, ConnectionResetError):
            answer = b""
    assert answer[4:8] != b"\0\0\0\1"  # the number of our question


@pytest.mark.parametrize("port", [9091, 9093, 7071])
def test_the_firewall_opens_the_nodes_ports_to_nodes_only(cluster: Cluster, port: int) -> None:
    address = cluster.document()["hosts"][0]["address"]
    with pytest.raises(TimeoutError):
        socket.create_connection((address, port), timeout=2)


def test_nodes_reach_each_other(cluster: Cluster) -> None:
    address = cluster.document()["hosts"][0]["address"]
    own = [one["port"] for one in cluster.document()["listeners"] if one["name"] in {"BROKER", "CONTROLLER"}]
    tried = " && ".join(f"nc -z -w 5 {address} {port}" for port in own)
    assert own
    assert cluster.lab.ssh("broker-2", f"{tried} && echo open") == "open"


def test_the_service_is_caged_for_real(cluster: Cluster) -> None:
    lab = cluster.lab
    exposure = lab.ssh("broker-1", "systemd-analyze security kafka.service | tail -n 1")
    assert float(exposure.split(": ")[1].split()[0]) <= 1.5
    pid = lab.ssh("broker-1", "systemctl show --property=MainPID --value kafka")
    status = lab.ssh("broker-1", f"sudo cat /proc/{pid}/status")
    for line in ("NoNewPrivs:\t1", "CapEff:\t0000000000000000", "Seccomp:\t2"):
        assert line in status
    tried = lab.ssh(
        "broker-1",
        f"sudo nsenter --target {pid} --mount --setuid $(id -u kafka) -- touch /etc/x /usr/x 2>&1",
        check=False,
    )
    assert tried.count("Read-only file system") + tried.count("Permission denied") == 2
    assert "Read-only file system" in lab.ssh(
        "broker-1", f"sudo nsenter --target {pid} --mount -- touch /etc/x 2>&1", check=False
    )


def test_brokers_stay_below_a_gib_each(cluster: Cluster) -> None:
    """Four of them below four."""
    hosts = cluster.nodes()
    used_kib = sum(
        int(cluster.lab.ssh(host, "ps -o rss= -p $(systemctl show --property=MainPID --value kafka)")) for host in hosts
    )
    assert used_kib < len(hosts) * 2**20


def test_the_quorum_is_told_by_hand(cluster: Cluster) -> None:
    said = cluster.lab.ssh("broker-1", f"sudo kafka-metadata-quorum.sh {BY_HAND} describe --status")
    assert said.count("CONTROLLER://") == 4


def test_textbook_steps_by_hand(cluster: Cluster) -> None:
    """On PATH of a shell that nobody logged into, and of sudo's."""
    lab = cluster.lab
    described = lab.ssh("broker-1", f"sudo kafka-topics.sh {BY_HAND} --describe").splitlines()
    for topic, (partitions, replicas) in SHAPES.items():
        (line,) = [line for line in described if line.startswith(f"Topic: {topic}\t")]
        counts = (f"PartitionCount: {partitions}\t", f"ReplicationFactor: {replicas}\t")
        assert [words for words in (*counts, *SETTINGS, "retention.ms=36000000") if words not in line] == []
    assert "User:usercc" in lab.ssh("broker-1", f"sudo kafka-acls.sh {BY_HAND} --list")
    assert (
        lab.ssh("broker-1", "command -v kafka-topics.sh kafka-acls.sh kafka-console-producer.sh").count(
            "/usr/local/bin"
        )
        == 3
    )


@pytest.fixture(scope="module")
def status(cluster: Cluster) -> dict[str, Any]:
    """As `./kastellan status` tells it."""
    told: dict[str, Any] = json.loads(cluster.lab.kastellan("status", "--json").stdout)
    return told


def test_status_shows_what_one_looks_for_first(cluster: Cluster, status: dict[str, Any]) -> None:
    found = status["cluster"]
    assert (status["well"], found["problems"], found["under_replicated"]) == (True, [], [])
    hosts = found["hosts"].values()
    assert [host["running"] for host in hosts] == [True] * len(cluster.nodes())
    assert sum(host["controller"] for host in hosts) == 1
    assert all(300 < host["certificate_days"] < 400 for host in hosts)


def test_status_shows_the_quorum(status: dict[str, Any]) -> None:
    voters = status["cluster"]["quorum"]["voters"]
    assert sorted(voter["id"] for voter in voters) == [1, 2, 3, 4]
    assert all(voter["lag"] >= 0 for voter in voters)


def test_what_client_prints_for_javas_tools_reads_a_topic(cluster: Cluster) -> None:
    assert write(cluster.bundle("usercc"), "Topic_One") == [""]
    said = cluster.lab.kastellan("client", "usercc").stdout
    folder = cluster.lab.state() / "clients" / "usercc"
    secret = [path for path in folder.iterdir() if path.suffix in {".properties", ".json"} or path.name == "key.pem"]
    assert len(secret) == 5
    assert {path.stat().st_mode & 0o777 for path in secret} == {0o600}
    assert str(cluster.bundle("usercc")["sasl.password"]) not in said
    commands = "./kastellan" + said.partition("Java tools")[2].partition("./kastellan")[2].partition("\nSpark")[0]
    shown = f"{commands.replace('TOPIC', 'Topic_One')} --max-messages 1 --timeout-ms 60000"
    try:
        done = cluster.lab.run("bash", "-ec", shown)
    finally:
        cluster.lab.ssh("broker-1", "rm -f usercc.properties")
    assert "Processed a total of 1 messages" in done.stdout + done.stderr


def test_keys_of_hosts_never_leave_them(cluster: Cluster) -> None:
    """Each has made its own, and of both the controller has nothing but what it signed."""
    lab = cluster.lab
    look = "sudo sed -n '/PRIVATE/{n;p;q}' /etc/kafka/ssl/keystore.pem"
    first, second = lab.ssh("broker-1", look), lab.ssh("broker-2", look)
    assert len(first) == len(second) == 64
    assert first != second
    kept = [path for path in (lab.folder / ".kastellan").rglob("*") if path.is_file() and "machines" not in path.parts]
    assert len(kept) > 20
    assert [path for path in kept for key in (first, second) if key.encode() in path.read_bytes()] == []


def test_secrets_are_seen_nowhere(cluster: Cluster) -> None:
    secrets = secrets_of(cluster)
    assert {"admin", "usercc", "validator", "vault"} < secrets.keys()
    places = places_of_controller(cluster)
    for host in cluster.lab.hosts()[:2]:
        places |= places_of_host(cluster.lab, host)
    assert all(places.values()), [place for place, content in places.items() if not content]
    assert leaks(places, secrets) == []


def made_anew(cluster: Cluster, _folder: Path) -> list[str]:
    """As after `ansible-vault edit`: the line is not there any more."""
    state = cluster.lab.state()
    vault = VaultLib([("kastellan", VaultSecret((state / "vault-password").read_bytes().strip()))])
    path = state / "secrets.yml"
    held = held_in(vault.decrypt(path.read_bytes()), path)
    del held["usercc"]
    path.write_bytes(vault.encrypt(written(held), secret=vault.secrets[0][1]))
    return []


def declared(_cluster: Cluster, folder: Path) -> list[str]:
    """As in a file of the user's own."""
    users = [{"name": "usercc", "password": token_urlsafe(24)}, {"name": "validator"}]
    path = folder / "users.json"
    path.touch(0o600)
    path.write_text(json.dumps({"kafka_users": users}), encoding="ascii")
    return ["-e", f"@{path}"]


@pytest.mark.long
@pytest.mark.parametrize("change", [made_anew, declared])
def test_a_changed_password_is_seen_nowhere(
    change: Callable[[Cluster, Path], list[str]], cluster: Cluster, tmp_path: Path
) -> None:
    """Neither the old one nor the new one, while Ansible says all that it can say of the change."""
    before = cluster.bundle("usercc")
    try:
        with watched_processes(cluster.lab, "broker-1") as meanwhile:
            places = places_of_controller(cluster, *change(cluster, tmp_path))
        after = cluster.bundle("usercc")
        assert NO_LOGIN in read(before, "Topic_One", "old", timeout_s=6)
        assert write(after, "Topic_One") == [""]
        for host in cluster.lab.hosts()[:2]:
            places |= places_of_host(cluster.lab, host)
        places |= meanwhile
        assert all(places.values()), [place for place, content in places.items() if not content]
        assert leaks(places, {"old": str(before["sasl.password"]), "new": str(after["sasl.password"])}) == []
    finally:
        cluster.play("site")


def test_the_search_for_secrets_finds_them(cluster: Cluster) -> None:
    secret = cluster.bundle("usercc")["sasl.password"]
    planted = plant(cluster.lab, "broker-1", base64.b64encode(f"user:{secret}:".encode()).decode())
    try:
        found = leaks(places_of_host(cluster.lab, "broker-1"), {"usercc": secret})
    finally:
        cluster.lab.ssh("broker-1", f"rm {planted}")
    assert found == ["usercc in broker-1: temporary files and homes"]


def test_cluster_json_says_what_is_in_force(cluster: Cluster) -> None:
    found = cluster.document()
    assert found["super_users"] == ["admin", *cluster.nodes()]
    assert [topic["name"] for topic in found["topics"]] == list(TOPICS)
    assert found["operations"]["rolling_restart"]["argv"][0] == "ansible-playbook"
    cwd = (cluster.lab.state() / found["operations"]["rolling_restart"]["cwd"]).resolve()
    assert cwd == cluster.lab.folder.resolve()


def test_preflight_has_nothing_against_what_runs(cluster: Cluster) -> None:
    assert cluster.play("preflight").changed == 0


def test_health_says_that_all_is_well(cluster: Cluster) -> None:
    assert "All is well." in cluster.play("health").output
