"""Single clients by hand against brokers in the test's own process: what they show, and the words they obey."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pyarrow.dataset as ds
import pytest

from tests.unit.validate.mock_brokers import mock_brokers
from validate.__main__ import parser
from validate.hand import watch
from validate.hand.bench import Bench
from validate.hand.say import say
from validate.scenario import Topic
from validate.verbs import consume, produce
from validate.workload.seal import seal

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

COUNT = 300
ALL = ("--count", str(2 * COUNT + 2))  # the end of whoever does not obey
TOPICS = {word: f"kastellan-{word}" for word in ("quit", "crash", "wait")}


class Shell:
    """Two brokers; a topic for each word, with records before the word and behind it."""

    def __init__(self, folder: Path, bootstrap: str) -> None:
        self.folder, self._place = folder, SimpleNamespace(settings={"bootstrap.servers": bootstrap})

    def bench(self, topic: str) -> Bench:
        ledger = self.folder / topic
        ledger.mkdir(exist_ok=True)
        return Bench(self._place, Topic(topic, 2, 1, {}), ledger, "r")  # type: ignore[arg-type]

    def produce(self, topic: str, name: str, *words: str) -> dict[str, Any]:
        args = parser().parse_args(["produce", "--topic", topic, *words])
        return watch.run(self.bench(topic), "producer", name, produce.spec_of(args))

    def consume(self, topic: str, name: str, *words: str) -> dict[str, Any]:
        args = parser().parse_args(["consume", "--topic", topic, "--group", topic, "--session", "6000", *words])
        spec = consume.spec_of(args)
        return watch.run(self.bench(topic), "consumer", name, spec, crash_allowed=args.obey)

    def rows(self, topic: str, table: str) -> list[dict[str, Any]]:
        seal(self.folder / topic)
        found: list[dict[str, Any]] = ds.dataset(self.folder / topic / table).to_table().to_pylist()
        return found


@pytest.fixture(scope="module")
def shell(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shell]:
    with mock_brokers(2) as brokers:
        made = Shell(tmp_path_factory.mktemp("hand"), brokers.bootstrap)
        for word, topic in TOPICS.items():
            brokers.make_topic(topic)
            made.produce(topic, "first", "--records", str(COUNT))
            say(made.bench(topic), word)
            made.produce(topic, "second", "--records", str(COUNT))
        yield made


def test_a_producer_shows_what_it_did_and_keeps_a_ledger(shell: Shell, capsys: pytest.CaptureFixture[str]) -> None:
    facts = shell.produce(TOPICS["wait"], "third", "--rolls", "2", "--records", "50", "--wait-roll", "1")
    assert sum(facts["acked"].values()) == 100
    assert "third  100 acked, " in capsys.readouterr().out
    mine = [row for row in shell.rows(TOPICS["wait"], "sent") if row["producer"] == "third"]
    assert [row["outcome"] for row in mine] == ["acked"] * 100


def test_a_record_quit_ends_a_consumer_in_order(shell: Shell, capsys: pytest.CaptureFixture[str]) -> None:
    facts = shell.consume(TOPICS["quit"], "c", "--obey", "--show", "4", *ALL)
    shown = capsys.readouterr().out
    # What lay before the word in its partition, the word, and of the other partition as much as came before it.
    assert COUNT // 2 + 1 <= sum(facts["delivered"].values()) < 2 * COUNT
    assert f"@{COUNT // 2}  'quit'" in shown
    assert "died" not in shown
    commits = shell.rows(TOPICS["quit"], "commits")
    assert {row["outcome"] for row in commits} == {"acked"}
    behind = {row["partition"]: row["offset"] for row in sorted(commits, key=lambda row: row["committed_at"])}
    assert {f"{TOPICS['quit']}-{partition}": offset for partition, offset in behind.items()} == facts["delivered"]


def test_a_record_crash_kills_a_consumer_before_it_commits(shell: Shell, capsys: pytest.CaptureFixture[str]) -> None:
    shell.consume(TOPICS["crash"], "c", "--obey", "--commit-every", "500", *ALL)
    assert "c died by SIGKILL, as it was told to." in capsys.readouterr().out
    taken = shell.rows(TOPICS["crash"], "delivered")
    assert max(row["offset"] for row in taken) >= COUNT // 2
    assert not (shell.folder / TOPICS["crash"] / "commits").exists() or not shell.rows(TOPICS["crash"], "commits")


def test_a_record_wait_makes_a_consumer_wait_and_go_on(shell: Shell) -> None:
    facts = shell.consume(TOPICS["wait"], "c", "--obey", "--wait-command", "700", *ALL)
    assert sum(facts["delivered"].values()) >= 2 * COUNT + 2
    taken = sorted(shell.rows(TOPICS["wait"], "delivered"), key=lambda row: row["position"])
    words_at = [
        place
        for place, row in enumerate(taken[:-1])
        if row["producer"] is None and (taken[place + 1]["polled_at"] - row["polled_at"]).total_seconds() >= 0.7
    ]
    assert len(words_at) == 2
