"""Checks of hosts on looks made up for them: each break is seen on each kind of host, and a host that is away is told."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from tests.unit.validate.control import GOOD, cluster
from validate.faults.errors import FaultError
from validate.security import host as hosts
from validate.security import look, run, software
from validate.security.registry import CHECKS
from validate.security.scene import Scene
from validate.security.wire import NoAnswer

if TYPE_CHECKING:
    from pathlib import Path

    from validate.cluster import Host

JAR = "aa /opt/kafka/versions/x/libs/kafka-clients-4.3.1.jar"
STATUS = (
    "Umask:\t0027\nUid:\t105\t105\t105\t105\nGid:\t105\t105\t105\t105\nGroups:\t105\nCapInh:\t0\nCapPrm:\t0\nCapEff:\t0\n"
    "CapBnd:\t0\nCapAmb:\t0\nNoNewPrivs:\t1\nSeccomp:\t2\n"
)
WELL: dict[str, str] = dict.fromkeys(look.PARTS, "") | {
    "pid": "42", "user": "kafka", "group": "kafka", "status": STATUS, "cmdline": "java\nkafka.Kafka",
    "limits": "Max core file size        0                    unlimited            bytes\n"
    "Max open files            100000               100000               files",
    "login": "This account is currently not available.", "sudo": "sudo: a password is required",
    "sudoers": "User kafka is not allowed to run sudo on broker-1.",
    "places": "/etc/kafka\n/var/lib/kafka\n/var/log/kafka", "nobody": "broker-1",
    "modes": "750 root kafka d /etc/kafka\n640 root kafka f /etc/kafka/server.properties\n"
    "644 root root f /etc/kafka/log4j2.yaml\n750 root kafka d /etc/kafka/ssl\n600 root root f /etc/kafka/admin.properties\n"
    "644 root kafka f /etc/kafka/ssl/ca.pem\n640 root kafka f /etc/kafka/ssl/keystore.pem",
    "owners": "750 kafka /var/lib/kafka\n750 kafka /var/log/kafka", "exposure": "Overall exposure level for kafka: 1.4 OK",
    "written": "touch: cannot touch '/etc/kastellan-sec': Read-only file system", "homes": "/home:\n/root:\nls: denied",
    "listening": 'LISTEN 0 50 *:9092 *:* users:(("java",pid=42,fd=1))', "jars": JAR,
}  # fmt: skip
KEEPER = {
    "name": "zookeeper-1", "address": "198.18.0.21", "ssh": GOOD["hosts"][0]["ssh"], "node_id": None,
    "roles": ["zookeeper"], "rack": None, "service": "zookeeper", "ports": [2182, 2888, 3888],
}  # fmt: skip
AT_ZOOKEEPER = {
    "user": "zookeeper", "group": "zookeeper", "places": "/etc/zookeeper",
    "modes": "750 root zookeeper d /etc/zookeeper\n640 root zookeeper f /etc/zookeeper/zoo.cfg\n"
    "644 root root f /etc/zookeeper/log4j.properties", "owners": "750 zookeeper /var/lib/zookeeper/data",
    "listening": 'LISTEN 0 50 *:2182 *:* users:(("java",pid=42,fd=1))',
}  # fmt: skip
OF_HOSTS = (57, 58, 60, 61, 62, 63, 67)


def looked(changes: dict[str, dict[str, str]], away: tuple[str, ...], asked: list[tuple[str, str]]) -> Any:
    def take(host: Host, service: str, _dirs: Any) -> look.Look:
        asked.append((host.name, service))
        if host.name in away:
            raise FaultError(f"{host.name} did not answer")
        own = AT_ZOOKEEPER if service == "zookeeper" else {}
        return look.Look(host.name, WELL | own | changes.get(host.name, {}))

    return take


@pytest.fixture
def checked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(software, "locked", lambda _: {"kafka-clients-4.3.1.jar": "aa"})

    def run_one(number: int, changes: Any = None, away: tuple[str, ...] = (), **more: Any) -> tuple[str, list[str]]:
        asked: list[tuple[str, str]] = []
        monkeypatch.setattr(look, "take", looked(changes or {}, away, asked))
        with contextlib.closing(Scene(cluster(tmp_path, hosts=[*GOOD["hosts"][:3], KEEPER], **more))) as scene:
            result = run.run_check(CHECKS[number], scene, consent=True)
        assert ("zookeeper-1", "zookeeper") in asked
        assert ("broker-1", "kafka") in asked
        return result["verdict"], result["seen"]

    return run_one


@pytest.mark.parametrize("number", OF_HOSTS)
def test_hosts_as_the_roles_make_them_pass(number: int, checked: Any) -> None:
    verdict, seen = checked(number)
    assert verdict == "passed", seen


def mode(path: str, entry: str) -> dict[str, str]:
    """The modes as they should be, but for one path."""
    lines = [line for line in WELL["modes"].splitlines() if not line.endswith(f" {path}")]
    return {"modes": "\n".join([*lines, f"{entry} {path}"])}


BREAKS = [
    (57, {"sudoers": "User kafka may run the following commands on b:\n    (root) NOPASSWD: /usr/bin/systemctl"},
     "rules of sudo"),
    (57, {"status": STATUS.replace("NoNewPrivs:\t1", "NoNewPrivs:\t0")}, "NoNewPrivs 0"),
    (58, mode("/etc/kafka/server.properties", "644 root kafka f"), "open to others under"),
    (58, mode("/etc/kafka", "755 root kafka d"), "open to others under"),
    (58, mode("/etc/kafka/ssl/keystore.pem", "640 root users f"), "of a group that is not the service's"),
    (58, mode("/etc/kafka/ssl/keystore.pem", "640 ops kafka f"), "not root's"),
    (58, mode("/etc/kafka/ssl/keystore.pem", "660 root kafka f"), "the group may write"),
    (58, mode("/etc/kafka/ssl/ca.pem", "646 root kafka f"), "open to others under"),
    (58, {"temporary": "/dev/lost/server.properties"}, "in temporary folders: /dev/lost/server.properties"),
    (58, {"owners": "750 root /var/lib/kafka"}, "/var/lib/kafka 750 root"),
    (60, {"java": "JAVA_TOOL_OPTIONS=-agentlib:jdwp=transport=dt_socket,server=n,address=x:1"}, "-agentlib:jdwp"),
    (60, {"agents": "libjdwp.so"}, "agents in the process: ['libjdwp.so']"),
    (60, {"listening": 'LISTEN 0 50 *:7199 *:* users:(("java",pid=42,fd=1))'}, "undeclared sockets"),
    (61, {"exposure": "Overall exposure level for kafka: 9.2 UNSAFE"}, "exposure 9.2"),
    (62, {"java": "JDK_JAVA_OPTIONS=-Xlog:disable -XX:+HeapDumpOnOutOfMemoryError"}, "+HeapDumpOnOutOfMemoryError"),
    (62, {"dumps": "/lost/java_pid42.hprof"}, "dumps: /lost/java_pid42.hprof"),
    (63, {"status": STATUS.replace("0027", "0022")}, "umask 0022"),
    (67, {"jars": "bb /opt/kafka/versions/x/libs/kafka-clients-4.3.1.jar"}, "not as locked: kafka-clients-4.3.1.jar"),
    (67, {"jars": JAR.replace("4.3.1", "3.9.1")}, "runs Kafka 3.9.1"),
]  # fmt: skip


@pytest.mark.parametrize("name", ["broker-2", "zookeeper-1"])
@pytest.mark.parametrize(("number", "changes", "said"), BREAKS)
def test_a_break_is_seen_wherever_it_is(
    number: int, changes: dict[str, str], said: str, name: str, checked: Any
) -> None:
    verdict, seen = checked(number, {name: changes})
    assert verdict == "failed", seen
    assert seen[0].startswith(f"{name}: ")
    assert any(said in line for line in seen[:2]), seen


@pytest.mark.parametrize("number", OF_HOSTS)
def test_a_host_that_is_away_keeps_no_other_from_being_looked_at(number: int, checked: Any) -> None:
    verdict, seen = checked(number, away=("broker-1",))
    assert (verdict, seen[0]) == ("unknown", "broker-1: broker-1 did not answer")
    assert [line for line in seen[1:] if line.startswith("broker-1: ")] == []
    (_, changes, _) = next(one for one in BREAKS if one[0] == number)
    verdict, seen = checked(number, {"broker-3": changes}, away=("broker-1",))
    assert verdict == "failed"
    assert seen[0].startswith("broker-3: ")


@pytest.mark.parametrize("number", OF_HOSTS)
def test_a_zookeeper_on_a_brokers_host_is_looked_at_by_its_own_unit(
    number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    both = {**GOOD["hosts"][0], "roles": ["kafka_broker", "zookeeper"], "service": "zookeeper", "ports": [2182]}
    monkeypatch.setattr(software, "locked", lambda _: {"kafka-clients-4.3.1.jar": "aa"})
    (_, changes, said) = next(one for one in BREAKS if one[0] == number)
    for broken, verdict in (({}, "passed"), ({"broker-1 (zookeeper)": changes}, "failed")):
        asked: list[tuple[str, str]] = []
        monkeypatch.setattr(look, "take", looked(broken, (), asked))
        with contextlib.closing(Scene(cluster(tmp_path, hosts=[both, *GOOD["hosts"][1:3]]))) as scene:
            result = run.run_check(CHECKS[number], scene, consent=True)
        assert {("broker-1", "kafka"), ("broker-1 (zookeeper)", "zookeeper")} <= set(asked)
        assert result["verdict"] == verdict, result["seen"]
    assert any(line.startswith("broker-1 (zookeeper): ") and said in line for line in result["seen"])


def test_zookeeper_may_be_of_another_kafka_than_brokers_if_that_is_known(
    checked: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    older = {"zookeeper-1": {"jars": "cc /opt/kafka/versions/y/libs/kafka-clients-3.9.2.jar"}}
    locks = {"4.3.1": {"kafka-clients-4.3.1.jar": "aa"}, "3.9.2": {"kafka-clients-3.9.2.jar": "cc"}}
    monkeypatch.setattr(software, "locked", lambda version: locks.get(version, {}))
    assert checked(67, older)[0] == "passed"
    del locks["3.9.2"]
    verdict, seen = checked(67, older)
    assert (verdict, seen[0]) == ("unknown", "zookeeper-1: this checkout has no lock of Kafka 3.9.2")


def test_a_zookeeper_that_comes_with_no_kafka_is_not_known_and_a_broker_without_is_not_genuine(checked: Any) -> None:
    bare = {"jars": "dd /usr/share/zookeeper/lib/zookeeper-3.8.4.jar"}
    verdict, seen = checked(67, {"zookeeper-1": bare})
    assert (verdict, seen[0].partition(",")[0]) == ("unknown", "zookeeper-1: no Kafka is among its jars")
    verdict, seen = checked(67, {"broker-1": bare})
    assert (verdict, seen[0]) == ("failed", "broker-1: runs Kafka ")


@pytest.mark.parametrize("settings", ["zoo.cfg", "server.properties"])
def test_a_host_tells_where_the_service_keeps_its_things_and_copies_of_what_is_closed(
    settings: str, tmp_path: Path
) -> None:
    conf, lost = tmp_path / "conf", tmp_path / "elsewhere"
    for folder in (conf, lost, tmp_path / "data"):
        folder.mkdir()
    (conf / settings).write_text(f"dataDir={tmp_path}/data\ndataLogDir={tmp_path}/log\n")
    (conf / "ca.pem").write_text("of everybody")
    (conf / settings).chmod(0o640)
    for name in (settings, "ca.pem"):
        (lost / f"copy-of-{name}").write_bytes((conf / name).read_bytes())
    process = subprocess.Popen([sys.executable, "-c", "input()", str(conf / settings)], stdin=subprocess.PIPE)
    try:
        (tmp_path / "systemctl").write_text(f"#!/bin/sh\necho {process.pid}\n")
        (tmp_path / "systemctl").chmod(0o755)
        told = look._of_unit("x") + look._HEAD.replace("'DATA'", "''") + look._told(("places", "modes"))
        script = f"PATH={tmp_path}:$PATH\n{told}echo {look.MARK}temporary\ncopies\nexit 0\n"
        done = subprocess.run(["bash", "-s"], input=script, capture_output=True, text=True, check=True)
    finally:
        process.communicate(b"\n")
    parts = look.parse(done.stdout)
    assert parts["places"].splitlines()[:2] == [str(conf), f"{tmp_path}/data {tmp_path}/log"]
    assert f"640 root root f {conf / settings}" in parts["modes"]
    assert str(lost / f"copy-of-{settings}") in parts["temporary"]
    assert "ca.pem" not in parts["temporary"]


def test_dumps_of_other_programs_are_not_the_services(tmp_path: Path) -> None:
    """What lies in its own folders is its own, whoever has it; in those of the system its user's alone."""
    data, kept = tmp_path / "shared" / "data", tmp_path / "coredump"
    data.mkdir(parents=True)
    kept.mkdir()
    boot, others = "0" * 32, 4711
    mine = [data / "core.1", data.parent / "java_pid1.hprof", kept / f"core.java.{os.getuid()}.{boot}.1.1.zst"]
    strange = [data.parent / "core.2", kept / f"core.postgres.{others}.{boot}.{os.getuid()}.1.zst"]
    for one in (*mine, *strange):
        one.touch()
    for one in (data.parent, mine[0], strange[0]):
        os.chown(one, others, -1)
    process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE, cwd=data)
    try:
        (tmp_path / "systemctl").write_text(f"#!/bin/sh\necho {process.pid}\n")
        (tmp_path / "systemctl").chmod(0o755)
        told = look._of_unit("x") + look._HEAD.replace("'DATA'", f"'{data}'") + look._told(("dumps",))
        script = f"PATH={tmp_path}:$PATH\n{told}exit 0\n".replace("/var/lib/systemd/coredump", str(kept))
        done = subprocess.run(["bash", "-s"], input=script, capture_output=True, text=True, check=True)
    finally:
        process.communicate(b"\n")
    found = look.parse(done.stdout)["dumps"].splitlines()
    assert [str(one) for one in mine if str(one) not in found] == []
    assert [str(one) for one in strange if str(one) in found] == []


KEYS = "ops@198.18.0.11: Permission denied (publickey)."
IN_FORCE = "permitrootlogin no\npasswordauthentication no\nkbdinteractiveauthentication no\npermitemptypasswords no"


@pytest.mark.parametrize(
    ("nothing", "as_root", "key", "sshd", "verdict", "said"),
    [
        (KEYS, KEYS, "let-in", IN_FORCE, "passed", ""),
        (KEYS, KEYS, "let-in", "", "passed", "sshd -T does not say what is in force for root"),
        (KEYS.replace("publickey", "publickey,password"), KEYS, "let-in", IN_FORCE, "failed", "offers ops"),
        (KEYS, KEYS.replace("publickey", "publickey,password"), "let-in", IN_FORCE, "failed", "offers root"),
        # Root has no such key, so sshd refuses it all the same.
        (KEYS, KEYS, "let-in", IN_FORCE.replace("login no", "login yes"), "failed", "permitrootlogin yes"),
        ("let-in", KEYS, "let-in", IN_FORCE, "failed", "ops with nothing: let-in"),
        (KEYS, "let-in", "let-in", IN_FORCE, "failed", "root with the key: let-in"),
        (
            "ssh: Connection timed out",
            "ssh: Connection timed out",
            "ssh: Connection timed out",
            "",
            "unknown",
            "timed out",
        ),
    ],
)
def test_sshd_is_judged_by_what_it_says(
    nothing: str, as_root: str, key: str, sshd: str, verdict: str, said: str, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    def ssh(host: Host, option: str) -> str:
        assert host.login is not None
        if host.login.user == "root":
            return as_root
        return nothing if option.endswith("none") else key

    monkeypatch.setattr(hosts, "_ssh", ssh)
    monkeypatch.setattr(hosts, "over_ssh", lambda *_, **__: sshd)
    with contextlib.closing(Scene(cluster(tmp_path, 1))) as scene:
        result = run.run_check(CHECKS[64], scene, consent=True)
    assert result["verdict"] == verdict, result["seen"]
    assert said in result["seen"][0]


@pytest.mark.parametrize(
    ("loud", "verdict", "said"),
    [
        ({}, "passed", ""),
        ({2181: hosts.REFUSED}, "failed", "broker-1: port 2181 from outside: refused"),
        ({9999: hosts.OPEN}, "failed", "broker-1: port 9999 from outside: open"),
        ({9092: hosts.OPEN}, "passed", ""),
        ({22: hosts.DROPPED}, "unknown", "ssh answers from outside"),
    ],
)
def test_ports_that_are_often_let_through_are_knocked_at(
    loud: dict[int, str], verdict: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    heard = {22: hosts.OPEN} | loud
    monkeypatch.setattr(hosts, "knock", lambda _, port: heard.get(port, hosts.DROPPED))
    monkeypatch.setattr(hosts, "over_ssh", lambda *_, **__: "1\n1\n1\n")
    with contextlib.closing(Scene(cluster(tmp_path, 1))) as scene:
        result = run.run_check(CHECKS[65], scene, consent=True)
    assert result["verdict"] == verdict, result["seen"]
    assert said in result["seen"][0]


def test_what_one_host_does_not_tell_of_its_clock_is_told_of_it_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for program in ("true", "head -n 1 > /dev/null"):  # gone before it is asked, and after
        monkeypatch.setattr(hosts, "ssh_argv", lambda *_, told=program: ["sh", "-c", told])
        with pytest.raises(NoAnswer, match="does not tell the time"):
            hosts.clock_of(cluster(tmp_path).hosts[0])

    def clock_of(host: Host) -> tuple[float, float]:
        if host.name == "broker-1":
            raise NoAnswer("it does not tell the time")
        return (0.9 if host.name == "broker-2" else 0.0), 0.01

    monkeypatch.setattr(hosts, "clock_of", clock_of)
    with contextlib.closing(Scene(cluster(tmp_path))) as scene:
        result = run.run_check(CHECKS[66], scene, consent=True)
    assert result["verdict"] == "failed"
    assert result["seen"][0].startswith("broker-2: +900 ms")
    assert "broker-1: it does not tell the time" in result["seen"]
