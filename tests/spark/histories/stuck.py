"""What did not come back after healing: stuck, by a witness's own fault or the cluster's."""

from __future__ import annotations

from tests.spark.histories.book import History, allowed, history, violation
from tests.spark.histories.outages import HERE, SECOND, bounded, probed, served


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
