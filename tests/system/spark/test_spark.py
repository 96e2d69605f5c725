"""A Spark cluster of hosts that see neither checkout nor state: it loads and judges as this machine does."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import pytest

from tests.system.spark.conftest import STACK

if TYPE_CHECKING:
    from tests.system.lab import Lab

pytestmark = [pytest.mark.system, pytest.mark.spark, pytest.mark.long]

DAEMONS = {"spark-master-1": "master", "spark-worker-1": "worker", "spark-worker-2": "worker"}
SMALL = """
title: A small load by Spark
teaches: What the test asks.
explanation: A load small enough for a test, in which every record is acknowledged, kept once, and no finding is made.
suites: [untried]
only_on_request: true
topics:
  kastellan-three: {partitions: 3, replication: 2, config: {min.insync.replicas: 2}}
workload: {kind: bulk, count: 20000, consumers: 0, probes: false}
expect: {anomalies: none}
"""


def master(lab: Lab) -> str:
    hosts = lab.outputs(STACK)["hosts"]
    return f"spark://{next(host['address'] for host in hosts if host['name'] == 'spark-master-1')}:7077"


def run(lab: Lab, *words: str) -> dict[str, Any]:
    """A small load, seed 7; the judge's summary, without what names the run, and without sums: random numbers follow from
    names of producers, and there are as many of those as the cluster has cores."""
    (lab.folder / "validate/scenarios/small-load.yaml").write_text(SMALL, encoding="utf-8")
    out = lab.folder / "runs"
    argv = ["python", "-m", "validate", "run", "--stack", STACK, "--scenario", "small-load", "--seed", "7"]
    lab.native("env", f"SPARK_CONF_DIR={lab.state(STACK)}/spark", *argv, "--out", str(out), *words)
    newest = max(out.iterdir())
    summary: dict[str, Any] = json.loads((newest / "verdicts/small-load.json").read_text(encoding="utf-8"))
    return {name: summary[name] for name in ("verdict", "checked", "acked", "counts")}


@pytest.mark.parametrize(("host", "daemon"), DAEMONS.items())
def test_each_daemon_runs_as_spark_and_is_caged(lab: Lab, host: str, daemon: str) -> None:
    shown = lab.ssh(host, f"systemctl show spark-{daemon} -p ActiveState,User,MainPID", STACK)
    assert "ActiveState=active" in shown
    assert "User=spark" in shown
    level = lab.ssh(host, f"systemd-analyze security --no-pager spark-{daemon} | tail -1", STACK)
    found = re.search(r"([\d.]+) OK", level)
    assert found is not None
    assert float(found[1]) <= 1.5


@pytest.mark.parametrize("host", DAEMONS)
def test_the_secret_is_in_no_command_line_and_in_no_journal(lab: Lab, host: str) -> None:
    settings = (lab.state(STACK) / "spark/spark-defaults.conf").read_text()
    secret = re.search(r"spark\.authenticate\.secret (\S+)", settings)
    assert secret is not None
    words = lab.ssh(host, "sudo cat /proc/[0-9]*/cmdline | tr '\\0' ' '", STACK)
    assert "org.apache.spark.deploy" in words
    # Looked for here: there it would be a word of a command line, which sudo notes.
    journal = lab.ssh(host, "sudo journalctl --quiet --no-pager --all", STACK)
    assert re.search(r"managed_files\S* Invoked with", journal), "what modules are told is written down, but for no_log"
    assert [secret[1] in text for text in (words, journal)] == [False, False]


def test_hosts_see_the_shared_folder_and_nothing_else_of_this_machine(lab: Lab) -> None:
    state = lab.state(STACK)
    assert lab.ssh("spark-worker-1", f"ls -A {state}", STACK).split() == ["shared"]
    assert lab.ssh("spark-worker-1", f"ls -A {lab.folder}", STACK).split() == [".kastellan"]


def test_a_load_and_its_verdict_are_those_of_this_machine(lab: Lab) -> None:
    there, here = run(lab, "--spark-master", master(lab), "--ledger", str(lab.state(STACK) / "shared")), run(lab)
    for one in (there, here):
        assert one["verdict"] == "passed"
        assert one["checked"]["acked"] == one["acked"]["found"] == 20_000
    assert there == here


def test_a_second_run_of_the_play_changes_nothing(lab: Lab) -> None:
    told = lab.native("ansible-playbook", "-i", f"inventories/{STACK}", "playbooks/site.yml").stdout
    assert set(re.findall(r"changed=(\d+)", told)) == {"0"}
    drift = lab.native("ansible-playbook", "-i", f"inventories/{STACK}", "playbooks/drift.yml").stdout
    assert "Nothing differs from what is declared." in drift
