"""The proof on a live cluster: load, a stop, a kill, a cut, and runs that must not pass."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from common.wait import wait_until
from tests.system.lab import descendants
from validate import scenario

if TYPE_CHECKING:
    from tests.system.kafka_cluster import Cluster

pytestmark = [pytest.mark.system, pytest.mark.spark]

RUN_S = 700
STEP_S = 120
SEED = "42"
MOST_MIB = 3072
MOST_SWAP_MIB = 128  # pages that lie idle may be pushed out by anybody; a driver that does not fit needs gigabytes
NORMAL = ("load-sample", "stop-one-broker", "kill-leader", "isolate-client")
# Of suite delivery; test_delivery.py runs them.
CHOSEN = ("commit-before-work", "commit-after-work", "exactly-once-database")
# Rows of the delivery table that are in suite lab: what they wait for would make suite delivery too long.
PATIENT = (
    "compaction", "interceptors-and-metrics", "partitioner", "quotas", "retention", "seek-and-replay", "sticky-failover",
    "tombstones",
)  # fmt: skip
# The whole table; test_delivery.py runs it with several seeds.
ROWS = (*(one.id for one in scenario.load_all() if "delivery" in one.suites), *PATIENT)
ENV = 'eval "$(./kastellan env)" && exec "$@"'


def validate(cluster: Cluster, *words: str, check: bool = False, timeout_s: float = RUN_S) -> Any:
    argv = ("bash", "-c", ENV, "v", "python", "-m", "validate", *words)
    return cluster.lab.run(*argv, timeout_s=timeout_s, check=check)


def begin(cluster: Cluster, *words: str) -> tuple[subprocess.Popen[bytes], Path]:
    """A run of which the test is to see the middle, and its folder."""
    argv = ["bash", "-c", ENV, "v", "python", "-m", "validate", *words]
    before = runs(cluster)
    running = subprocess.Popen(
        argv, cwd=cluster.lab.folder, env=cluster.lab.environ(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        start_new_session=True,
    )  # fmt: skip
    assert wait_until(lambda: bool(runs(cluster) - before), timeout_s=STEP_S), "no run began"
    return running, (runs(cluster) - before).pop()


def runs(cluster: Cluster) -> set[Path]:
    folder = cluster.lab.state() / "runs"
    return set(folder.iterdir()) if folder.is_dir() else set()


def newest(cluster: Cluster) -> Path:
    return max(runs(cluster), key=lambda path: path.stat().st_mtime)


def runner_of(running: subprocess.Popen[bytes]) -> int:
    return next(pid for pid in [running.pid, *descendants(running.pid)] if "validate\0run" in words_of(pid))


def await_bite(folder: Path, name: str) -> None:
    assert wait_until(lambda: any(row["phase"] == "bit" for row in faults(folder, name)), timeout_s=STEP_S)


def told(folder: Path) -> dict[str, dict[str, Any]]:
    content = json.loads((folder / "run.json").read_text(encoding="utf-8"))
    return {entry["id"]: entry for entry in content["scenarios"]}


def faults(folder: Path, name: str) -> list[dict[str, str]]:
    path = folder / "ledger" / name / "faults.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def is_whole(cluster: Cluster) -> bool:
    return bool(cluster.play("health", check=False).code == 0)


@pytest.fixture(scope="module")
def proven(cluster: Cluster) -> tuple[Any, Path]:
    done = validate(cluster, "run", "--scenario", *NORMAL, "--seed", SEED)
    return done, newest(cluster)


def test_a_load_a_stop_a_kill_and_a_cut_are_passed(proven: tuple[Any, Path]) -> None:
    done, folder = proven
    verdicts = {name: (entry["verdict"], entry["reasons"]) for name, entry in told(folder).items()}
    assert verdicts == dict.fromkeys(NORMAL, ("passed", [])), done.stdout + done.stderr
    assert done.returncode == 0
    assert (folder / "report.html").is_file()


@pytest.mark.parametrize(
    ("name", "fault", "seen"),
    [
        ("stop-one-broker", "stop", "inactive, result success"),
        ("kill-leader", "kill", "ended by signal 9, as the kernel told systemd; unit failed, Restart=no"),
        ("isolate-client", "isolate", "the packet filter drops"),
    ],
)
def test_every_fault_says_how_it_was_seen_to_bite(proven: tuple[Any, Path], name: str, fault: str, seen: str) -> None:
    rows = faults(proven[1], name)
    assert [(row["fault"], row["phase"]) for row in rows] == [(fault, phase) for phase in ("begin", "bit", "healed")]
    assert seen in rows[1]["detail"]
    assert "port 9092" in rows[2]["detail"]


def test_an_in_sync_set_that_shrank_was_seen_and_is_whole_again(proven: tuple[Any, Path]) -> None:
    rows = [json.loads(line) for line in (proven[1] / "ledger" / "kill-leader" / "isr.jsonl").read_text().splitlines()]
    assert any(len(row["isr"]) < len(row["replicas"]) for row in rows)
    last = {(row["topic"], row["partition"]): row for row in rows}
    assert all(set(row["isr"]) == set(row["replicas"]) for row in last.values())


def test_nothing_is_left_behind(cluster: Cluster, proven: tuple[Any, Path]) -> None:
    from confluent_kafka.admin import AdminClient  # noqa: PLC0415

    topics = AdminClient(cluster.bundle("validator")).list_topics(timeout=20).topics
    assert not [name for name in topics if name.startswith("kastellan-")]
    for host in cluster.lab.hosts():
        assert cluster.lab.ssh(host, "ls -d /var/lib/kastellan-fault 2>/dev/null; sudo nft list tables") == (
            "table inet kastellan"
        )
    secret = str(cluster.bundle("validator")["sasl.password"])
    done = subprocess.run(["grep", "-rlF", secret, str(proven[1])], capture_output=True, text=True, check=False)
    assert done.stdout == ""


def test_a_workload_that_dies_leaves_the_run_unknown(cluster: Cluster) -> None:
    """Sabotage: the writer is killed in the middle; what was read back is right, and proves nothing."""
    running, folder = begin(cluster, "run", "--scenario", "baseline", "--seed", SEED)
    writers: list[int] = []

    def there() -> bool:
        writers[:] = [pid for pid in descendants(running.pid) if "workload\0producer" in words_of(pid)]
        return bool(writers)

    assert wait_until(there, timeout_s=STEP_S)
    time.sleep(3)  # not for a condition: it shall die with records under way
    os.kill(writers[0], signal.SIGKILL)
    code = running.wait(RUN_S)
    found = told(folder)["baseline"]
    assert (code, found["verdict"]) == (2, "unknown"), found["reasons"]
    assert any("producer writer-1 died with signal 9" in reason for reason in found["reasons"])


def test_heal_cleans_up_after_a_run_that_died(cluster: Cluster) -> None:
    """The runner itself dies by SIGKILL while a broker is paused: nobody is left to heal it."""
    running, folder = begin(cluster, "run", "--scenario", "pause-leader", "--seed", SEED)
    try:
        await_bite(folder, "pause-leader")
        os.kill(runner_of(running), signal.SIGKILL)
        running.wait(STEP_S)
        assert wait_until(lambda: not workloads_of(cluster), timeout_s=STEP_S), workloads_of(cluster)
        refused = validate(cluster, "run", "--scenario", "baseline")
        assert (refused.returncode, "still open" in refused.stderr) == (64, True)
    finally:
        healed = validate(cluster, "heal")
    assert (healed.returncode, "healed pause" in healed.stdout, "removed kastellan-" in healed.stdout) == (
        0,
        True,
        True,
    )
    assert validate(cluster, "heal").stdout.strip() == "Nothing is broken."
    assert [row["phase"] for row in faults(folder, "pause-leader")] == ["begin", "bit", "healed"]
    assert wait_until(lambda: is_whole(cluster), timeout_s=STEP_S, every_s=2)


def test_ctrl_c_heals_first(cluster: Cluster) -> None:
    running, folder = begin(cluster, "run", "--scenario", "stop-one-broker", "--seed", SEED)
    await_bite(folder, "stop-one-broker")
    os.kill(runner_of(running), signal.SIGINT)
    assert running.wait(RUN_S) == 2
    assert [row["phase"] for row in faults(folder, "stop-one-broker")] == ["begin", "bit", "healed"]
    content = json.loads((folder / "run.json").read_text(encoding="utf-8"))
    assert content["ended_at"] is not None
    assert content["scenarios"][0]["verdict"] == "unknown"
    assert not workloads_of(cluster)
    assert wait_until(lambda: is_whole(cluster), timeout_s=STEP_S, every_s=2)


def test_a_wrong_password_and_a_missing_right_are_named(cluster: Cluster, tmp_path: Path) -> None:
    """The description of the same cluster, with bundles that are not right."""
    content = cluster.document()
    state = cluster.lab.state()
    clients = tmp_path / "clients"
    bundles = {"admin": cluster.bundle("admin"), "validator": cluster.bundle("validator")}
    for host in content["hosts"]:
        host["ssh"]["key_file"] = str(state / host["ssh"]["key_file"])
        host["ssh"]["known_hosts_file"] = str(state / host["ssh"]["known_hosts_file"])
    path = tmp_path / "cluster.json"

    def said(user: str, bundle: dict[str, Any], **changes: Any) -> str:
        for name, found in {**bundles, user: bundle}.items():
            (clients / name).mkdir(parents=True, exist_ok=True)
            (clients / name / "librdkafka.json").write_text(json.dumps(found))
        path.write_text(json.dumps({**content, **changes}))
        done = validate(cluster, "run", "--cluster", str(path), "--scenario", "baseline")
        assert done.returncode == 64, done.stdout + done.stderr
        return str(done.stderr)

    wrong = {**bundles["validator"], "sasl.password": "not-this"}
    assert "The cluster does not let 'validator' in." in said("validator", wrong)
    lacking = said("usercc", cluster.bundle("usercc"), validator_user="usercc")
    assert "User 'usercc' lacks the right Create on Topic kastellan-" in lacking


def test_a_cluster_made_elsewhere_is_proven_as_far_as_it_lets_us(cluster: Cluster, tmp_path: Path) -> None:
    """The same cluster as a stranger would describe it: no ssh, no operations, no consent, no stack of ours."""
    content = cluster.document()
    for host in content["hosts"]:
        host["ssh"] = None
    content |= {"stack": "elsewhere", "clients_dir": "logins", "operations": {}, "faults_allowed": False}
    for user in ("admin", "validator"):
        (tmp_path / "logins" / user).mkdir(parents=True)
        (tmp_path / "logins" / user / "librdkafka.json").write_text(json.dumps(cluster.bundle(user)))
    path = tmp_path / "cluster.json"
    path.write_text(json.dumps(content))
    words = ("run", "--cluster", str(path), "--scenario", "baseline", "kill-leader", "restart-rolling", "--seed", SEED)
    refused = validate(cluster, *words)
    assert (refused.returncode, "Faults are not allowed on cluster 'elsewhere'" in refused.stderr) == (64, True)
    assert not (tmp_path / "runs").exists()
    done = validate(cluster, *words, "--allow-faults")
    (folder,) = (tmp_path / "runs").iterdir()
    found = told(folder)
    assert (found["baseline"]["verdict"], found["baseline"]["reasons"]) == ("passed", []), done.stdout + done.stderr
    assert found["kill-leader"]["verdict"] == found["restart-rolling"]["verdict"] == "unknown"
    assert "there is no ssh access to broker-1" in found["kill-leader"]["reasons"][0]
    assert "no operation 'rolling_restart'" in found["restart-rolling"]["reasons"][0]
    assert done.returncode == 2
    assert (folder / "report.html").is_file()
    assert validate(cluster, "heal", "--cluster", str(path)).stdout.strip() == "Nothing is broken."


def test_a_topic_of_another_shape_is_told_as_that(cluster: Cluster) -> None:
    from tests.system.cluster.workloads import drop_topics, make_topics  # noqa: PLC0415

    client = cluster.bundle("validator")
    make_topics(client, {"kastellan-one": (2, 2)})
    try:
        done = validate(cluster, "run", "--scenario", "baseline")
    finally:
        drop_topics(client, ["kastellan-one"])
    assert done.returncode == 64
    assert "Topic kastellan-one exists with another shape." in done.stderr


@pytest.mark.long
@pytest.mark.timeout(1800)
@pytest.mark.parametrize(
    "name",
    [s.id for s in scenario.load_all() if "kraft" in s.modes and not {*s.suites, s.id} & {"untried", *NORMAL, *ROWS}],
)
def test_every_other_scenario_is_passed(cluster: Cluster, name: str) -> None:
    passes(cluster, name)


def passes(cluster: Cluster, name: str) -> dict[str, Any]:
    done = validate(cluster, "run", "--scenario", name, "--seed", SEED)
    found = told(newest(cluster))[name]
    assert (found["verdict"], found["reasons"]) == ("passed", []), done.stdout + done.stderr
    if name == "load-million":
        notes = " ".join(found["notes"])
        ((peak, swapped),) = re.findall(
            r"had ([\d,]+) MiB in memory at most.*; ([\d,]+) MiB more of them lay in swap", notes
        )
        assert int(peak.replace(",", "")) < MOST_MIB, notes
        assert int(swapped.replace(",", "")) < MOST_SWAP_MIB, notes
        sums = re.findall(r"(\w+): the random numbers sent add up to ([\d,]+), those read back to ([\d,]+)", notes)
        assert [topic for topic, *_ in sums] == ["Topic_Four", "Topic_One", "Topic_Three"]
        assert all(sent == read for _, sent, read in sums)
        assert "Each of the numbers 0 to 999,999 was read back, in every topic." in notes
    return found


def words_of(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def workloads_of(cluster: Cluster) -> list[str]:
    from tests.system.lab import mentioning  # noqa: PLC0415

    return [line for line in mentioning(cluster.lab.folder) if "validate.workload" in line]
