"""When a cluster loses and repeats, on a live one: the count is that of the settings, and the safe twin gives none."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
from datetime import datetime
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from common.wait import wait_until
from tests.system.cluster.test_proof import CHOSEN, ENV, ROWS, RUN_S, SEED, STEP_S, newest, told, validate
from tests.system.cluster.workloads import drop_topics
from tests.system.kafka_cluster import SILENT
from validate import scenario

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.system.kafka_cluster import Cluster

pytestmark = [pytest.mark.system, pytest.mark.spark]

HAND = "kastellan-hand-test"
SEEDS = ("1", "2", "3", "4", "5")
TABLE_S = 4500
SUITE_S = 25 * 60
TWINS = [(one.id, one.twin.of) for one in scenario.load_all() if one.twin]
STAGES = ("begin", "sent", "offsets", "commit")
ROUNDS = 50  # of four deaths each in one run, which keeps the pipes of all of them
DEATHS_S = 3600
BATCH = 20
MOST_TXNS = 9  # that one round commits: two or three before each death


@pytest.fixture(scope="module")
def delivered(cluster: Cluster) -> tuple[Any, Path]:
    done = validate(cluster, "run", "--scenario", *CHOSEN, "--seed", SEED)
    return done, newest(cluster)


@pytest.fixture(scope="module", params=SEEDS)
def table(cluster: Cluster, request: pytest.FixtureRequest) -> tuple[Any, Path]:
    """Every row, by one seed. One that fails alone: python -m validate run --scenario ID --seed N."""
    done = validate(cluster, "run", "--scenario", *ROWS, "--seed", request.param, timeout_s=TABLE_S)
    return done, newest(cluster)


def summary_of(folder: Path, name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "verdicts" / f"{name}.json").read_text(encoding="utf-8"))
    return found


def shown(folder: Path, name: str) -> list[dict[str, Any]]:
    """The findings that the report names one by one."""
    report = json.loads((folder / "report.json").read_text(encoding="utf-8"))
    one = next(one for one in report["scenarios"] if one["id"] == name)
    return [*one["summary"]["findings"], *one["more_findings"]]


def counts(folder: Path, name: str) -> dict[str, int]:
    told_counts = summary_of(folder, name)["counts"]
    return {anomaly: sum(found.values()) for anomaly, found in told_counts.items() if sum(found.values())}


def verdicts(folder: Path) -> dict[str, tuple[str, list[str]]]:
    return {name: (entry["verdict"], entry["reasons"]) for name, entry in told(folder).items()}


def must(cluster: Cluster) -> dict[str, tuple[str, list[str]]]:
    """Passed, or not applicable with the reason: nothing is unknown."""
    mode, brokers = cluster.document()["mode"], len(cluster.nodes())
    made: dict[str, tuple[str, list[str]]] = {}
    for name in ROWS:
        one = scenario.load(name)
        reasons = [] if mode in one.modes else [f"it is for mode {' or '.join(one.modes)}, this is {mode}"]
        if not reasons and brokers < one.brokers:
            reasons = [f"it needs {one.brokers} brokers, there are {brokers}"]
        made[name] = ("not-applicable" if reasons else "passed", reasons)
    return made


def test_the_chosen_scenarios_give_what_they_say(delivered: tuple[Any, Path]) -> None:
    done, folder = delivered
    assert verdicts(folder) == dict.fromkeys(CHOSEN, ("passed", [])), done.stdout


def test_what_was_committed_and_not_done_is_counted_exactly(delivered: tuple[Any, Path]) -> None:
    """The crash comes after 1025 records, commits are for 50 at a time: 25 lie between."""
    assert counts(delivered[1], "commit-before-work").get("lost-in-delivery") == 25
    assert counts(delivered[1], "commit-after-work").get("redelivered") == 25


@pytest.mark.long
@pytest.mark.timeout(TABLE_S + 300)
def test_every_row_gives_what_it_says_whatever_the_seed(cluster: Cluster, table: tuple[Any, Path]) -> None:
    done, folder = table
    assert verdicts(folder) == must(cluster), done.stdout


@pytest.mark.long
@pytest.mark.timeout(TABLE_S + 300)
@pytest.mark.parametrize(("losing", "safe"), TWINS)
def test_what_must_be_lost_or_repeated_is_and_the_twin_has_none_of_it(
    table: tuple[Any, Path], losing: str, safe: str
) -> None:
    """The report names the first of them, and none of it went by age."""
    wanted = scenario.load(losing).expect.anomalies
    assert isinstance(wanted, dict)
    forced = [anomaly for anomaly, rule in wanted.items() if str(rule["count"]).startswith(">")]
    summary = summary_of(table[1], losing)
    for anomaly in forced:
        assert counts(table[1], losing)[anomaly] > 0
        first = [found for found in shown(table[1], losing) if found["anomaly"] == anomaly]
        assert first
        assert all(None not in (found["topic"], found["partition"]) for found in first)
        assert anomaly != "lost" or all(None not in (found["producer"], found["seq"]) for found in first)
        assert counts(table[1], safe).get(anomaly, 0) == 0
    assert (summary["acked"]["expired"], summary_of(table[1], safe)["acked"]["expired"]) == (0, 0)


@pytest.mark.long
@pytest.mark.timeout(TABLE_S + 300)
def test_suite_delivery_takes_no_longer_than_it_may(table: tuple[Any, Path]) -> None:
    suite = [entry for name, entry in told(table[1]).items() if "delivery" in scenario.load(name).suites]
    took_s = {
        entry["id"]: (
            datetime.fromisoformat(entry["ended_at"]) - datetime.fromisoformat(entry["started_at"])
        ).total_seconds()
        for entry in suite
    }
    print({name: round(seconds) for name, seconds in took_s.items()})
    assert sum(took_s.values()) <= SUITE_S, took_s


@pytest.fixture
def deaths(cluster: Cluster) -> Iterator[str]:
    """Scenario exactly-once-transactions with many more rounds, gone after it: other tests look whether git is clean."""
    name = "exactly-once-deaths"
    folder = cluster.lab.folder / "validate" / "scenarios"
    content = yaml.safe_load((folder / "exactly-once-transactions.yaml").read_text(encoding="utf-8"))
    content["rounds"]["times"] = ROUNDS
    content["workload"]["count"] = ROUNDS * MOST_TXNS * BATCH + 1000
    content["workload"]["consumer"]["batch"] = BATCH
    path = folder / f"{name}.yaml"
    path.write_text(yaml.safe_dump(content, sort_keys=False), encoding="utf-8")
    yield name
    path.unlink()


@pytest.mark.long
@pytest.mark.timeout(DEATHS_S + 300)
@pytest.mark.parametrize("seed", SEEDS[:4])
def test_two_hundred_deaths_in_transactions_tear_lose_and_repeat_nothing(
    cluster: Cluster, deaths: str, seed: str
) -> None:
    """Fifty at each of four stages by every seed: two hundred rounds of all four in the end."""
    done = validate(cluster, "run", "--scenario", deaths, "--seed", seed, timeout_s=DEATHS_S)
    folder = newest(cluster)
    assert verdicts(folder) == {deaths: ("passed", [])}, done.stdout
    seen = counts(folder, deaths)
    never = {"torn-transaction", "aborted-read", "duplicated", "lost", "effect-missing", "effect-repeated"}
    assert never & seen.keys() == set()
    # Who died with its outputs sent left them to be aborted: of each such death something was withdrawn, and read again.
    assert seen["withdrawn"] >= 2 * ROUNDS
    assert seen["redelivered"] >= 2 * ROUNDS
    lines = (folder / "run.log").read_text(encoding="utf-8").splitlines()
    said = [line for line in lines if "died by SIGKILL of its own hand" in line]
    assert {stage: sum(f" {stage}-" in line for line in said) for stage in STAGES} == dict.fromkeys(STAGES, ROUNDS)


@pytest.fixture
def hand(cluster: Cluster) -> Iterator[Path]:
    """A ledger of one topic, both gone with the test."""
    folder = cluster.lab.state() / "hand" / HAND
    drop_topics(cluster.bundle("validator"), [HAND])
    shutil.rmtree(folder, ignore_errors=True)
    yield folder
    drop_topics(cluster.bundle("validator"), [HAND])
    shutil.rmtree(folder, ignore_errors=True)  # a test that failed early made none


def test_what_was_done_by_hand_is_judged(cluster: Cluster, hand: Path) -> None:
    where = ("--topic", HAND)
    made = validate(
        cluster, "produce", *where, "--make", "3:3", "--rolls", "2", "--records", "1500", "--wait-roll", "100"
    )
    assert made.returncode == 0, made.stderr
    assert "3,000 acked" in made.stdout
    group = ("--group", "kastellan-hand-test")
    first = validate(cluster, "consume", *where, *group, "--commit-every", "100", "--count", "1000")
    assert (first.returncode, "delivered" in first.stdout) == (0, True), first.stderr
    said = validate(cluster, "produce", *where, "--say", "crash")
    assert said.returncode == 0, said.stderr
    second = validate(cluster, "consume", *where, *group, "--obey", "--wait-record", "0.1")
    assert (second.returncode, "died by SIGKILL" in second.stdout) == (0, True), second.stdout + second.stderr
    judged = validate(cluster, "judge", str(hand), "--read-back", "--json")
    summary = json.loads(judged.stdout)
    assert (judged.returncode, summary["verdict"]) == (0, "passed"), judged.stderr
    assert (summary["checked"]["acked"], summary["acked"]["found"], summary["checked"]["foreign"]) == (3000, 3000, 3)
    denied = validate(cluster, "produce", "--topic", "Topic_One")
    assert (denied.returncode, "Topic_One" in denied.stderr) == (64, True), denied.stderr


def members(cluster: Cluster, group: str) -> int:
    admin = AdminClient(cluster.bundle("validator"), logger=SILENT)
    try:
        return len(admin.describe_consumer_groups([group], request_timeout=20)[group].result().members)
    except KafkaException:
        return 0  # nobody has heard of it yet


@pytest.fixture
def reading(cluster: Cluster, hand: Path) -> Iterator[tuple[tuple[str, ...], subprocess.Popen[bytes]]]:
    """A static member by hand, at work; the words that name its place, and its process."""
    where = ("--topic", HAND)
    made = validate(cluster, "produce", *where, "--make", "3:3", "--records", "300")
    assert (made.returncode, (hand / "hand.json").is_file()) == (0, True), made.stderr
    group = "kastellan-hand-in-use"
    words = ("consume", *where, "--group", group, "--session", "6000", "--instance-id", "one", "--commit-never")
    process = subprocess.Popen(
        ["bash", "-c", ENV, "v", "python", "-m", "validate", *words], cwd=cluster.lab.folder,
        env=cluster.lab.environ(), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        assert wait_until(lambda: members(cluster, group) == 1, timeout_s=STEP_S), "nobody joined"
        yield words, process
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(STEP_S)


@pytest.mark.long
def test_a_group_in_use_and_a_living_owners_name_are_told_before_anything_is_read(
    cluster: Cluster, hand: Path, reading: tuple[tuple[str, ...], subprocess.Popen[bytes]]
) -> None:
    """With both protocols alike for whoever comes second; who says --join under a name of its own is let in."""
    words, owner = reading
    assert list(hand.glob("journals/consumer-1*"))
    nameless = [word for word in words if word not in {"--instance-id", "one"}]
    for more in ((), ("--assignment", "broker")):
        refused = validate(cluster, *nameless, *more)
        assert (refused.returncode, refused.stdout) == (64, ""), refused.stdout + refused.stderr
        assert "Group kastellan-hand-in-use is in use: it has 1 member." in refused.stderr
    twice = validate(cluster, *words, "--join")
    assert (twice.returncode, twice.stdout) == (64, ""), twice.stdout + twice.stderr
    assert "has a living member with the instance id 'one'" in twice.stderr
    assert not list(hand.glob("journals/consumer-2*"))
    second = validate(cluster, *words, "--join", "--instance-id", "two", "--count", "1", timeout_s=RUN_S)
    assert second.returncode == 0, second.stderr
    assert owner.poll() is None, "the first was pushed out"
    owner.kill()
    back = validate(cluster, *words, "--join", "--return", "--count", "1")
    assert back.returncode == 0, back.stderr
