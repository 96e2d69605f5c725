"""The security proof is green on what the roles make, and each break turns its own check red and no unrelated one."""

from __future__ import annotations

import base64
import contextlib
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

from common.wait import wait_until
from validate import cluster as described
from validate.admin import Admin
from validate.security import run
from validate.security.scene import Scene
from validate.security.stage import Acl, Stage

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.system.kafka_cluster import Cluster

pytestmark = pytest.mark.system

HOST = "broker-2"
BROKER_LOGGER = 8
# What a break must leave green: some of every family, those that take moments.
NEIGHBOURS = (2, 3, 21, 26, 28, 29, 40, 44, 45, 46, 47, 49, 51, 52, 57, 58, 60, 61, 62, 63, 64, 65, 66)


def verdicts(cluster: Cluster, numbers: tuple[int, ...]) -> dict[int, dict[str, Any]]:
    results: list[dict[str, Any]] = []
    at_hand = described.load(cluster.lab.state() / "cluster.json")
    run.run_checks(at_hand, numbers, results, intrusive=False, say=print)
    return {one["number"]: one for one in results}


def red(cluster: Cluster, *more: int) -> set[int]:
    """Which of the neighbours, and of those named, are not passed."""
    found = verdicts(cluster, tuple(sorted({*NEIGHBOURS, *more})))
    return {number for number, one in found.items() if one["verdict"] != "passed"}


def test_the_suite_is_green(cluster: Cluster, tmp_path: Path) -> None:
    words = ("-m", "validate", "run", "--suite", "security", "--out", str(tmp_path))
    done = cluster.lab.run(".venv/bin/python", *words, check=False, timeout_s=600)
    (folder,) = tmp_path.iterdir()
    report = json.loads((folder / "report.json").read_text(encoding="utf-8"))
    told = {one["number"]: (one["verdict"], one["seen"]) for one in report["security"]}
    assert {n: x for n, x in told.items() if x[0] in {"failed", "unknown"}} == {}, done.stdout
    assert done.returncode == 0, done.stdout + done.stderr
    assert len(told) == 67
    assert {n for n, x in told.items() if x[0] == "not-applicable"} == {54, 55, 56}
    assert "security check" in (folder / "report.html").read_text(encoding="utf-8")


@dataclass(frozen=True)
class Break:
    """What is done as root on one host, how it is undone, and which checks must see it."""

    do: str
    undo: str
    red: frozenset[int]


def nft(rule: str) -> tuple[str, str]:
    """A rule before all others, and the table as it was."""
    return f"nft insert rule inet kastellan input {rule}", "nft -f /etc/kastellan/firewall.nft"


PID = "$(systemctl show -p MainPID --value kafka)"
AS_KAFKA = "runuser -u kafka --"
HARD = f"$(awk '/open files/ {{print $5}}' /proc/{PID}/limits)"
SSHD = "/etc/ssh/sshd_config.d/00-sabotage.conf"
PLANTED = "/var/tmp/sabotage"  # noqa: S108  on a host of the test's own
BREAKS = {
    "a port that is let through": Break(*nft("tcp dport 4444 accept"), frozenset({65})),
    "a stranger that listens": Break(
        "systemd-run --quiet --unit sabotage --collect nc -lk 5005 && " + nft("tcp dport 5005 accept")[0],
        "systemctl stop sabotage; " + nft("")[1], frozenset({1}),
    ),
    "controllers within reach": Break(*nft("tcp dport 9093 accept"), frozenset({51})),
    "brokers' listener within reach": Break(*nft("tcp dport 9091 accept"), frozenset({28})),
    "passwords for sshd": Break(
        f"echo 'PasswordAuthentication yes' > {SSHD} && systemctl reload ssh",
        f"rm -f {SSHD} && systemctl reload ssh", frozenset({64}),
    ),
    "sudo for the service": Break(
        "echo 'kafka ALL=(ALL) NOPASSWD: ALL' > /etc/sudoers.d/sabotage && chmod 0440 /etc/sudoers.d/sabotage",
        "rm -f /etc/sudoers.d/sabotage", frozenset({57}),
    ),
    "an open configuration": Break(
        "chmod o+rx /etc/kafka && chmod o+r /etc/kafka/server.properties",
        "chmod o-rwx /etc/kafka /etc/kafka/server.properties", frozenset({58}),
    ),
    "few files": Break(
        f"{AS_KAFKA} prlimit --pid {PID} --nofile=4096:", f"{AS_KAFKA} prlimit --pid {PID} --nofile={HARD}:",
        frozenset({63}),
    ),
}  # fmt: skip


LATER = {"brokers' listener within reach", "few files", "sudo for the service"}


@pytest.mark.parametrize("name", [pytest.param(n, marks=[pytest.mark.long] if n in LATER else []) for n in BREAKS])
def test_a_break_on_a_host_turns_its_check_red(name: str, cluster: Cluster) -> None:
    one = BREAKS[name]
    with broken(cluster, one.do, one.undo):
        assert red(cluster, *one.red) == one.red


CONFIG, DROP_IN = "/etc/kafka/server.properties", "/etc/systemd/system/kafka.service.d/sabotage.conf"
RESTART = "systemctl daemon-reload && systemctl restart kafka"


def edited(expression: str) -> tuple[str, str]:
    """Another configuration, and the old one with its mode and owner."""
    return (
        f"cp -p {CONFIG} {CONFIG}.kept && sed -i '{expression}' {CONFIG} && {RESTART}",
        f"mv {CONFIG}.kept {CONFIG}; {RESTART}",
    )  # fmt: skip


def dropped_in(*lines: str) -> tuple[str, str]:
    told = "\\n".join(("[Service]", *lines))
    return f"printf '{told}\\n' > {DROP_IN} && {RESTART}", f"rm -f {DROP_IN}; {RESTART}"


RESTARTED = {
    "a weak cage": Break(*dropped_in("ProtectSystem=no", "ProtectHome=no"), frozenset({61})),
    "a further super user": Break(*edited("s/^super.users=.*/&;User:usercc/"), frozenset({45})),
    "topics that come by being named": Break(
        *edited("s/^auto.create.topics.enable=.*/auto.create.topics.enable=true/"), frozenset({47})
    ),
    "sessions that last for ever": Break(*edited("/max.reauth.ms/d"), frozenset({24})),
    "certificates that are only wished for": Break(
        *edited("s/^listener.name.mtls.ssl.client.auth=.*/listener.name.mtls.ssl.client.auth=none/"),
        frozenset({13, 14, 26}),
    ),
    "names that nobody checks": Break(
        *edited("s/^ssl.endpoint.identification.algorithm=.*/ssl.endpoint.identification.algorithm=/"), frozenset({9})
    ),
}  # fmt: skip


@pytest.mark.long
@pytest.mark.parametrize("name", RESTARTED)
def test_a_break_that_a_restart_brings_about_turns_its_check_red(name: str, cluster: Cluster) -> None:
    one = RESTARTED[name]
    try:
        with broken(cluster, one.do, one.undo):
            await_whole(cluster)
            assert red(cluster, *one.red) == one.red
    finally:
        await_whole(cluster)


def await_whole(cluster: Cluster) -> None:
    admin = Admin(described.load(cluster.lab.state() / "cluster.json"))
    assert wait_until(lambda: not admin.not_whole(), timeout_s=180, every_s=1), admin.not_whole()


def test_denials_that_nobody_writes_down_are_missed(cluster: Cluster) -> None:
    from kafka.protocol.admin import IncrementalAlterConfigsRequest  # noqa: PLC0415

    def level(operation: int, value: str | None) -> None:
        for host in scene.cluster.brokers:
            change = (BROKER_LOGGER, str(host.node_id), [("kafka.authorizer.logger", operation, value)])
            answer = scene.admin(host).ask(IncrementalAlterConfigsRequest(resources=[change], validate_only=False), 1)
            assert answer.responses[0].error_code == 0

    with contextlib.closing(Scene(described.load(cluster.lab.state() / "cluster.json"))) as scene:
        level(0, "ERROR")
        try:
            assert red(cluster) == {49}
        finally:
            level(1, None)


@contextlib.contextmanager
def broken(cluster: Cluster, do: str, undo: str) -> Iterator[None]:
    try:
        root(cluster, do)
        yield
    finally:
        root(cluster, undo)


def root(cluster: Cluster, script: str) -> str:
    coded = base64.b64encode(script.encode()).decode()
    return cluster.lab.ssh(HOST, f"echo {coded} | base64 -d | sudo bash -e")


def test_a_secret_that_lies_about_is_found(cluster: Cluster) -> None:
    secret = base64.b64encode(f"user:{cluster.bundle('usercc')['sasl.password']}:".encode()).decode()
    cluster.lab.ssh(HOST, f"printf %s {secret} > {PLANTED}")
    try:
        found = verdicts(cluster, (59,))[59]
    finally:
        cluster.lab.ssh(HOST, f"rm {PLANTED}")
    assert found["verdict"] == "failed"
    assert found["seen"][0] == (
        f"{HOST}: of {found['seen'][0].split()[2]} secrets: password of usercc in temporary files, homes and histories"
    )


@pytest.mark.parametrize(
    ("acl", "expected"),
    [
        (Acl("usercc", "Topic", "kastellan-stray", "Read"), {46}),
        (Acl("*", "Topic", "kastellan-stray", "Read"), {26, 46}),
        pytest.param(
            Acl("*", "Topic", "kastellan-sec-", "Read", pattern="prefixed"),
            {26, 29, 40, 46, 49},
            marks=pytest.mark.long,
        ),
    ],
    ids=["stray", "for everybody", "for everybody on the proof's own topics"],
)
def test_a_rule_that_nobody_declared_is_seen(acl: Acl, expected: set[int], cluster: Cluster) -> None:
    with contextlib.closing(Scene(described.load(cluster.lab.state() / "cluster.json"))) as scene:
        stage = Stage(scene)
        stage.grant(acl)
        try:
            assert red(cluster) == expected
        finally:
            stage.revoke(acl)
