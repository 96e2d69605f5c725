"""A ledger by hand is about one topic as it is; what was done since it was read is never left out; and what is shown."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from confluent_kafka import KafkaError

from common.errors import EXIT_USAGE, UsageError
from tests.unit.validate.test_workplace import future
from validate import output
from validate.__main__ import main
from validate.hand import bench, read_back, watch
from validate.run.processes import Workload
from validate.scenario import Topic


def run_of(folder: Path, topic: Topic, identity: str) -> str:
    return bench._run_of(folder, bench.known_of(folder), topic, identity, "validator")


def test_one_folder_is_one_run_about_one_topic(tmp_path: Path) -> None:
    first = run_of(tmp_path, Topic("t", 3, 1, {}), "id-1")
    assert run_of(tmp_path, Topic("t", 3, 1, {}), "id-1") == first
    assert len(first) <= 28
    with pytest.raises(UsageError, match="is about t as it was"):
        run_of(tmp_path, Topic("t", 4, 1, {}), "id-1")
    with pytest.raises(UsageError, match="is about t as it was") as told:
        run_of(tmp_path, Topic("t", 3, 1, {}), "id-2")
    assert told.value.details == "The topic was removed and made anew since; what it held is gone."


def test_a_folder_that_can_be_none_of_a_ledger_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(UsageError, match="is no folder of a ledger"):
        run_of(tmp_path / "file", Topic("t", 3, 1, {}), "id-1")
    with pytest.raises(UsageError, match="No ledger can be kept in"):
        run_of(Path("/proc/x"), Topic("t", 3, 1, {}), "id-1")
    (tmp_path / "hand.json").write_text("[]")
    with pytest.raises(UsageError, match="is no folder of a ledger"):
        run_of(tmp_path, Topic("t", 3, 1, {}), "id-1")


def test_a_topic_is_made_for_no_ledger_of_another(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run_of(tmp_path, Topic("other", 3, 1, {}), "id-1")
    place = SimpleNamespace(check_login=lambda: None, make=lambda _: pytest.fail("a topic was made"))
    monkeypatch.setattr(bench, "Workplace", lambda *_: place)
    with pytest.raises(UsageError, match="is about other as it was"):
        bench.prepare(SimpleNamespace(), user="u", topic="t", make=(3, 2), ledger=tmp_path)  # type: ignore[arg-type]


@pytest.mark.parametrize(("code", "told"), [
    (KafkaError.TOPIC_AUTHORIZATION_FAILED, "Describe on t"),
    (KafkaError.UNKNOWN_TOPIC_OR_PART, "There is no topic t for user 'u'"),
    (KafkaError._TIMED_OUT, "Topic t cannot be looked at"),
])  # fmt: skip
def test_a_topic_that_is_not_there_is_told_from_one_that_may_not_be_seen(
    code: int, told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    admin = SimpleNamespace(describe_topics=lambda *_, **__: {"t": future(error=code)})
    monkeypatch.setattr(bench, "AdminClient", lambda *_, **__: admin)

    def missing(right: str, _: str, name: str) -> UsageError:
        return UsageError(f"{right} on {name}")

    place: Any = SimpleNamespace(settings={}, user="u", missing=missing)
    with pytest.raises(UsageError, match=told):
        bench._look(place, "t")


def test_what_was_done_since_the_topic_was_read_is_not_left_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    run_of(tmp_path, Topic("t", 3, 1, {}), "id-1")
    read_back.require_read(tmp_path)  # nobody did anything yet
    (tmp_path / "journals").mkdir()
    journal = tmp_path / "journals" / "producer-1.journal"
    journal.touch()
    assert main(["judge", str(tmp_path)]) == EXIT_USAGE
    assert "--read-back" in capsys.readouterr().err
    read(tmp_path, monkeypatch, "id-1")
    read_back.require_read(tmp_path)
    journal.write_bytes(b"more")
    with pytest.raises(UsageError, match=r"Not all of .* was read back"):
        read_back.require_read(tmp_path)


def read(folder: Path, monkeypatch: pytest.MonkeyPatch, identity: str) -> None:
    """Read back while the topic has that identity."""
    monkeypatch.setattr("validate.workplace.Workplace", lambda *_: None)
    monkeypatch.setattr(bench, "_look", lambda *_, **__: (3, identity))
    monkeypatch.setattr("validate.workload.seal.seal", lambda _: None)
    monkeypatch.setattr("validate.readback.read", lambda *_, **__: SimpleNamespace(problems=[]))
    cluster: Any = SimpleNamespace(admin_user="admin", client=lambda _: {})
    nothing: Any = None
    assert read_back.read_back(nothing, cluster, folder) == []


def test_a_topic_that_was_made_anew_is_not_read_for_the_one_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All that was acknowledged before would be told as lost."""
    run_of(tmp_path, Topic("t", 3, 1, {}), "id-1")
    with pytest.raises(UsageError, match="is about t as it was") as told:
        read(tmp_path, monkeypatch, "id-2")
    assert told.value.details == "The topic was removed and made anew since; what it held is gone."


def test_each_ledger_by_hand_has_findings_of_its_own(tmp_path: Path) -> None:
    for name in ("one", "two"):
        run_of(tmp_path / name, Topic(name, 3, 1, {}), "id-1")
    places = [output.place_beside(str(tmp_path / name)) for name in ("one", "two")]
    assert places == [str(tmp_path / "findings-one"), str(tmp_path / "findings-two")]


def test_the_line_on_the_terminal_adds_up() -> None:
    one = Workload("producer", "w", None, Path("log"))  # type: ignore[arg-type]
    one.facts = {"acked": {"t-0": 1500, "t-1": 500}, "in_flight": 7, "failed": {"MSG_SIZE_TOO_LARGE": 2}}
    line = "w  2,000 acked, 7 in flight, 2 MSG_SIZE_TOO_LARGE, 1,000 a second  [t-0 1,500, t-1 500]"
    assert watch.line_of("producer", one, 2.0) == line
    reader = Workload("consumer", "c", None, Path("log"))  # type: ignore[arg-type]
    assert watch.line_of("consumer", reader, 0.0) == "c  0 delivered, 0 a second  []"
    reader.owned_at, reader.owned = datetime.now(UTC), ["t-0", "t-1"]
    reader.facts = {"delivered": {"t-0": 5}, "errors": ["a", "_MAX_POLL_EXCEEDED: x", "commit: y"]}
    line = "c  5 delivered, 5 a second  [t-0 5]  has t-0, t-1  last errors: _MAX_POLL_EXCEEDED: x; commit: y"
    assert watch.line_of("consumer", reader, 1.0) == line
    told = {"topic": "t", "partition": 0, "offset": 7, "sender": "producer-1", "seq": 3, "value": "K"}
    assert watch._record(told) == "t-0@7  producer-1 #3  'K'"
    assert watch._record({**told, "sender": None, "seq": None, "value": "quit"}) == "t-0@7  'quit'"
