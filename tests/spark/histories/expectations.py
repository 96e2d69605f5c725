"""The whole verdict: what the findings add up to, and what a scenario expects of them."""

from __future__ import annotations

from tests.spark.histories.book import History, allowed, expected, history, violation

UNEXPLAINED = allowed("gap", detail="unexplained")


def weakly_lost(h: History, n: int = 1, topic: str = "orders") -> None:
    """n records acked with acks=1 and cut off."""
    h.keep(topic, 0, seq=0, offset=0, acks="1", idempotent=False)
    for i in range(1, n + 1):
        h.acked(topic, 0, seq=i, offset=i, acks="1", idempotent=False)


# -- the verdict without an expectation ------------------------------------------------------------------------------


@history("nothing to say: passed", sums={"orders": {"acked": 9, "found_once": 9, "read": 9}}, verdict="passed")
def passed(h: History) -> None:
    h.kept("orders", 0, 3)


@history(
    "a violation: failed",
    violation("lost", seq=3),
    verdict="failed",
    sums={"orders": {"acked": 18, "found_once": 9, "read": 9}},
)
def failed(h: History) -> None:
    h.kept("orders", 0, 3)
    h.acked("orders", 0, seq=3, offset=3)


@history("undecided: at best unknown", undecided=1, verdict="unknown")
def unknown(h: History) -> None:
    h.keep("orders", 0, seq=0, offset=3)
    h.acked("orders", 0, seq=1, offset=None)
    h.bounds("orders", start=3)


@history("undecided and a violation: failed", violation("lost", seq=2), undecided=1, verdict="failed")
def failed_beats_unknown(h: History) -> None:
    h.keep("orders", 0, seq=0, offset=3)
    h.acked("orders", 0, seq=1, offset=None)
    h.acked("orders", 0, seq=2, offset=4)
    h.bounds("orders", start=3)


@history(
    "expected and allowed ones do not fail a run", expected("lost", 2), allowed("unacked-absent"), verdict="passed"
)
def passed_with_findings(h: History) -> None:
    weakly_lost(h, 2)
    h.unknown("orders", 0, seq=3)


@history(
    "copies are read, but found once",
    allowed("duplicated", seq=1),
    verdict="passed",
    sums={"orders": {"acked": 9, "found_once": 9, "read": 12}},
)
def sums_of_copies(h: History) -> None:
    h.kept("orders", 0, 3, idempotent=False)
    h.in_log("orders", 0, offset=3, seq=1)


@history("a partition whose bounds nobody took: unknown, even if all was found", verdict="unknown")
def no_bounds(h: History) -> None:
    h.kept("orders", 0, 1)
    h.kept("orders", 1, 1)
    h.no_bounds("orders", 1)


@history("absent there is undecided, with and without an offset", undecided=2, verdict="unknown")
def no_bounds_absent(h: History) -> None:
    h.kept("orders", 0, 1)
    h.acked("orders", 1, seq=0, offset=0)
    h.acked("orders", 1, seq=1, offset=None)
    h.no_bounds("orders", 1)


# -- counts ----------------------------------------------------------------------------------------------------------


@history("it had to happen and did", expected("lost"), verdict="passed")
def some_met(h: History) -> None:
    weakly_lost(h)
    h.anomaly("lost", count=">0")


@history("it had to happen and did not: the check may be blind", verdict="unknown")
def some_unmet(h: History) -> None:
    h.kept("orders", 0, 3)
    h.anomaly("lost", count=">0")


@history("nothing that had to happen excuses a violation", violation("phantom"), verdict="failed")
def some_unmet_but_failed(h: History) -> None:
    h.kept("orders", 0, 1)
    h.in_log("orders", 0, offset=1, seq=1)
    h.anomaly("lost", count=">0")


@history("none expected, none there", verdict="passed")
def none_met(h: History) -> None:
    h.kept("orders", 0, 3)
    h.anomaly("gap", count="0")


@history("none expected, and an allowed one is there", UNEXPLAINED, verdict="failed")
def none_exceeded(h: History) -> None:
    h.keep("orders", 0, seq=0, offset=0)
    h.keep("orders", 0, seq=1, offset=2)
    h.anomaly("gap", count="0")


@history("none expected, and an expected one is there", expected("lost"), verdict="failed")
def none_exceeded_by_weak(h: History) -> None:
    weakly_lost(h)
    h.anomaly("lost", count="0")


@history("at least two, and two are there", expected("lost", 2), verdict="passed")
def two_met(h: History) -> None:
    weakly_lost(h, 2)
    h.anomaly("lost", count=">=2")


@history("at least two, and three are there", expected("lost", 3), verdict="passed")
def two_met_by_three(h: History) -> None:
    weakly_lost(h, 3)
    h.anomaly("lost", count=">=2")


@history("at least two, and one is there", expected("lost"), verdict="unknown")
def two_unmet(h: History) -> None:
    weakly_lost(h, 1)
    h.anomaly("lost", count=">=2")


@history("any number, none among them", verdict="passed")
def any_none(h: History) -> None:
    h.kept("orders", 0, 3)
    h.anomaly("gap", count="any")


@history("any number, and one", UNEXPLAINED, verdict="passed")
def any_one(h: History) -> None:
    h.keep("orders", 0, seq=0, offset=0)
    h.keep("orders", 0, seq=1, offset=2)
    h.anomaly("gap", count="any")


@history("counted where it had to happen, not elsewhere", expected("lost", topic="bills"), verdict="unknown")
def some_elsewhere(h: History) -> None:
    h.kept("orders", 0, 1)
    weakly_lost(h, topic="bills")
    h.anomaly("lost", count=">0", topics=("orders",))


@history("forbidden here, not there", allowed("gap", topic="bills"), verdict="passed")
def none_here_one_there(h: History) -> None:
    h.kept("orders", 0, 1)
    h.keep("bills", 0, seq=0, offset=0)
    h.keep("bills", 0, seq=1, offset=2)
    h.anomaly("gap", count="0", topics=("orders",))


@history("any number of violations stays a failure", violation("lost"), verdict="failed")
def any_violation(h: History) -> None:
    h.kept("orders", 0, 1)
    h.acked("orders", 0, seq=1, offset=1)
    h.anomaly("lost", count="any")


# -- verdicts --------------------------------------------------------------------------------------------------------


@history("what the table calls a violation may be expected", expected("lost", topic="orders"), verdict="passed")
def verdict_expected(h: History) -> None:
    h.kept("orders", 0, 1)
    h.acked("orders", 0, seq=1, offset=1)
    h.anomaly("lost", count=">0", verdict="expected", topics=("orders",))


@history(
    "on the topics named only", expected("lost", topic="orders"), violation("lost", topic="bills"), verdict="failed"
)
def verdict_expected_elsewhere(h: History) -> None:
    for topic in ("orders", "bills"):
        h.kept(topic, 0, 1)
        h.acked(topic, 0, seq=1, offset=1)
    h.anomaly("lost", verdict="expected", topics=("orders",))


@history("of this anomaly only", expected("lost"), violation("phantom"), verdict="failed")
def verdict_of_other_anomaly(h: History) -> None:
    h.kept("orders", 0, 1)
    h.in_log("orders", 0, offset=1, seq=1)
    h.acked("orders", 0, seq=0, offset=9, producer="q")
    h.anomaly("lost", verdict="expected", topics=("orders",))


@history("without topics it holds everywhere", expected("lost", 2), verdict="passed")
def verdict_everywhere(h: History) -> None:
    for topic in ("orders", "bills"):
        h.kept(topic, 0, 1)
        h.acked(topic, 0, seq=1, offset=1)
    h.anomaly("lost", verdict="expected")


@history("what the table allows may be a violation", violation("duplicated"), verdict="failed")
def verdict_violation(h: History) -> None:
    h.kept("orders", 0, 1, idempotent=False)
    h.in_log("orders", 0, offset=1, seq=0)
    h.anomaly("duplicated", verdict="violation", topics=("orders",))


@history("what is weak may be a violation", violation("lost"), verdict="failed")
def verdict_violation_of_weak(h: History) -> None:
    weakly_lost(h)
    h.anomaly("lost", verdict="violation", topics=("orders",))


@history("lost in delivery may be what a scenario is about", expected("lost-in-delivery", seq=1), verdict="passed")
def verdict_lost_in_delivery(h: History) -> None:
    h.kept("orders", 0, 2)
    h.took("readers", "orders", 0, 0)
    h.commit("readers", "orders", 0, 2)
    h.anomaly("lost-in-delivery", count=">0", verdict="expected", topics=("orders",))


@history("expected and still too many", expected("lost"), verdict="failed")
def verdict_expected_but_none_wanted(h: History) -> None:
    h.kept("orders", 0, 1)
    h.acked("orders", 0, seq=1, offset=1)
    h.anomaly("lost", count="0", verdict="expected", topics=("orders",))


# -- progress --------------------------------------------------------------------------------------------------------


def three_phases(h: History, *, during: int = 2) -> None:
    """A fault from 10 to 20 s, at least three acks before it and just three after; two sends in flight as it bites."""
    h.fault(begin=10_000, bit=10_010, healed=20_000)
    times = [1_000, 1_100, 9_000, 9_990, 9_991, *(11_000 + 100 * i for i in range(during)), 21_000, 25_000, 29_000]
    times += [19_000] if during else []
    for seq, at in enumerate(sorted(times)):
        in_flight = 9_990 <= at < 10_000
        h.keep("orders", 0, seq=seq, offset=seq, at=at, done=10_050 if in_flight else at + 4)


@history("every phase long enough, acked enough, enough in flight", verdict="passed")
def progress_met(h: History) -> None:
    three_phases(h)
    h.expect["progress"] = {"acked_per_partition": 3, "phase_s": 5, "in_flight_at_bite": 2}


@history("while the fault was on nothing was acked", verdict="unknown")
def progress_dead_during(h: History) -> None:
    three_phases(h, during=0)
    h.expect["progress"] = {"acked_per_partition": 3}


@history("too few acks per partition", verdict="unknown")
def progress_trickles(h: History) -> None:
    three_phases(h)
    h.expect["progress"] = {"acked_per_partition": 4}


@history("phases too short", verdict="unknown")
def progress_short(h: History) -> None:
    three_phases(h)
    h.expect["progress"] = {"phase_s": 15}


@history("one send in flight less than wanted", verdict="unknown")
def progress_idle(h: History) -> None:
    three_phases(h)
    h.expect["progress"] = {"in_flight_at_bite": 3}


@history("just as many in flight as wanted", verdict="passed")
def progress_busy(h: History) -> None:
    three_phases(h)
    h.expect["progress"] = {"in_flight_at_bite": 2}


@history("a missed bound excuses no violation", violation("phantom"), verdict="failed")
def progress_missed_but_failed(h: History) -> None:
    three_phases(h)
    h.in_log("orders", 1, offset=0, seq=0)
    h.expect["progress"] = {"acked_per_partition": 4}
