"""Outcomes, specs, settings and the clock of workloads: the parts that need no cluster."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from confluent_kafka import KafkaError

from common.errors import KastellanError, UsageError
from validate.readback.options import java_settings
from validate.workload import producer, shape, spec
from validate.workload.clock import Clock
from validate.workload.outcome import classify
from validate.workload.settings import for_consumer, for_producer

if TYPE_CHECKING:
    from validate.workload.block import Block

ROOT = Path(__file__).resolve().parents[3]
GIVEN: dict[str, Any] = {
    "run_id": "r", "name": "w", "ledger": "somewhere", "client": {"bootstrap.servers": "127.0.0.1:1"},
    "topics": [{"name": "one", "partitions": 1}, {"name": "three", "partitions": 3}],
}  # fmt: skip


@pytest.mark.parametrize(("error", "idempotent", "retries", "outcome"), [
    (None, True, None, "acked"),
    ("_QUEUE_FULL", True, None, "refused"),
    ("_PURGE_QUEUE", True, None, "refused"),
    ("_PURGE_INFLIGHT", True, None, "unknown"),
    ("MSG_SIZE_TOO_LARGE", True, None, "refused"),
    ("TOPIC_AUTHORIZATION_FAILED", True, None, "refused"),
    ("NOT_ENOUGH_REPLICAS", False, 0, "refused"),
    ("NOT_ENOUGH_REPLICAS", False, None, "unknown"),
    ("NOT_ENOUGH_REPLICAS", False, 3, "unknown"),
    ("NOT_ENOUGH_REPLICAS", True, 0, "unknown"),
    ("NOT_ENOUGH_REPLICAS_AFTER_APPEND", False, 0, "unknown"),
    ("_MSG_TIMED_OUT", False, 0, "unknown"),
    ("_TRANSPORT", False, 0, "unknown"),
    ("REQUEST_TIMED_OUT", False, 0, "unknown"),
    ("NEVER_HEARD_OF", False, 0, "unknown"),
])  # fmt: skip
def test_outcomes_are_a_closed_table(error: str | None, idempotent: bool, retries: int | None, outcome: str) -> None:
    assert classify(error, idempotent=idempotent, retries=retries) == outcome


def test_partitions_are_dealt_in_turn() -> None:
    made = spec.ProducerSpec.parse(GIVEN)
    assert made.lanes == [("one", 0), ("three", 0), ("three", 1), ("three", 2)]


@pytest.mark.parametrize("count", [0, 1, 2, 3, 100, 1001])
def test_ids_are_covered_exactly(count: int) -> None:
    made = spec.ProducerSpec.parse({**GIVEN, "count": count})
    for topic in made.topics:
        ids = [
            seq * topic.partitions + partition
            for partition in range(topic.partitions)
            for seq in range(made.share(topic.name, partition) or 0)
        ]
        assert sorted(ids) == list(range(count))


@pytest.mark.parametrize(("more", "message"), [
    ({"record_per_s": 5}, r"unknown key 'record_per_s'[\s\S]*did you mean 'records_per_s'"),
    ({"acks": "2"}, "acks is '2'"),
    ({"acks": 1}, "acks is int"),
    ({"acks": "1"}, "idempotent needs acks all"),
    ({"max_in_flight": 6}, "at most 5 requests in flight"),
    ({"value_bytes": 50}, "has no room for its marks"),
    ({"records_per_s": 0}, "records_per_s is not above 0"),
    ({"idempotent": 1}, "idempotent is int"),
    ({"count": True}, "count is bool"),
    ({"topics": []}, "topics is empty"),
    ({"topics": [{"nam": "x"}]}, r"Wrong in the producer's spec: topics\."),
    ({"name": "x" * 21}, "does not fit into a record's value"),
])  # fmt: skip
def test_a_wrong_spec_is_told(more: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        spec.ProducerSpec.parse(GIVEN | more)


MEMBER = {"group": "g", "sink": GIVEN["topics"][0]["name"], "transactional_id": "x"}


@pytest.mark.parametrize(("kind", "more", "message"), [
    (spec.ConsumerSpec, {}, "the consumer's spec lacks group|spec lacks group"),
    (spec.ConsumerSpec, {"group": "g", "places": [["one/0"]]}, r"places is list"),
    (spec.ConsumerSpec, {"group": "g", "commit": "sometimes"}, "commit is 'sometimes'"),
    (spec.ConsumerSpec, {"group": "g", "commit": "before", "batch": 50, "commit_every": 51}, "commit_every is above the batch"),
    (spec.TransformerSpec, {**MEMBER, "acks": "1"}, "acks and idempotent contradict transactions"),
    (spec.TransformerSpec, {**MEMBER, "acks": "0"}, "acks and idempotent contradict transactions"),
    (spec.TransformerSpec, {**MEMBER, "idempotent": False}, "acks and idempotent contradict transactions"),
    (spec.ProducerSpec, {"settings": {"transactional.id": "x"}}, "settings ask for transactions, which this writer has not"),
    (spec.ProbeSpec, {"witness": "old"}, "witness is 'old'"),
    (spec.ProbeSpec, {"witness": "fresh", "kinds": ["see"]}, r"kinds is \['see'\]"),
])  # fmt: skip
def test_other_wrong_specs(kind: type[spec.Spec], more: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        kind.parse(GIVEN | more)


def test_a_spec_does_not_show_its_secrets() -> None:
    assert "hush" not in repr(spec.ProducerSpec.parse({**GIVEN, "client": {"sasl.password": "hush"}}))


@pytest.mark.parametrize("content", ["{", '{"run_id": "r"}'])
def test_the_specs_file_is_gone_whatever_it_held(tmp_path: Path, content: str) -> None:
    path = tmp_path / "spec.json"
    path.write_text(content, encoding="utf-8")
    argv = [sys.executable, "-m", "validate.workload", "producer", str(path)]
    done = subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (64, "")
    assert "spec" in done.stderr
    assert not path.exists()


def test_a_cluster_that_is_not_there_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shape, "TIMEOUT_S", 0.5)
    with pytest.raises(KastellanError, match="The cluster does not answer"):
        shape.check_topics(spec.ProducerSpec.parse({**GIVEN, "ledger": str(tmp_path)}))


def test_a_broker_that_has_not_heard_of_a_topic_yet_is_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shape, "HEARD_S", 0.5)
    wanted = spec.ProducerSpec.parse(GIVEN)
    late, wrong = (
        KafkaError(code) for code in (KafkaError.UNKNOWN_TOPIC_OR_PART, KafkaError.TOPIC_AUTHORIZATION_FAILED)
    )
    right = {topic.name: SimpleNamespace(error=None, partitions=range(topic.partitions)) for topic in wanted.topics}
    answers: list[KafkaError] = []

    def described(_admin: object, topic: str, _said: object) -> Any:
        return SimpleNamespace(error=answers.pop()) if answers else right[topic]

    monkeypatch.setattr(shape, "_describe", described)
    answers[:] = [late, late]
    shape.check_topics(wanted)
    assert answers == []
    answers[:] = [wrong, wrong]
    with pytest.raises(UsageError, match="cannot be used"):
        shape.check_topics(wanted)
    assert answers == [wrong], "what is refused is not asked again"
    answers[:] = [late] * 1000
    with pytest.raises(UsageError, match="cannot be used"):
        shape.check_topics(wanted)


def test_a_producer_without_a_cluster_ends_in_time_and_knows_nothing() -> None:
    given = {**GIVEN, "count": 30, "flush_s": 0.2}
    reserved: list[Block] = []
    sending = producer.Sending(spec.ProducerSpec.parse(given), Clock(), reserved.append)
    left = list(sending.run(lambda: False))
    assert left == reserved
    assert sum(map(len, left)) == sending.in_flight == 60
    assert {one.outcome(0) for one in left} == {("unknown", None)}


def test_an_orphan_does_not_wait_for_reports(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(producer, "ALONE_S", 0.2)
    sending = producer.Sending(spec.ProducerSpec.parse({**GIVEN, "count": 5, "flush_s": 60}), Clock(), lambda _: None)
    began_s = time.monotonic()
    assert len(list(sending.run(lambda: False, alone=lambda: True))) == 4
    assert time.monotonic() - began_s < 10


def test_settings_are_written_out_and_the_users_own_win() -> None:
    made = spec.ProducerSpec.parse({**GIVEN, "settings": {"linger.ms": 99}, "retries": 0})
    settings = for_producer(made)
    assert settings["delivery.timeout.ms"] == 120_000
    assert settings["max.in.flight.requests.per.connection"] == 5
    assert (settings["linger.ms"], settings["message.send.max.retries"]) == (99, 0)
    assert settings["retry.backoff.ms"] > made.delivery_timeout_ms, (
        "what is not tried again must not be resent uncounted"
    )
    assert settings["queue.buffering.max.messages"] > made.waiting_records
    many = made.waiting_records * 3  # so many partitions that the least of each is more than was asked for
    assert for_producer(made, many)["queue.buffering.max.messages"] > many
    reading = for_consumer(spec.ConsumerSpec.parse({**GIVEN, "group": "g"}))
    assert reading["enable.auto.commit"] is False
    assert reading["fetch.queue.backoff.ms"] <= 50, "100,000 records are taken up in less"


def test_a_pace_is_kept_and_a_stall_is_made_up_for_a_second_only(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    lane = producer.Lane(0, "one", 0, spec.ProducerSpec.parse(GIVEN), None)
    pace = producer.Pace(100.0)
    now[0] += 0.5
    assert pace.due(lane) == 50
    lane.sent = 50
    now[0] += 60
    assert pace.due(lane) == 100
    lane.sent = 150
    now[0] += 0.125
    assert pace.due(lane) == 12
    assert producer.Pace(None).due(lane) is None


def test_the_clock_does_not_jump_with_the_wall(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()
    other = Clock(clock.offset)
    before, wall = clock.now_us(), time.time_ns()
    monkeypatch.setattr(time, "time_ns", lambda: wall + 3_600_000_000_000)
    assert 0 <= other.now_us() - before < 60_000_000
    assert 3_599_000_000 < clock.drift_us() < 3_601_000_000


def test_javas_settings(tmp_path: Path) -> None:
    (tmp_path / "ca.pem").write_text("CA", encoding="ascii")
    client = {
        "bootstrap.servers": "a:1", "security.protocol": "sasl_ssl", "sasl.mechanism": "SCRAM-SHA-512",
        "sasl.username": "u", "sasl.password": 'p"\\', "ssl.ca.location": str(tmp_path / "ca.pem"),
    }  # fmt: skip
    assert java_settings(client) == {
        "bootstrap.servers": "a:1",
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "SCRAM-SHA-512",
        "sasl.jaas.config": "org.apache.kafka.common.security.scram.ScramLoginModule required"
        ' username="u" password="p\\"\\\\";',
        "ssl.truststore.certificates": "CA",
        "ssl.truststore.type": "PEM",
    }


@pytest.mark.parametrize(("more", "message"), [
    ({"sasl.mechanism": "GSSAPI"}, "cannot log in by GSSAPI"),
    ({"socket.blocking.max.ms": 1}, "does not know what 'socket.blocking.max.ms' means"),
    ({"ssl.ca.location": "/nowhere"}, "ssl.ca.location cannot be read"),
])  # fmt: skip
def test_what_java_cannot_be_told(more: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        java_settings({"bootstrap.servers": "a:1"} | more)


def test_the_parents_death_is_a_word_to_end() -> None:
    code = (
        "import time, os\nfrom validate.workload.clock import Clock\nfrom validate.workload.signs import Signs\n"
        "signs = Signs(Clock())\nprint(signs.ended(), flush=True)\n"
        "deadline = time.monotonic() + 20\n"
        "while not signs.ended() and time.monotonic() < deadline: time.sleep(0.01)\n"
        "print(signs.ended(), flush=True)\n"
    )
    shell = f"{sys.executable} -c '{code}' & sleep 1; echo parent gone"
    done = subprocess.run(
        ["bash", "-c", shell], cwd=ROOT, capture_output=True, text=True, check=False, timeout=60, env=os.environ
    )
    assert done.stdout.split() == ["False", "parent", "gone", "True"], done.stderr
