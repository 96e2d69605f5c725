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
