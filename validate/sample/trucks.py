"""Positions of trucks: where, how fast, and what the truck itself reports. Made up by the seed."""

from __future__ import annotations

import random

TRUCKS = 12
# Reported by the truck: most of what it says is that all is well.
EVENTS = ("normal",) * 8 + ("lane departure", "unsafe distance")
FAST_KMH = 100
COLUMNS = ("at_s", "event", "speed_kmh", "latitude_e4", "longitude_e4", "truck")
USUAL = 4000


def rows(seed: int, count: int | None) -> list[str]:
    """Whole numbers throughout, so that nobody rounds them: degrees are given in ten-thousandths."""
    chance = random.Random(f"{seed}/trucks")  # noqa: S311  to be repeatable
    made = []
    for number in range(count or USUAL):
        truck = number % TRUCKS
        speed = chance.randrange(40, 112)
        place = chance.randrange(480000, 520000), chance.randrange(80000, 140000)
        made.append(f"{number // TRUCKS},{chance.choice(EVENTS)},{speed},{place[0]},{place[1]},truck-{truck}")
    return made


def dangerous(row: str) -> bool:
    """Said once more in plain Python, so that the query in SQL is compared with something."""
    _, event, speed, _, _, _ = row.split(",")
    return event != "normal" or int(speed) > FAST_KMH
