"""Trades of a few stocks, in the order of their own time. Made up by the seed."""

from __future__ import annotations

import random

SYMBOLS = ("ANVL", "BRCK", "CLAY", "DUNE")
COLUMNS = ("at_s", "price_cents", "symbol")
USUAL = 4000
OPENING_S = 1_704_186_000  # 2024-01-02 09:00 UTC
WINDOW_S = 60
LATE_S = 600  # how long a window waits for trades that come late
AFTER_S = 3600  # behind the last trade: the one that closes all windows before it


def rows(seed: int, count: int | None) -> list[str]:
    """The last one comes an hour later, so that the windows of all others are over."""
    chance = random.Random(f"{seed}/stocks")  # noqa: S311  to be repeatable
    prices = [chance.randrange(5_000, 20_000) for _ in SYMBOLS]
    at_s, made = OPENING_S, []
    for _ in range((count or USUAL) - 1):
        which = chance.randrange(len(SYMBOLS))
        prices[which] = max(100, prices[which] + chance.randrange(-50, 51))
        at_s += chance.randrange(3)
        made.append(f"{at_s},{prices[which]},{SYMBOLS[which]}")
    return [*made, f"{at_s + AFTER_S},{prices[0]},{SYMBOLS[0]}"]


def windows(rows_: list[str]) -> list[tuple[int, str, int, int, int]]:
    """start, symbol, trades, lowest and highest price of each window that is over, in plain Python."""
    trades = [(int(at_s), int(price), symbol) for at_s, price, symbol in (row.split(",") for row in rows_)]
    known_s = max(at_s for at_s, _, _ in trades) - LATE_S
    found: dict[tuple[int, str], list[int]] = {}
    for at_s, price, symbol in trades:
        found.setdefault((at_s - at_s % WINDOW_S, symbol), []).append(price)
    return [
        (start, symbol, len(prices), min(prices), max(prices))
        for (start, symbol), prices in sorted(found.items())
        if start + WINDOW_S <= known_s
    ]
