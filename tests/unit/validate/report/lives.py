"""The runs that tests look at: the scenarios of an evening on which not all went well."""

from __future__ import annotations

from typing import Any

from tests.unit.validate.report.runs import TOPICS, Lived, finding

BOUND = {"fresh": {"write_s": 12, "read_s": 12}, "running": {"write_s": 24, "read_s": 24}}
LOST = 1_500  # more than a judgement shows, so that paging and "the first" are seen


def baseline(**more: Any) -> Lived:
    return Lived(
        "baseline", "Paced load, no fault", "passed", expect={"anomalies": {"lost": {"count": "0"}}},
        explanation="Nothing is broken, so nothing may be lost, repeated or late.", **more,
    )  # fmt: skip


def stopped(**more: Any) -> Lived:
    stalls = {("Topic_One", 0): (12.5, 33.0), ("Topic_Three", 1): (12.5, 33.2), ("Topic_Four", 0): (12.5, 13.4)}
    outages = [
        finding("outage", "allowed", topic, partition, detail=f"{witness} write [{low:.3f} s, {high:.3f} s] stop broker-2")
        for (topic, partition), (since, until) in stalls.items()
        for witness, low, high in (("fresh", until - since - 0.3, until - since + 0.5), ("running", until - since - 0.1, until - since + 0.3))
    ]  # fmt: skip
    return Lived(
        "stop-one-broker", "Stop one of four brokers, then start it", "passed", begin_s=60, stalls=stalls,
        faults=[("stop", "broker-2", 12.0, 12.4, 32.0)], findings=outages,
        expect={"anomalies": {"lost": {"count": "0"}}, "outage": {**BOUND, "topics": ["Topic_Four"]}},
        explanation=(
            "Topic_One and Topic_Three have two replicas and min.insync.replicas=2: with one of them gone a partition"
            " refuses writes until it is back, which is what the settings promise.\nTopic_Four has three and goes on."
        ),
        **more,
    )  # fmt: skip


def killed(lost: int = LOST, **more: Any) -> Lived:
    gone = [
        finding(
            "lost", "violation", "Topic_Four", i % 4, producer="load-0", seq=700 + i, attempt=0, offset=700 + i,
            detail="truncated" if i % 3 else "hole",
        )
        for i in range(lost)
    ]  # fmt: skip
    gone += [
        finding("gap", "allowed", "Topic_Four", i, offset=700, detail="unexplained", note="375 offsets")
        for i in range(4)
    ]
    stalls = {("Topic_Four", i): (12.0, 22.0 + i) for i in range(2)}
    slow = finding("outage", "violation", "Topic_Four", 1, detail="fresh write [10.700 s, 13.100 s] kill broker-3")
    return Lived(
        "kill-leader", "SIGKILL the leader of Topic_Four-0", "failed", begin_s=130, stalls=stalls,
        faults=[("kill", "broker-3", 12.0, 12.05, 26.0)], findings=[*gone, slow], lost=lost, repeated=0,
        reasons=["lost was to happen at most 0 times, seen 1500"],
        expect={"anomalies": {"lost": {"count": "0"}}, "outage": BOUND},
        explanation="acks=all and two in-sync replicas: one death loses nothing that was acknowledged.", **more,
    )  # fmt: skip


def isolated(**more: Any) -> Lived:
    return Lived(
        "isolate-leader", "Cut the leader off from its peers, <both> ways & back", "unknown", begin_s=200, ends_s=18.0,
        faults=[("isolate", "broker-1", 12.0, 12.3, 30.0), ("isolate", "broker-4", 14.0, 14.2, None)],
        stalls={("Topic_Three", 0): (12.3, 60.0), ("Topic_Three", 2): (14.0, 60.0)},
        refusing={("Topic_Three", 2)},
        reasons=["The producer load-0 ended by itself (exit code 137) at 07:03:38.", "progress: phase after acked 0"],
        expect={"progress": {"acked_per_partition": 200, "phase_s": 10}}, **more,
    )  # fmt: skip


def skipped(**more: Any) -> Lived:
    return Lived(
        "kill-coordinator", "SIGKILL the group coordinator", "not-applicable", begin_s=260,
        reasons=["This cluster is not ours and faults_allowed is false."], **more,
    )  # fmt: skip


def evening() -> list[Lived]:
    return [baseline(), stopped(), killed(), isolated(), skipped()]


PARTITIONS = sum(TOPICS.values())
