"""Probes: when the cluster did not serve, how long, and whether it came back."""

from __future__ import annotations

from typing import Any

from tests.spark.histories.book import History, allowed, history, violation

HERE: dict[str, Any] = {"topic": "orders", "partition": 0}
SECOND = 1000


def probed(h: History, ok: tuple[int, ...], failed: tuple[int, ...] = (), topic: str = "orders", **more: Any) -> None:
    """One probe a second; the seconds named end ok or fail."""
    for second in sorted((*ok, *failed)):
        h.probe(topic, second * SECOND, "ok" if second in ok else "failed", **more)


def served(h: History) -> None:
    """Some records, so that the ledger is not one of probes alone."""
    h.kept("orders", 0, 3)


# -- outage: allowed where no bound is set ---------------------------------------------------------------------------


@history("every probe ends ok")
def clean(h: History) -> None:
    served(h)
    for kind in ("write", "read"):
        probed(h, ok=(0, 1, 2, 3), kind=kind)


@history("probes failed between two that were ok", allowed("outage", **HERE))
def outage(h: History) -> None:
    served(h)
    probed(h, ok=(0, 4), failed=(1, 2, 3))


@history("a single failed probe is enough", allowed("outage", **HERE))
def outage_of_one(h: History) -> None:
    served(h)
    probed(h, ok=(0, 2), failed=(1,))


@history("a probe that was never answered did not end ok", allowed("outage", **HERE))
def outage_unanswered(h: History) -> None:
    served(h)
    probed(h, ok=(0, 4))
    h.probe("orders", 1 * SECOND, "unknown", done=None)


@history("no probe for a while is no outage")
def silence(h: History) -> None:
    served(h)
    probed(h, ok=(0, 1, 60, 61))


@history("a slow probe that ends ok is no outage")
def slow(h: History) -> None:
    served(h)
    probed(h, ok=(0, 20))
    h.probe("orders", 1 * SECOND, "ok", done=19 * SECOND)


@history("each witness by itself", allowed("outage", **HERE))
def one_witness(h: History) -> None:
    served(h)
    probed(h, ok=(0, 4), failed=(1, 2, 3), witness="running")
    probed(h, ok=(0, 1, 2, 3, 4), witness="fresh")


@history("each kind by itself", allowed("outage", **HERE))
def one_kind(h: History) -> None:
    served(h)
    probed(h, ok=(0, 4), failed=(1, 2, 3), kind="read")
    probed(h, ok=(0, 1, 2, 3, 4), kind="write")


@history("each partition by itself", allowed("outage", topic="orders", partition=1))
def one_partition(h: History) -> None:
    served(h)
    probed(h, ok=(0, 1, 2, 3, 4))
    probed(h, ok=(0, 4), failed=(1, 2, 3), partition=1)


@history("two witnesses, two kinds: one finding each", allowed("outage", 4, **HERE))
def everywhere(h: History) -> None:
    served(h)
    for witness in ("running", "fresh"):
        for kind in ("write", "read"):
            probed(h, ok=(0, 4), failed=(1, 2, 3), witness=witness, kind=kind)


# -- bounds of a scenario --------------------------------------------------------------------------------------------


def bounded(h: History, *topics: str, fresh: tuple[int, int] = (12, 12), running: tuple[int, int] = (24, 24)) -> None:
    h.expect["outage"] = {
        "fresh": {"write_s": fresh[0], "read_s": fresh[1]},
        "running": {"write_s": running[0], "read_s": running[1]},
        "topics": [h.name(topic) for topic in topics or ("orders",)],
    }


@history("shorter than its bound, and tagged with its fault", allowed("outage", **HERE, detail="kill"))
def within_bound(h: History) -> None:
    served(h)
    h.fault(begin=500, healed=3 * SECOND)
    probed(h, ok=(0, 4), failed=(1, 2, 3))
    bounded(h)


@history("longer than its bound", violation("outage", **HERE))
def above_bound(h: History) -> None:
    served(h)
    probed(h, ok=(0, 60), failed=tuple(range(1, 60)))
    bounded(h)


@history("a bound is for the topics it names", allowed("outage", topic="bills"))
def above_bound_elsewhere(h: History) -> None:
    served(h)
    probed(h, ok=(0, 60), failed=tuple(range(1, 60)), topic="bills")
    bounded(h)


@history(
    "the fresh witness has a bound of its own, and so has each kind",
    violation("outage", 2, **HERE),
    allowed("outage", 2, **HERE),
)
def four_bounds(h: History) -> None:
    served(h)
    for witness in ("running", "fresh"):
        for kind in ("write", "read"):
            probed(h, ok=(0, 30), failed=tuple(range(1, 30)), witness=witness, kind=kind)
    bounded(h, fresh=(5, 99), running=(99, 5))


@history(
    "the bound of a witness is for that witness alone",
    violation("outage", **HERE, detail="fresh"),
    allowed("outage", **HERE, detail="running"),
)
def bound_of_one_witness(h: History) -> None:
    served(h)
    for witness in ("running", "fresh"):
        probed(h, ok=(0, 30), failed=tuple(range(1, 30)), witness=witness)
    bounded(h, fresh=(5, 5), running=(99, 99))


@history(
    "the bound of a kind is for that kind alone",
    violation("outage", **HERE, detail="read"),
    allowed("outage", **HERE, detail="write"),
)
def bound_of_one_kind(h: History) -> None:
    served(h)
    for kind in ("write", "read"):
        probed(h, ok=(0, 30), failed=tuple(range(1, 30)), kind=kind)
    bounded(h, running=(99, 5))


@history("as long as its bound is not above it", allowed("outage", **HERE))
def at_bound(h: History) -> None:
    served(h)
    probed(h, ok=(0, 24), failed=tuple(range(1, 24)))
    bounded(h)


@history("what was never answered holds the second it was sent in, not a silence later on", allowed("outage", **HERE))
def unanswered_before_silence(h: History) -> None:
    served(h)
    probed(h, ok=(0, 2, 3, 50, 51))
    h.probe("orders", 1 * SECOND, "unknown", done=None)
    bounded(h)


@history("nor a silence before it", allowed("outage", **HERE))
def unanswered_after_silence(h: History) -> None:
    served(h)
    probed(h, ok=(0, 50, 52))
    h.probe("orders", 51 * SECOND, "unknown", done=None)
    bounded(h)


@history("one unanswered probe at the very end is an outage that is not over", allowed("outage", **HERE))
def unanswered_at_the_end(h: History) -> None:
    served(h)
    probed(h, ok=(0, 1))
    h.probe("orders", 5 * SECOND, "unknown", done=None)


# -- stuck -----------------------------------------------------------------------------------------------------------


@history("healed, but long not ok", violation("stuck", **HERE), violation("outage", **HERE))
def stuck(h: History) -> None:
    served(h)
    h.fault(begin=500, healed=2 * SECOND)
    probed(h, ok=(0, 90), failed=tuple(range(1, 90)))
    bounded(h)


@history(
    "a fresh client is fine: it is the old one that is stuck",
    violation("stuck", **HERE, detail="client-stuck"),
    violation("outage", **HERE),
)
def client_stuck(h: History) -> None:
    served(h)
    h.fault(begin=500, healed=2 * SECOND)
    probed(h, ok=(0, 90), failed=tuple(range(1, 90)))
    probed(h, ok=tuple(range(91)), witness="fresh")
    bounded(h)


@history("ok again soon after healing, though the outage was long", violation("outage", **HERE))
def long_but_not_stuck(h: History) -> None:
    served(h)
    h.fault(begin=500, healed=60 * SECOND)
    probed(h, ok=(0, 62), failed=tuple(range(1, 62)))
    bounded(h)


@history("the ledger ends before the bound is over: nothing is known of being stuck", allowed("outage", None))
def ended_early(h: History) -> None:
    served(h)
    h.fault(begin=500, healed=2 * SECOND)
    probed(h, ok=(0,), failed=(1, 2, 3, 4, 5))
    bounded(h)


@history("without a bound nobody is stuck", allowed("outage", **HERE))
def unbounded(h: History) -> None:
    served(h)
    h.fault(begin=500, healed=2 * SECOND)
    probed(h, ok=(0, 90), failed=tuple(range(1, 90)))


@history("never ok again", violation("stuck", **HERE), violation("outage", **HERE))
def stuck_for_good(h: History) -> None:
    served(h)
    h.fault(begin=500, healed=2 * SECOND)
    probed(h, ok=(0,), failed=tuple(range(1, 90)))
    bounded(h)


@history("nobody asked after healing: nothing is known of being stuck", allowed("outage", **HERE))
def nobody_asked(h: History) -> None:
    served(h)
    h.fault(begin=500, healed=10 * SECOND)
    probed(h, ok=(0,), failed=tuple(range(1, 9)))
    probed(h, ok=tuple(range(60)), partition=1)
    bounded(h)


@history(
    "a fresh client that was fine only before is no excuse",
    violation("stuck", **HERE, detail="stuck"),
    violation("outage", **HERE),
)
def fresh_was_fine_before(h: History) -> None:
    served(h)
    h.fault(begin=4 * SECOND, healed=5 * SECOND)
    probed(h, ok=(0, 90), failed=tuple(range(1, 90)))
    probed(h, ok=(0, 1, 2), witness="fresh")
    bounded(h)


@history(
    "a fresh client without a bound is fine if it got through at all",
    violation("stuck", **HERE, detail="client-stuck"),
    violation("outage", **HERE),
)
def fresh_without_bound(h: History) -> None:
    served(h)
    h.fault(begin=500, healed=2 * SECOND)
    probed(h, ok=(0, 90), failed=tuple(range(1, 90)))
    probed(h, ok=(0, 50), witness="fresh")
    h.expect["outage"] = {"running": {"write_s": 24, "read_s": 24}}


@history("while one of two faults is not over nobody is stuck", violation("outage", **HERE))
def one_of_two_faults_healed(h: History) -> None:
    served(h)
    h.fault(begin=500, healed=2 * SECOND)
    h.fault(begin=1 * SECOND, name="cut")
    probed(h, ok=(0,), failed=tuple(range(1, 90)))
    bounded(h)


@history(
    "a fresh client without a bound that got through only before is no excuse",
    violation("stuck", **HERE, detail="stuck"),
    violation("outage", **HERE),
)
def fresh_without_bound_before(h: History) -> None:
    served(h)
    h.fault(begin=4 * SECOND, healed=5 * SECOND)
    probed(h, ok=(0, 90), failed=tuple(range(1, 90)))
    probed(h, ok=(0, 1, 2), witness="fresh")
    h.expect["outage"] = {"running": {"write_s": 24, "read_s": 24}}


@history(
    "a fresh client that came back too late is stuck itself, and no excuse",
    violation("stuck", times=2, **HERE, detail="stuck"),
    violation("outage", **HERE, named="running"),
    violation("outage", **HERE, named="fresh"),
)
def fresh_was_late(h: History) -> None:
    served(h)
    h.fault(begin=500, healed=2 * SECOND)
    for witness in ("running", "fresh"):
        probed(h, ok=(0, 90), failed=tuple(range(1, 90)), witness=witness)
    bounded(h)


# -- to the millisecond ------------------------------------------------------------------------------------------------


@history(
    "a probe sent when another ended ok belongs to what comes after, not to the time before", allowed("outage", **HERE)
)
def sent_at_the_end_of_an_ok(h: History) -> None:
    served(h)
    probed(h, ok=(0, 61))
    h.probe("orders", 50 * SECOND, "ok", done=60 * SECOND)
    h.probe("orders", 60 * SECOND, "failed")
    bounded(h)


@history("a probe that failed when another ended ok belongs to the time before", allowed("outage", **HERE))
def failed_at_the_end_of_an_ok(h: History) -> None:
    served(h)
    probed(h, ok=(0, 60))
    h.probe("orders", 5 * SECOND, "failed", done=10 * SECOND)
    h.probe("orders", 9 * SECOND, "ok", done=10 * SECOND)
    bounded(h)


@history("one sent when another ended ok and never answered is an outage, too", allowed("outage", **HERE))
def unanswered_at_the_end_of_an_ok(h: History) -> None:
    served(h)
    probed(h, ok=(0, 12))
    h.probe("orders", 9 * SECOND, "ok", done=10 * SECOND)
    h.probe("orders", 10 * SECOND, "unknown", done=None)


@history(
    "faults that end as it begins, or begin as it ends, are named with it",
    allowed("outage", **HERE, detail="kill", named="cut"),
)
def faults_at_both_ends(h: History) -> None:
    served(h)
    h.probe("orders", 0, "ok", done=10)
    probed(h, ok=(), failed=(1, 2, 3))
    h.probe("orders", 4 * SECOND, "ok", done=4 * SECOND + 10)
    h.fault(begin=1, healed=10, name="kill")
    h.fault(begin=4 * SECOND + 10, healed=5 * SECOND, name="cut")


@history(
    "an ok that came with the healing is not one after it",
    violation("stuck", **HERE, detail="stuck"),
    violation("outage", **HERE),
)
def ok_in_the_moment_of_healing(h: History) -> None:
    served(h)
    h.fault(begin=500, healed=2 * SECOND)
    h.probe("orders", 1 * SECOND, "ok", done=2 * SECOND)
    probed(h, ok=(90,), failed=tuple(range(3, 90)))
    bounded(h)


@history(
    "nor is a fresh client's without a bound",
    violation("stuck", **HERE, detail="stuck"),
    violation("outage", **HERE),
)
def fresh_in_the_moment_of_healing(h: History) -> None:
    served(h)
    h.fault(begin=500, healed=2 * SECOND)
    h.probe("orders", 1 * SECOND, "ok", done=2 * SECOND, witness="fresh")
    probed(h, ok=(0, 90), failed=tuple(range(1, 90)))
    h.expect["outage"] = {"running": {"write_s": 24, "read_s": 24}}


@history("a probe that failed with the healing had not waited for longer", allowed("outage", **HERE))
def failed_in_the_moment_of_healing(h: History) -> None:
    served(h)
    h.fault(begin=500, healed=10 * SECOND)
    probed(h, ok=(0,))
    h.probe("orders", 5 * SECOND, "failed", done=10 * SECOND)
    probed(h, ok=tuple(range(60)), partition=1)
    bounded(h)


@history("an ok that came with the end of the bound came in time", violation("outage", **HERE))
def ok_at_the_end_of_the_bound(h: History) -> None:
    served(h)
    h.fault(begin=500, healed=2 * SECOND)
    probed(h, ok=(0,), failed=(*range(1, 25), *range(27, 60)))
    h.probe("orders", 25 * SECOND, "ok", done=26 * SECOND)
    bounded(h)


@history(
    "watched until the end of the bound is long enough",
    violation("stuck", **HERE, detail="stuck"),
    violation("outage", **HERE),
)
def watched_to_the_end_of_the_bound(h: History) -> None:
    served(h)
    h.fault(begin=500, healed=2 * SECOND)
    probed(h, ok=(0,), failed=tuple(range(1, 25)))
    h.probe("orders", 25 * SECOND, "failed", done=26 * SECOND)
    bounded(h)


@history(
    "a fresh client without a bound that never got through is no excuse",
    violation("stuck", **HERE, detail="stuck"),
    violation("outage", **HERE, named="running"),
    allowed("outage", **HERE, named="fresh"),
)
def fresh_never(h: History) -> None:
    served(h)
    h.fault(begin=500, healed=2 * SECOND)
    probed(h, ok=(0, 90), failed=tuple(range(1, 90)))
    probed(h, ok=(), failed=tuple(range(1, 90)), witness="fresh")
    h.expect["outage"] = {"running": {"write_s": 24, "read_s": 24}}
