"""What was spoilt on purpose on a live cluster, the judge names: otherwise its silence elsewhere would say nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from common.wait import wait_until
from tests.system.cluster.liars import EVERY
from tests.system.cluster.workloads import drop_topics, host_of, in_sync, make_topics, spoil, violations

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tests.system.cluster.workloads import Workloads
    from tests.system.kafka_cluster import Cluster

pytestmark = [pytest.mark.system, pytest.mark.spark]

LIARS = "tests.system.cluster.liars"
CUT = "kastellan-w-cut"


def test_a_byte_flipped_on_the_disk_is_unreadable_from_there(
    cluster: Cluster, work: Workloads, reading_spark: SparkSession
) -> None:
    """Behind the broker's back, on the leader: what is before can be read, what is after is nobody's loss to claim."""
    write(work, 5000)
    flipped = spoil(cluster, in_sync(work.client, "kastellan-w-one")[0], "kastellan-w-one", "flip")
    summary, read = work.judged(reading_spark)
    broken = next(one for one in read.bounds if one.topic == "kastellan-w-one")
    assert 0 < flipped < broken.end_offset
    assert broken.read_to == flipped
    assert read.problems == [f"kastellan-w-one-0 is unreadable from offset {broken.read_to}"]
    assert (summary["verdict"], violations(summary)) == ("failed", {"unreadable": 1})
    assert summary["acked"]["undecided"] == broken.end_offset - flipped
    assert summary["acked"]["lost"] == 0


@pytest.mark.long
def test_a_byte_flipped_under_a_mended_checksum_is_corrupt(
    cluster: Cluster, work: Workloads, reading_spark: SparkSession
) -> None:
    """No client and no broker can see it; the value's own checksum can."""
    write(work, 5000)
    flipped = spoil(cluster, in_sync(work.client, "kastellan-w-one")[0], "kastellan-w-one", "mend")
    summary, read = work.judged(reading_spark)
    assert read.problems == []
    assert (summary["verdict"], violations(summary)) == ("failed", {"corrupt": 1})
    (finding,) = [one for one in summary["findings"] if one["anomaly"] == "corrupt"]
    assert (finding["topic"], finding["partition"]) == ("kastellan-w-one", 0)
    assert finding["offset"] >= flipped
    assert summary["acked"]["lost"] == 0


@pytest.mark.long
def test_a_tail_that_a_dying_machine_took_along_is_lost(
    cluster: Cluster, work: Workloads, reading_spark: SparkSession
) -> None:
    """The only copy, acknowledged and never flushed: the process dies, and its last pages with it."""
    try:
        make_topics(work.client, {CUT: (1, 1)}, **{"min.insync.replicas": "1"})
        work.topics = {CUT: 1}
        count = sum(write(work, 3000).values())
        leader, _ = in_sync(work.client, CUT)
        host = host_of(cluster, leader)
        cluster.lab.ssh(host, "sudo systemctl kill -s KILL kafka && sudo systemctl stop kafka")
        try:
            cut = spoil(cluster, leader, CUT, "cut")
        finally:
            cluster.lab.ssh(host, "sudo systemctl start kafka")
        assert wait_until(lambda: in_sync(work.client, CUT) == (leader, [leader]), timeout_s=120)
        summary, read = work.judged(reading_spark)
        assert read.problems == []
        assert 0 < cut < count
        assert (summary["verdict"], violations(summary)) == ("failed", {"lost": count - cut})
        assert {one["offset"] for one in summary["findings"]} <= set(range(cut, count))
        assert summary["acked"] == {**summary["acked"], "found": cut, "lost": count - cut}
    finally:
        drop_topics(work.client, [CUT])


@pytest.mark.long
def test_a_producer_that_lies_about_acknowledgements_is_found_out(work: Workloads, reading_spark: SparkSession) -> None:
    count = sum(write(work, 5000, module=LIARS).values())
    summary, read = work.judged(reading_spark)
    assert read.problems == []
    lies = summary["acked"]["lost"]
    assert count // EVERY <= lies <= count // EVERY + 1
    assert (summary["verdict"], violations(summary)) == ("failed", {"lost": lies})
    assert summary["checked"]["log"] == count - lies


@pytest.mark.long
def test_a_consumer_that_skips_is_found_out(work: Workloads, reading_spark: SparkSession) -> None:
    written = write(work, 5000)
    reader = work.start("consumer", "c1", module=LIARS, group="kastellan-skips", commit="after")
    reader.reaches("delivered", sum(count - count // EVERY for count in written.values()))
    reader.end()
    summary, read = work.judged(reading_spark, {"groups": {"kastellan-skips": {"topics": list(work.topics)}}})
    assert read.problems == []
    # One at the very end is no jump, and nothing is committed past it.
    skipped = sum((count - 1) // EVERY for count in written.values())
    assert violations(summary) == {"lost-in-delivery": skipped, "poll-skip": skipped}


def write(work: Workloads, count: int, module: str = "validate.workload") -> dict[str, int]:
    """How many were acknowledged, to everybody's knowledge, by partition."""
    writer = work.start("producer", "w1", module=module, records_per_s=2000, linger_ms=20)
    writer.reaches("acked", count)
    done = writer.end()
    assert done["in_flight"] == 0
    return dict(done["acked"])
