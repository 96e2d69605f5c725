"""Workloads, their ledger, the final read and the judge, on a secured cluster."""

from __future__ import annotations

import random
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from confluent_kafka import Producer

from common.wait import wait_until
from tests.system.cluster.workloads import SHAPES, Running, Workloads, in_sync, violations
from tests.system.kafka_cluster import SILENT, Cluster
from validate import readback
from validate.readback.read import kafka_records
from validate.workload import bulk
from validate.workload.clock import Clock
from validate.workload.producer import Sending
from validate.workload.seal import seal
from validate.workload.spec import ProducerSpec

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.system, pytest.mark.spark]


def test_all_kinds_at_once_leave_a_ledger_that_passes(work: Workloads, reading_spark: SparkSession) -> None:
    readers = [work.start("consumer", f"c{n}", group="kastellan-readers") for n in (1, 2)]
    writer = work.start("producer", "w1", records_per_s=1000)
    # A young cluster makes the topic of its groups first: that is no outage of these topics.
    read_to_the_end(readers, 1)
    witnesses = [work.start("probe", name, witness=name, interval_ms=500) for name in ("running", "fresh")]
    assert wait_until(lambda: all(probes_of(one) >= 20 for one in witnesses), timeout_s=60), [w.said for w in witnesses]
    writer.reaches("acked", writer.total("acked") + 3000)
    tallies = [one.end() for one in witnesses]
    sent = writer.end()
    assert sent["in_flight"] == 0
    assert not list(work.folder.glob("*.json")), "a spec with secrets was left behind"
    probed = sum(n for tally in tallies for name, n in tally["ok"].items() if name.startswith("write"))
    acked = sum(sent["acked"].values()) + probed
    read_to_the_end(readers, acked)
    for one in readers:
        one.end()
    groups = {"kastellan-readers": {"topics": list(SHAPES), "from": "earliest"}}
    bounds = {"write_s": 12, "read_s": 12}
    expect = {"groups": groups, "outage": {"fresh": bounds, "running": bounds, "topics": list(SHAPES)}}
    summary, read = work.judged(reading_spark, expect)
    assert (summary["verdict"], violations(summary), read.problems) == ("passed", {}, []), summary["reasons"]
    # A machine that is busy may let a probe wait too long, or until its witness ends: then it is of unknown outcome and
    # has no answer at all. Brokers that refuse one are another matter.
    unlike = {
        r["error"] if r["outcome"] == "failed" else r["done_at"] for r in work.rows("probes") if r["outcome"] != "ok"
    }
    assert unlike <= {"_TIMED_OUT", "_MSG_TIMED_OUT", None}
    late = sum(1 for r in work.rows("sent") if r["outcome"] == "unknown")
    assert (summary["checked"]["sent"], summary["acked"]["found"]) == (acked + late, acked)
    assert acked <= summary["checked"]["log"] <= acked + late
    assert summary["checked"]["delivered"] >= acked
    assert {(r["witness"], r["kind"]) for r in work.rows("probes")} == {
        (w, k) for w in ("running", "fresh") for k in ("write", "read")
    }
    assert len(work.rows("watermarks")) > 10


def probes_of(witness: Running) -> int:
    told: dict[str, Any] = next((said for said in reversed(witness.said) if "ok" in said), {"ok": {}})
    return int(sum(told["ok"].values()))


def read_to_the_end(readers: list[Running], count: int) -> None:
    def read() -> bool:
        return sum(one.total("delivered") for one in readers) >= count

    assert wait_until(read, timeout_s=60), [one.said[-1:] for one in readers]


@pytest.mark.parametrize("times", [4, pytest.param(50, marks=[pytest.mark.long, pytest.mark.timeout(1800)])])
def test_killed_processes_leave_no_phantom(work: Workloads, reading_spark: SparkSession, times: int) -> None:
    """SIGKILL at any moment: what is in the log is covered by the ledger, and the ledger can be read."""
    chance = random.Random(times)
    for number in range(times):
        writer = work.start("producer", f"w{number}", block_records=chance.choice([1, 7, 300]), records_per_s=2000)
        reader = work.start(
            "consumer",
            f"c{number}",
            group="kastellan-killed",
            instance_id="c",
            session_timeout_ms=6000,
            commit_every=50,
        )
        writer.reaches("acked", 1)
        reader.reaches("delivered", 1)
        writer.kill(chance.random() / 2)
        reader.kill(chance.random() / 2)
    summary, read = work.judged(reading_spark)
    assert (summary["verdict"], violations(summary), read.problems) == ("passed", {}, []), summary["findings"][:5]
    assert summary["problems"] == []
    assert summary["checked"]["acked"] >= times
    assert summary["counts"]["phantom"]["violation"] == 0
    assert summary["checked"]["foreign"] == 0
    assert {row["producer"] for row in work.rows("sent")} == {f"w{number}" for number in range(times)}


def test_a_bulk_load_covers_every_id_once(work: Workloads, reading_spark: SparkSession) -> None:
    count = 10_001
    outcomes = bulk.load(reading_spark, work.spec("load", count=count))
    assert outcomes == {"acked": count * len(SHAPES)}
    summary, _ = work.judged(reading_spark)
    assert (summary["verdict"], violations(summary)) == ("passed", {})
    for topic, partitions in work.topics.items():
        ids = sorted(r["seq"] * partitions + r["partition"] for r in work.rows("log") if r["topic"] == topic)
        assert ids == list(range(count))
        sums = summary["sums"][topic]
        assert sums["acked"] == sums["found_once"] == sums["read"]


def test_a_record_of_a_kibibyte_takes_less_than_a_system_call(cluster: Cluster, work: Workloads) -> None:
    """Over TLS each small piece that librdkafka writes is a call and a TLS record, for the broker too."""
    ours, librdkafkas = (calls_of_a_record(cluster, work, **s) for s in ({}, {"client.id": "rdkafka"}))
    assert ours < 0.65, "the client's name does not fit the way that librdkafka packs a batch any more"
    assert librdkafkas > 1, "librdkafka packs better by now: a padded name is of no use any more"


def calls_of_a_record(cluster: Cluster, work: Workloads, **settings: Any) -> float:
    spec = ProducerSpec.parse(
        {
            "run_id": "r", "name": "w1", "ledger": str(work.folder), "client": cluster.bundle("validator"), "count": 9760,
            "topics": [{"name": "kastellan-w-four", "partitions": 4}], "value_bytes": 1024, "settings": settings,
        }
    )  # fmt: skip
    sending = Sending(spec, Clock(), lambda _: None)
    before = calls_to_write()
    for _ in sending.run(lambda: False):
        pass
    assert sum(sending.acked().values()) == spec.count
    return (calls_to_write() - before) / 9760


def calls_to_write() -> int:
    """Of this process, all of its threads."""
    lines = Path("/proc/self/io").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("syscw"))


def test_nothing_secret_is_in_plans_and_event_logs(work: Workloads, reading_spark: SparkSession) -> None:
    bulk.load(reading_spark, work.spec("load", count=100))
    _, read = work.judged(reading_spark)
    records = kafka_records(reading_spark, work.client, read.bounds)
    plan = records._jdf.queryExecution().toString()
    place = reading_spark.sparkContext.getConf().get("spark.eventLog.dir")
    assert place is not None
    folder = Path(place.removeprefix("file://"))
    logs = [path for path in folder.rglob("*local-*") if path.is_file()]
    assert logs
    for text in (plan, *(path.read_text(encoding="utf-8", errors="replace") for path in logs)):
        assert work.client["sasl.password"] not in text
        assert "BEGIN" not in text


def test_a_refusal_is_told_from_doubt_and_from_delay(
    cluster: Cluster, work: Workloads, reading_spark: SparkSession
) -> None:
    """Too few replicas: a single shot gets the broker's no, an idempotent producer waits and its records arrive."""
    leader, replicas = in_sync(work.client, "kastellan-w-one")
    follower = next(host["name"] for host in cluster.document()["hosts"] if host["node_id"] in set(replicas) - {leader})
    witness = work.start("probe", "running", witness="running", interval_ms=500)
    writer = work.start("producer", "w1", records_per_s=200, flush_s=60)
    writer.reaches("acked", 100)
    cluster.lab.ssh(follower, "sudo systemctl stop kafka")
    try:
        assert wait_until(lambda: len(in_sync(work.client, "kastellan-w-one")[1]) == 1, timeout_s=60)
        before = writer.said[-1]["acked"]
        writer.reaches("acked", writer.total("acked") + 1000)
    finally:
        cluster.lab.ssh(follower, "sudo systemctl start kafka")
    after = writer.said[-1]["acked"]
    assert after["kastellan-w-one-0"] == before["kastellan-w-one-0"], "one silent partition must not hold up the others"
    assert wait_until(lambda: len(in_sync(work.client, "kastellan-w-one")[1]) == 2, timeout_s=120)
    writer.reaches("acked", writer.total("acked") + 1000)
    witness.end()
    assert writer.end()["in_flight"] == 0
    summary, read = work.judged(reading_spark)
    assert (summary["verdict"], violations(summary), read.problems) == ("passed", {}, []), summary["findings"][:5]
    seen = {(r["producer"], r["outcome"], r["error"]) for r in work.rows("sent") if r["topic"] == "kastellan-w-one"}
    assert {("running", "refused", "NOT_ENOUGH_REPLICAS"), ("w1", "acked", None)} <= seen
    assert {outcome for producer, outcome, _ in seen if producer == "w1"} == {"acked"}
    assert summary["counts"]["outage"]["allowed"] >= 1


def test_what_is_too_large_is_refused(work: Workloads) -> None:
    writer = work.start("producer", "w1", value_bytes=2_000_000, count=5, settings={"message.max.bytes": 1_500_000})
    assert writer.process.wait(60) == 0
    seal(work.ledger)
    assert {(r["outcome"], r["error"]) for r in work.rows("sent")} == {("refused", "MSG_SIZE_TOO_LARGE")}


def test_an_open_transaction_is_told(work: Workloads, reading_spark: SparkSession) -> None:
    bulk.load(reading_spark, work.spec("load", count=10))
    hanging = Producer({**work.client, "transactional.id": "kastellan-hanging"}, logger=SILENT)
    hanging.init_transactions(30)
    hanging.begin_transaction()
    hanging.produce("kastellan-w-one", b"x", partition=0)
    hanging.flush(30)
    found = readback.read(reading_spark, work.client, list(work.topics.items()), work.ledger, wait_s=2)
    assert found.problems == ["kastellan-w-one-0 has an open transaction: 1 offsets are not decided"]
    hanging.abort_transaction(30)
    found = readback.read(reading_spark, work.client, list(work.topics.items()), work.ledger, wait_s=30)
    assert found.problems == []
    assert len([r for r in work.rows("log") if r["topic"] == "kastellan-w-one"]) == 10


@pytest.mark.parametrize(("kind", "more"), [
    ("producer", {}),
    ("consumer", {"group": "kastellan-g"}),
    ("probe", {"witness": "fresh"}),
])  # fmt: skip
def test_a_topic_that_is_not_there_or_not_allowed_is_told_at_once(
    work: Workloads, kind: str, more: dict[str, Any]
) -> None:
    work.topics = {"kastellan-w-none": 1}
    one = work.start(kind, "x", **more)
    assert one.process.wait(60) != 0
    text = one.out.read_text(encoding="utf-8")
    assert "kastellan-w-none" in text
    assert "Traceback" not in text
    assert work.client["sasl.password"] not in text
