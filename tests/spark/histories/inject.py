"""Plants exactly one violation into a clean random history: a judge must give that one back and no other.

Each injector returns what the finding must name, or None where the history offers no place for it.
"""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

from tests.spark.histories.random_clean import PLAIN

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.spark.histories.writer import History, Row

INJECTORS: dict[str, Callable[[History, random.Random], Row | None]] = {}
READERS = "readers"


def injector(
    anomaly: str,
) -> Callable[[Callable[[History, random.Random], Row | None]], Callable[[History, random.Random], Row | None]]:
    def register(
        plant: Callable[[History, random.Random], Row | None],
    ) -> Callable[[History, random.Random], Row | None]:
        INJECTORS[anomaly] = plant
        return plant

    return register


def inject(h: History, anomaly: str, seed: int) -> Row | None:
    return INJECTORS[anomaly](h, random.Random(seed))


# -- finding a place -----------------------------------------------------------------------------------------------


def names(row: Row) -> tuple[Any, ...]:
    return (row["producer"], row["topic"], row["partition"], row["seq"], row.get("attempt", 0))


def steady_rows(h: History) -> list[tuple[Row, Row]]:
    """Strong records of the plain topic, acked with an offset and found there once: (sent, log)."""
    log: dict[tuple[Any, ...], list[Row]] = {}
    for row in h.rows["log"]:
        if row.get("producer") and row["topic"] == PLAIN:
            log.setdefault(names(row), []).append(row)
    pairs = []
    for sent in h.rows["sent"]:
        found = log.get(names(sent), [])
        strong = sent["idempotent"] and sent["attempt"] == 0 and sent.get("acked_offset") is not None
        if strong and len(found) == 1:
            pairs.append((sent, found[0]))
    return pairs


def record(row: Row) -> Row:
    return {name: row[name] for name in ("producer", "topic", "partition", "seq")}


def end_of(h: History, partition: int) -> int:
    return int(h.bounds_given[PLAIN, partition]["end_offset"])


def extend(h: History, partition: int, n: int = 1, *, taken: bool = True) -> list[int]:
    """Room for n rows at the end of a plain partition; the readers take them up once they are written."""
    first = end_of(h, partition)
    h.bounds(PLAIN, partition, end=first + n, hw=first + n)
    if taken:
        for offset in range(first, first + n):
            h.took(READERS, PLAIN, partition, offset, member="late", assignment=90 + offset - first)
    return list(range(first, first + n))


def appended(h: History, dice: random.Random, n: int = 1, **more: Any) -> tuple[int, list[int]]:
    """n clean records of a new producer at the end of a partition: (partition, offsets)."""
    partition, taken = dice.randint(0, 1), more.pop("taken", True)
    offsets = extend(h, partition, n, taken=taken)
    for seq, offset in enumerate(offsets):
        h.keep(PLAIN, partition, seq, offset, producer="late", **more)
    return partition, offsets


# -- in the log ----------------------------------------------------------------------------------------------------


@injector("lost")
def lost(h: History, dice: random.Random) -> Row | None:
    sent, row = dice.choice(steady_rows(h))
    h.rows["log"].remove(row)
    return record(sent)


@injector("duplicated")
def duplicated(h: History, dice: random.Random) -> Row | None:
    sent, row = dice.choice(steady_rows(h))
    h.rows["log"].append({**row, "offset": extend(h, sent["partition"])[0]})
    return record(sent)


@injector("corrupt")
def corrupt(h: History, dice: random.Random) -> Row | None:
    sent, row = dice.choice(steady_rows(h))
    row[dice.choice(["value_crc", "payload_crc"])] += 1
    return record(sent)


@injector("phantom")
def phantom(h: History, dice: random.Random) -> Row | None:
    sent, row = dice.choice(steady_rows(h))
    h.rows["log"].append({**row, "seq": 9999, "offset": extend(h, sent["partition"])[0]})
    return {**record(sent), "seq": 9999}


@injector("misrouted")
def misrouted(h: History, dice: random.Random) -> Row | None:
    partition = dice.randint(0, 1)
    h.unknown(PLAIN, 1 - partition, 0, producer="late")
    h.in_log(PLAIN, partition, extend(h, partition)[0], 0, producer="late", intended=(PLAIN, 1 - partition))
    return {"producer": "late", "seq": 0}


@injector("reordered")
def reordered(h: History, dice: random.Random) -> Row | None:
    partition = dice.randint(0, 1)
    first, second = extend(h, partition, 2)
    for seq, offset in ((0, second), (1, first)):
        h.unknown(PLAIN, partition, seq, producer="late")
        h.in_log(PLAIN, partition, offset, seq, producer="late")
    return {"producer": "late", "topic": PLAIN, "partition": partition, "seq": 1}


@injector("aborted-read")
def aborted_read(h: History, dice: random.Random) -> Row | None:
    partition = dice.randint(0, 1)
    h.refused(PLAIN, partition, 0, producer="late")
    h.in_log(PLAIN, partition, extend(h, partition)[0], 0, producer="late")
    return {"producer": "late", "topic": PLAIN, "partition": partition, "seq": 0}


@injector("unreadable")
def unreadable(h: History, dice: random.Random) -> Row | None:
    partition = 2 + dice.randint(0, 5)
    h.bounds(PLAIN, partition, end=5, read_to=0)
    return {"topic": PLAIN, "partition": partition}


# -- offsets -------------------------------------------------------------------------------------------------------


@injector("offset-mismatch")
def offset_mismatch(h: History, dice: random.Random) -> Row | None:
    partition = dice.randint(0, 1)
    offset = extend(h, partition)[0]
    h.acked(PLAIN, partition, 0, offset + 500, producer="late")
    h.in_log(PLAIN, partition, offset, 0, producer="late")
    return {"producer": "late", "topic": PLAIN, "partition": partition, "seq": 0}


@injector("stale-offset")
def stale_offset(h: History, dice: random.Random) -> Row | None:
    """One answer is told as if its send had begun after all others: its offset is below many."""
    pairs = steady_rows(h)
    highest: dict[tuple[int, Any], Row] = {}
    for sent in h.rows["sent"]:
        lane = (sent["partition"], sent.get("clock"))
        offset = sent.get("acked_offset")
        if (
            sent["topic"] == PLAIN
            and offset is not None
            and offset > highest.get(lane, {"acked_offset": -1})["acked_offset"]
        ):
            highest[lane] = sent
    fit = [s for s, _ in pairs if (top := highest[s["partition"], s.get("clock")]) is not s and top["acks"] == "all"]
    if not fit:
        return None
    late = dice.choice(fit)
    after = max(row["invoked_at"] for row in h.rows["sent"]) + (late["done_at"] - late["invoked_at"]) * 10
    late["invoked_at"] = late["done_at"] = after
    return record(late)


@injector("inconsistent-offset")
def inconsistent_offset(h: History, dice: random.Random) -> Row | None:
    """Two acks of one offset, below a start that has moved: both are expired; their clocks are their own."""
    offset = dice.randint(0, 3)
    h.bounds(PLAIN, 5, start=4, end=4)
    for producer in ("one", "two"):
        h.acked(PLAIN, 5, 0, offset, producer=producer, clock=producer)
    return {"topic": PLAIN, "partition": 5, "offset": offset}


@injector("watermark-backwards")
def watermark_backwards(h: History, dice: random.Random) -> Row | None:
    partition = dice.randint(0, 1)
    h.watermark(PLAIN, partition, end_of(h, partition), witness="late")
    h.watermark(PLAIN, partition, end_of(h, partition) - 1, witness="late")
    return {"topic": PLAIN, "partition": partition}


@injector("replica-divergence")
def replica_divergence(h: History, dice: random.Random) -> Row | None:
    batch = dice.choice([row for row in h.rows["replicas"] if row["base_offset"] >= 0])
    batch["batch_crc"] += 1
    return {"topic": batch["topic"], "partition": batch["partition"], "offset": batch["base_offset"]}


# -- transactions --------------------------------------------------------------------------------------------------


@injector("torn-transaction")
def torn_transaction(h: History, dice: random.Random) -> Row | None:
    h.txn("torn#0", "unknown", producer="late", begun=h.now_ms, committing=h.now_ms)
    partition, offsets = appended(h, dice, txn="torn#0")
    h.acked(PLAIN, partition, 1, offsets[0] + 1, producer="late", txn="torn#0")
    h.bounds(PLAIN, partition, end=offsets[0] + 3, hw=offsets[0] + 3)
    return {"topic": PLAIN, "partition": partition}


@injector("precommitted-read")
def precommitted_read(h: History, dice: random.Random) -> Row | None:
    asked = h.now_ms + 5000
    h.txn("early#0", producer="late", begun=h.now_ms, committing=asked, ended=asked + 5)
    partition, offsets = appended(h, dice, txn="early#0")
    return {"producer": "late", "topic": PLAIN, "partition": partition, "offset": offsets[0]}


# -- consumers -----------------------------------------------------------------------------------------------------


@injector("unseen")
def unseen(h: History, dice: random.Random) -> Row | None:
    partition, offsets = appended(h, dice, taken=False)
    return {"producer": "late", "topic": PLAIN, "partition": partition, "offset": offsets[0]}


@injector("lost-in-delivery")
def lost_in_delivery(h: History, dice: random.Random) -> Row | None:
    partition, offsets = appended(h, dice, taken=False)
    h.commit(READERS, PLAIN, partition, offsets[0] + 1, member="late", assignment=90)
    return {"producer": "late", "topic": PLAIN, "partition": partition, "offset": offsets[0]}


@injector("poll-skip")
def poll_skip(h: History, dice: random.Random) -> Row | None:
    partition, offsets = appended(h, dice, 3)
    h.took(READERS, PLAIN, partition, offsets[0], offsets[2], member="late", assignment=99)
    return {"topic": PLAIN, "partition": partition}


@injector("poll-backwards")
def poll_backwards(h: History, dice: random.Random) -> Row | None:
    partition, offsets = appended(h, dice, 2)
    h.took(READERS, PLAIN, partition, *offsets, offsets[0], member="late", assignment=99)
    return {"producer": "late", "topic": PLAIN, "partition": partition, "offset": offsets[0]}


@injector("commit-backwards")
def commit_backwards(h: History, dice: random.Random) -> Row | None:
    partition = dice.randint(0, 1)
    for offset in (1, 0):
        h.commit(READERS, PLAIN, partition, offset, member="late", assignment=99)
    return {"topic": PLAIN, "partition": partition}


def committed_effects(h: History) -> list[Row]:
    """Of other transactions the log may show what nobody had to see."""
    committed = {t["txn"] for t in h.rows["transactions"] if t["outcome"] == "committed"}
    owed = {(s["topic"], s["partition"], s["acked_offset"]) for s in h.rows["sent"] if s.get("txn") in committed}
    return [e for e in h.rows["effects"] if (e["topic"], e["partition"], e["offset"]) in owed]


@injector("effect-missing")
def effect_missing(h: History, dice: random.Random) -> Row | None:
    fit = committed_effects(h)
    if len(fit) < 2:  # the last effect of all would take its group's name with it
        return None
    effect = dice.choice(fit)
    h.rows["effects"].remove(effect)
    return {name: effect[name] for name in ("topic", "partition", "offset")}


@injector("effect-repeated")
def effect_repeated(h: History, dice: random.Random) -> Row | None:
    fit = committed_effects(h)
    if not fit:
        return None
    effect = dice.choice(fit)
    h.rows["effects"].append({**effect, "effect_id": "once-more"})
    return {name: effect[name] for name in ("topic", "partition", "offset")}
