"""A Spark cluster of hosts that see neither checkout nor state: it loads and judges as this machine does."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest

from tests.system.spark import running
from tests.system.spark.running import RUN_S, STACK, Driver

if TYPE_CHECKING:
    from pathlib import Path

    from tests.system.lab import Lab

pytestmark = [pytest.mark.system, pytest.mark.spark]

DAEMONS = {"spark-master-1": "master", "spark-worker-1": "worker", "spark-worker-2": "worker"}
COUNT = 20_000
SMALL = running.scenario("a small one", COUNT)


def test_a_small_load_is_whole_and_shows_no_secret(lab: Lab, tmp_path: Path) -> None:
    """Of everything that others can read, by what this machine, the master, the workers and the event log show."""
    driver, lines = Driver(lab, tmp_path), ""

    def at_work() -> bool:
        """Those who send are over in a moment; those who read back after them are told the same."""
        nonlocal lines
        lines = running.command_lines(lab) if driver.claims() >= 1 else ""
        return "CoarseGrainedExecutorBackend" in lines

    with driver.load("small-load", SMALL) as process:
        running.meanwhile(process, at_work)
        said, _ = process.communicate(timeout=RUN_S)
    entry, summary = driver.entry(), driver.summary("small-load")
    assert (process.returncode, entry["verdict"], entry["reasons"]) == (0, "passed", []), said[-3000:]
    assert summary["checked"]["acked"] == summary["acked"]["found"] == COUNT
    pages, events = running.pages(lab), driver.events()
    assert "kastellan-judge" in pages, "nothing was looked at"
    assert "SparkListenerJobEnd" in events
    login = running.bundle(lab)
    for secret in (login["sasl.password"], running.secret_of(lab), "BEGIN PRIVATE KEY"):
        assert [secret in text for text in (lines, pages, events, said, driver.log())] == [False] * 5


@pytest.mark.long
@pytest.mark.parametrize(("host", "daemon"), DAEMONS.items())
def test_each_daemon_runs_as_spark_and_is_caged(lab: Lab, host: str, daemon: str) -> None:
    shown = lab.ssh(host, f"systemctl show spark-{daemon} -p ActiveState,User,MainPID", STACK)
    assert "ActiveState=active" in shown
    assert "User=spark" in shown
    level = lab.ssh(host, f"systemd-analyze security --no-pager spark-{daemon} | tail -1", STACK)
    found = re.search(r"([\d.]+) OK", level)
    assert found is not None
    assert float(found[1]) <= 1.5


@pytest.mark.long
@pytest.mark.parametrize("host", DAEMONS)
def test_the_secret_is_in_no_command_line_and_in_no_journal(lab: Lab, host: str) -> None:
    secret = running.secret_of(lab)
    words = lab.ssh(host, "sudo cat /proc/[0-9]*/cmdline | tr '\\0' ' '", STACK)
    assert "org.apache.spark.deploy" in words
    # Looked for here: there it would be a word of a command line, which sudo notes.
    journal = lab.ssh(host, "sudo journalctl --quiet --no-pager --all", STACK)
    assert re.search(r"managed_files\S* Invoked with", journal), "what modules are told is written down, but for no_log"
    assert [secret in text for text in (words, journal)] == [False, False]


@pytest.mark.long
def test_hosts_see_the_shared_folder_and_nothing_else_of_this_machine(lab: Lab) -> None:
    state = lab.state(STACK)
    assert lab.ssh("spark-worker-1", f"ls -A {state}", STACK).split() == ["shared"]
    assert lab.ssh("spark-worker-1", f"ls -A {lab.folder}", STACK).split() == [".kastellan"]


@pytest.mark.long
def test_a_load_and_its_verdict_are_those_of_this_machine(lab: Lab, tmp_path: Path) -> None:
    """Without sums: random numbers follow from names of producers, and there are as many of those as the cluster has
    cores."""
    found: list[dict[str, Any]] = []
    for name, words in (
        ("there", ["--spark-master", running.master(lab), "--ledger", str(running.shared(lab))]),
        ("here", []),
    ):
        (tmp_path / name).mkdir()
        driver = Driver(lab, tmp_path / name)
        (lab.folder / "validate/scenarios/small-load.yaml").write_text(SMALL, encoding="utf-8")
        run = ["run", "--stack", STACK, "--scenario", "small-load", "--seed", "7"]
        with driver.start(*run, "--out", str(driver.folder / "runs"), *words) as process:
            said, _ = process.communicate(timeout=RUN_S)
        assert driver.entry()["verdict"] == "passed", said[-3000:]
        found.append(driver.summary("small-load"))
        assert found[-1]["checked"]["acked"] == found[-1]["acked"]["found"] == COUNT
    assert found[0] == found[1]


@pytest.mark.long
def test_a_second_run_of_the_play_changes_nothing(lab: Lab) -> None:
    told = lab.native("ansible-playbook", "-i", f"inventories/{STACK}", "playbooks/site.yml").stdout
    assert set(re.findall(r"changed=(\d+)", told)) == {"0"}
    drift = lab.native("ansible-playbook", "-i", f"inventories/{STACK}", "playbooks/drift.yml").stdout
    assert "Nothing differs from what is declared." in drift
