"""Whether metadata can be changed: not while nobody keeps it, which is told in time, and again once it is healed."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from common.wait import wait_until
from validate.admin import ANSWER_S
from validate.quorum import ClusterSilent
from validate.scenario import Topic

if TYPE_CHECKING:
    from validate.workplace import Workplace

PROBE = Topic("kastellan-while-away", 1, 1, {})
# The client's own time-out, and that of its look whether the topic came about all the same.
IN_TIME_S = 2 * ANSWER_S + 2
# A try that a broker cannot carry out may keep one of its threads until it can: they are few, and far apart.
EVERY_S = 2.0


def refused(place: Workplace, notes: list[str]) -> list[str]:
    """Tries once; what is not as it should be, in words. It may come about when all is whole again."""
    began_s = time.monotonic()
    try:
        place.make([PROBE])
    except ClusterSilent as error:
        took_s = time.monotonic() - began_s
        notes.append(f"No topic could be made meanwhile, and that was told after {took_s:.1f} s: {error.details}.")
        return [] if took_s <= IN_TIME_S else [f"that no topic could be made was told only after {took_s:.0f} s"]
    return ["a topic was made while nobody kept the cluster's metadata"]


def possible_again(place: Workplace, bound_s: float, notes: list[str]) -> list[str]:
    """Until a topic can be made, or is there since the first try came about."""
    began_s = time.monotonic()
    told: list[str] = []

    def made() -> bool:
        try:
            place.make([PROBE])
        except ClusterSilent as error:
            told[:] = [error.details]
            return False
        return True

    if not wait_until(made, timeout_s=bound_s, every_s=EVERY_S):
        return [f"no topic could be made {bound_s:.0f} s after healing: {'; '.join(told)}"]
    notes.append(f"Topics could be made again {time.monotonic() - began_s:.1f} s after all was whole.")
    return []
