"""The hand tools before records flow: what contradicts itself is told, and every knob reaches the client."""

from __future__ import annotations

import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from common.errors import EXIT_USAGE, UsageError
from tests.unit.validate.control import described
from tests.unit.validate.test_workplace import answering
from validate import groups
from validate.__main__ import main, parser
from validate.hand import bench, watch
from validate.quorum import ClusterSilent
from validate.run.processes import Workload
from validate.scenario import Topic
from validate.verbs import consume, produce
from validate.workload import producer
from validate.workload.settings import for_consumer
from validate.workload.spec import ConsumerSpec, ProducerSpec

REFERENCE = Path(__file__).resolve().parents[3] / "docs" / "reference" / "validate.md"
SHARED: dict[str, Any] = {
    "run_id": "r", "name": "n", "ledger": "l", "client": {}, "topics": [{"name": "t", "partitions": 2}],
}  # fmt: skip


def asked(*words: str) -> Any:
    return parser().parse_args([*words])


@pytest.mark.parametrize(("words", "what"), [
    (["consume", "--topic", "t", "--commit-every", "600"], "A commit every 600 records, and a batch has 500."),
    (["consume", "--topic", "t", "--commit-ahead", "60", "--poll-size", "50"], "A commit every 60"),
    (["consume", "--topic", "t", "--session", "6000", "--heartbeat", "3000"], "too rare for a session of 6000 ms"),
    (["consume", "--topic", "t", "--commit-every", "5", "--commit-never"], "not allowed with"),
    (["consume", "--topic", "t", "--return"], "--return as whom?"),
    (["consume", "--topic", "t", "--max-poll", "5000"], "--max-poll 5000 is shorter than the session of 45000 ms."),
    (["consume", "--topic", "t", "--assignment", "sticky", "--auto-commit", "5"], "--assignment sticky goes with commits behind the work or none"),
    (["consume", "--topic", "t", "--assignment", "sticky", "--commit-ahead", "5"], "--assignment sticky goes with commits behind the work or none"),
    (["consume", "--topic", "t", "--assignment", "sticky", "--least-fetch", "5"], "without --least-fetch"),
    (["produce", "--topic", "t", "--acks", "1"], "Idempotence needs --acks all, --max-in-flight 5 or less, and retries."),
    (["produce", "--topic", "t", "--max-in-flight", "1000"], "--max-in-flight 5 or less"),
    (["produce", "--topic", "t", "--retries", "0"], "and retries"),
    (["produce", "--topic", "t", "--delivery-timeout", "5"], "--delivery-timeout 5 is over before --linger 5 is"),
    (["produce", "--topic", "t", "--value-bytes", "10"], "Argument --value-bytes: 10 is not within 87 to 999,000"),
    (["produce", "--topic", "t", "--rolls", "-1"], "Argument --rolls: -1 is not within 0 to 1,000,000,000"),
    (["produce", "--topic", "t", "--records", "0"], "Argument --records: 0 is not within 1 to 1,000,000,000"),
    (["produce"], "--topic"),
    (["judge", "DIR", "--read-back"], "There is no cluster of stack"),
])  # fmt: skip
def test_what_contradicts_itself_is_told_before_anything_is_asked(
    words: list[str], what: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("validate.cluster.HOME", tmp_path)
    assert main([str(tmp_path) if word == "DIR" else word for word in words]) == EXIT_USAGE
    assert what in capsys.readouterr().err


@pytest.mark.parametrize("words", [
    ["produce", "--linger", "-5"], ["produce", "--batch", "0"], ["produce", "--request-timeout", "0"],
    ["produce", "--backoff", "-1"], ["produce", "--wait-roll", "-1"], ["produce", "--value-bytes", "2000000"],
    ["produce", "--wait-send", "nan"], ["produce", "--wait-send", "inf"], ["produce", "--records", "some"],
    ["produce", "--id", "a/b"], ["produce", "--id", "../x"], ["produce", "--id", "a-name-of-21-letters-x"],
    ["produce", "--make", "99999999:3"],
    ["consume", "--auto-commit", "-1"], ["consume", "--auto-commit", "0"], ["consume", "--session", "0"],
    ["consume", "--session", "99999999"], ["consume", "--heartbeat", "0"], ["consume", "--heartbeat", "-100"],
    ["consume", "--least-fetch", "0"], ["consume", "--wait-record", "-5"], ["consume", "--count", "0"],
    ["consume", "--show", "-1"], ["consume", "--poll-period", "-1"], ["consume", "--poll-size", "999999999"],
    ["consume", "--instance-id", ""], ["consume", "--group", " "], ["consume", "--commit-every", "0"],
], ids=" ".join)  # fmt: skip
def test_numbers_and_names_without_sense_are_told_by_the_option_at_once(
    words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(bench, "Workplace", lambda *_: pytest.fail("the cluster was asked"))
    path = described(tmp_path)
    assert main([words[0], "--cluster", str(path), "--topic", "t", *words[1:]]) == EXIT_USAGE
    assert words[1] in capsys.readouterr().err


@pytest.mark.parametrize("topic", ["", "kastellan bad", "..", "a/b", "x" * 250])
def test_a_name_that_no_topic_can_have_is_told(topic: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["produce", "--topic", topic]) == EXIT_USAGE
    assert "is no name of a topic" in capsys.readouterr().err


def test_a_topic_has_a_shape() -> None:
    from validate.verbs.hand import shape_of  # noqa: PLC0415

    assert shape_of("3:2") == (3, 2)
    for wrong in ("3", "3:", "a:b", "0:1"):
        with pytest.raises(UsageError, match="no shape of a topic"):
            shape_of(wrong)


@pytest.mark.parametrize(("words", "commits"), [
    ([], ("after", consume.RARELY, 0.0)),
    (["--commit-batch"], ("after", consume.RARELY, 0.0)),
    (["--commit-every", "50"], ("after", 50, float(consume.RARELY))),
    (["--commit-ahead", "50"], ("before", 50, 1000.0)),
    (["--commit-never"], ("never", 500, 1000.0)),
    (["--auto-commit", "700"], ("auto", 500, 700.0)),
])  # fmt: skip
def test_each_way_to_commit_reaches_the_member(words: list[str], commits: tuple[str, int, float]) -> None:
    spec = ConsumerSpec.parse({**SHARED, **consume.spec_of(asked("consume", "--topic", "t", *words))})
    assert (spec.commit, spec.commit_every, spec.commit_interval_ms) == commits
    assert for_consumer(spec)["enable.auto.commit"] is (spec.commit == "auto")


def test_brokers_assign_by_the_protocol_of_kip_848() -> None:
    words = ("consume", "--topic", "t", "--assignment", "broker", "--least-fetch", "9")
    settings = for_consumer(ConsumerSpec.parse({**SHARED, **consume.spec_of(asked(*words))}))
    assert (settings["group.protocol"], settings["fetch.min.bytes"]) == ("consumer", 9)
    assert not {"session.timeout.ms", "heartbeat.interval.ms", "partition.assignment.strategy"} & settings.keys()


@pytest.mark.parametrize("way", ["range", "roundrobin", "cooperative-sticky"])
def test_each_way_to_assign_reaches_librdkafka(way: str) -> None:
    words = ("consume", "--topic", "t", "--assignment", way, "--session", "6000", "--max-poll", "9000")
    settings = for_consumer(ConsumerSpec.parse({**SHARED, **consume.spec_of(asked(*words))}))
    assert (settings["partition.assignment.strategy"], settings["group.protocol"]) == (way, "classic")
    assert (settings["session.timeout.ms"], settings["max.poll.interval.ms"]) == (6000, 9000)


@pytest.mark.parametrize(
    ("words", "commit"), [([], "after"), (["--commit-every", "9"], "after"), (["--commit-never"], "never")]
)
def test_the_eager_sticky_member_is_had_by_hand_too(words: list[str], commit: str) -> None:
    spec = ConsumerSpec.parse(
        {**SHARED, **consume.spec_of(asked("consume", "--topic", "t", "--assignment", "sticky", *words))}
    )
    assert (spec.assignment, spec.protocol, spec.commit, spec.commit_on_revoke) == ("sticky", "classic", commit, False)


# Of the lab that these tools are for: what it asks for, by the word that gives it.
KNOBS = {
    "produce": {
        "--rolls", "--records", "--wait-roll", "--wait-send", "--id", "--acks", "--max-in-flight", "--no-idempotence",
        "--batch", "--linger", "--retries", "--delivery-timeout", "--request-timeout", "--backoff",
    },
    "consume": {
        "--group", "--instance-id", "--auto-commit", "--commit-every", "--commit-batch", "--poll-size", "--assignment",
        "--heartbeat", "--session", "--from", "--wait-fetch", "--wait-batch", "--wait-record", "--wait-command",
        "--poll-period", "--least-fetch", "--show", "--obey", "--id",
    },
}  # fmt: skip


@pytest.mark.parametrize("verb", KNOBS)
def test_every_knob_of_the_lab_is_there_and_in_the_reference(verb: str) -> None:
    (verbs,) = (action.choices for action in parser()._actions if isinstance(action.choices, dict))
    words = {word for action in verbs[verb]._actions for word in action.option_strings}
    shown = words - {"-h", "--help", "--stack", "--cluster"}
    assert shown >= KNOBS[verb]
    told = set(re.findall(r"--[a-z-]+", REFERENCE.read_text(encoding="utf-8").partition("## By hand")[2]))
    assert told >= shown - {"--topic", "--user"}


def test_rolls_and_waits_reach_the_producer() -> None:
    words = ("produce", "--topic", "t", "--rolls", "3", "--records", "20", "--wait-roll", "50", "--wait-send", "2")
    spec = ProducerSpec.parse({**SHARED, **produce.spec_of(asked(*words, "--backoff", "300"))})
    assert (spec.count, spec.roll_records, spec.roll_wait_ms, spec.records_per_s) == (60, 20, 50, 500)
    assert spec.settings["retry.backoff.ms"] == 300


@pytest.mark.parametrize(("words", "count"), [([], 1000), (["--rolls", "0"], None), (["--records", "7"], 7)])
def test_a_producer_by_hand_ends_unless_no_end_is_asked_for(words: list[str], count: int | None) -> None:
    spec = ProducerSpec.parse({**SHARED, **produce.spec_of(asked("produce", "--topic", "t", *words))})
    assert spec.count == count


def test_a_short_session_brings_heartbeats_that_fit_it() -> None:
    spec = ConsumerSpec.parse({**SHARED, **consume.spec_of(asked("consume", "--topic", "t", "--session", "6000"))})
    assert spec.heartbeat_ms == 2000


def test_a_roll_is_sent_and_waited_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    now_s = [100.0]
    monkeypatch.setattr("validate.workload.producer.time.monotonic", lambda: now_s[0])
    lanes: list[Any] = [SimpleNamespace(number=n, sent=0) for n in range(2)]
    rolls = producer.Rolls(producer.Pace(None), lanes, 10, 5.0)

    def round_() -> list[int]:
        taken = []
        for lane in lanes:
            due = rolls.due(lane) or 0
            lane.sent += due
            taken.append(due)
        return taken

    assert round_() == [5, 5]
    assert round_() == [0, 0]
    now_s[0] += 4.9
    assert round_() == [0, 0]
    now_s[0] += 0.2
    assert round_() == [5, 5]
    assert round_() == [0, 0]


def test_who_may_not_write_is_told_before_the_first_record(monkeypatch: pytest.MonkeyPatch) -> None:
    """Asked for by each tool itself: writing of one, reading of the other, and of its group."""
    wanted: list[tuple[Any, ...]] = []

    def refuse(topics: Any, group: str | None, *, needed: tuple[str, ...]) -> None:
        wanted.append(([topic.name for topic in topics], group, needed))
        raise UsageError(f"User 'v' lacks the right {needed[0].capitalize()} on Topic t.")

    found = bench.Bench(SimpleNamespace(check_rights=refuse), Topic("t", 1, 1, {}), None, "r")  # type: ignore[arg-type]
    monkeypatch.setattr(produce, "bench_of", lambda _: found)
    monkeypatch.setattr(consume, "bench_of", lambda _: found)
    monkeypatch.setattr(watch, "run", lambda *_, **__: pytest.fail("a client was started"))
    with pytest.raises(UsageError, match="lacks the right Write on Topic t"):
        produce.run(asked("produce", "--topic", "t"))
    with pytest.raises(UsageError, match="lacks the right Write on Topic t"):
        produce.run(asked("produce", "--topic", "t", "--say", "quit"))
    with pytest.raises(UsageError, match="lacks the right Read on Topic t"):
        consume.run(asked("consume", "--topic", "t", "--group", "g"))
    assert wanted == [(["t"], None, ("WRITE", "DESCRIBE"))] * 2 + [(["t"], "g", ("READ", "DESCRIBE"))]


def test_what_only_kraft_has_is_told_before_anything_is_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(consume, "bench_of", lambda _: pytest.fail("the cluster was asked"))
    path = described(tmp_path, mode="zookeeper")
    with pytest.raises(UsageError, match="--assignment broker is for mode kraft, this is zookeeper"):
        consume.run(asked("consume", "--cluster", str(path), "--topic", "t", "--assignment", "broker"))


@pytest.mark.parametrize(
    ("session", "least_ms", "refused"), [("500", 6000, True), ("500", 500, False), ("6000", 0, False)]
)
def test_a_session_that_brokers_forbid_is_told_before_anybody_joins(
    session: str, least_ms: int, refused: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("validate.admin.Admin", lambda _: SimpleNamespace(least_session_ms=lambda: least_ms))
    one = asked("consume", "--cluster", str(described(tmp_path)), "--topic", "t", "--session", session)
    if not refused:
        consume._check_least_session(one)
        return
    with pytest.raises(UsageError, match=r"Brokers let no member have a session below 6000 ms\."):
        consume._check_least_session(one)


def test_a_rate_is_of_the_time_in_which_it_worked() -> None:
    """Neither the start of its Python nor its end."""
    one = Workload("producer", "w", None, Path("log"))  # type: ignore[arg-type]
    one.told_s = 900.0
    assert one.worked_s == 0
    one.ready_s = 890.0
    one.ready.set()
    assert one.worked_s == 10


def member(instance_id: str | None) -> Any:
    return {"group_instance_id": instance_id, "client_id": "rdkafka", "client_host": "/198.18.0.1"}


def test_nobody_is_pushed_out_of_a_group_by_accident() -> None:
    bench.refuse_members("g", [], instance_id="one", join=False)
    bench.refuse_members("g", [member(None), member("two")], instance_id="one", join=True)
    with pytest.raises(UsageError, match=r"Group g is in use: it has 1 member\."):
        bench.refuse_members("g", [member(None)], instance_id=None, join=False)
    with pytest.raises(UsageError, match="has a living member with the instance id 'one'"):
        bench.refuse_members("g", [member("one")], instance_id="one", join=True)


def test_who_is_dead_may_come_back_under_its_name_alone() -> None:
    bench.refuse_members("g", [member("one")], instance_id="one", join=False, back=True)
    bench.refuse_members("g", [member("one"), member("two")], instance_id="one", join=True, back=True)
    with pytest.raises(UsageError, match=r"Group g is in use: it has 1 member\."):
        bench.refuse_members("g", [member("one"), member("two")], instance_id="one", join=False, back=True)
    with pytest.raises(UsageError, match=r"Group g is in use: it has 2 members\."):
        bench.refuse_members("g", [member("one"), member("two")], instance_id="three", join=False, back=True)


def of_groups(monkeypatch: pytest.MonkeyPatch, error: str | None, *states: str) -> Any:
    """A bench whose coordinator says of group g what kafka-python 3.0.12 makes of a broker's answer."""
    there = [{"group_id": name, "group_state": state} for name in ("other", "g") for state in states or ("Stable",)]
    client = SimpleNamespace(
        describe_groups=lambda groups: {groups[0]: {"error": error, "members": [] if error else [member("one")]}},
        list_groups=lambda: there if states else there[:1],
    )
    monkeypatch.setattr(groups, "asked", answering(client))
    return SimpleNamespace(place=SimpleNamespace(settings={}))


GONE = "[Error 69] GroupIdNotFoundError: Group g not found."


def test_a_group_of_kip_848_is_in_use_though_it_is_not_described(monkeypatch: pytest.MonkeyPatch) -> None:
    for state in ("Stable", "Assigning", "Reconciling"):
        found = of_groups(monkeypatch, GONE, state)
        with pytest.raises(UsageError, match=r"Group g is in use\."):
            bench.check_group(found, "g", instance_id=None, join=False)
        bench.check_group(found, "g", instance_id=None, join=True)
        with pytest.raises(UsageError, match="living member with the instance id 'one' is not known"):
            bench.check_group(found, "g", instance_id="one", join=True)
        bench.check_group(found, "g", instance_id="one", join=True, back=True)
        bench.check_group(found, "g", instance_id="one", join=True, guarded=True)
    for states in (("Empty",), ("Dead",), ()):
        bench.check_group(of_groups(monkeypatch, GONE, *states), "g", instance_id="one", join=False)


def test_a_coordinator_that_tells_an_error_has_not_said_that_nobody_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    for error in ("[Error 14] CoordinatorLoadInProgressError: ", "[Error 30] GroupAuthorizationFailedError: "):
        with pytest.raises(ClusterSilent, match="does not say what was asked") as told:
            bench.check_group(of_groups(monkeypatch, error), "g", instance_id=None, join=False)
        assert error.strip() in str(told.value)
    with pytest.raises(UsageError, match=r"Group g is in use: it has 1 member\."):
        bench.check_group(of_groups(monkeypatch, None), "g", instance_id=None, join=False)


def test_a_name_belongs_to_one_life(tmp_path: Path) -> None:
    (tmp_path / "journals").mkdir()
    assert bench.free_name(tmp_path, None, "producer") == "producer-1"
    (tmp_path / "journals" / "producer-1.journal").touch()
    assert bench.free_name(tmp_path, None, "producer") == "producer-2"
    with pytest.raises(UsageError, match="There was a client 'producer-1'"):
        bench.free_name(tmp_path, "producer-1", "producer")
