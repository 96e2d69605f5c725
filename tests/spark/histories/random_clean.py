"""Random histories of a healthy cluster: clean because they are made by something that keeps its promises.

A small cluster is played: partitions that append, producers with several sends in flight, lost answers and retries,
transactions with their markers, compaction, retention, consumers that rebalance. Then it is written down.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import Any

from tests.spark.histories.writer import History, Row

PLAIN, KEYED, TRANSACTIONAL = "plain", "keyed", "transactional"
PARTITIONS = 2
KEYS = (b"a", b"b", b"c", b"")
Place = tuple[str, int]


@dataclass(frozen=True)
class Producer:
    name: str
    idempotent: bool
    acks: str
    clock: str | None

    def settings(self) -> Row:
        return {"producer": self.name, "idempotent": self.idempotent, "acks": self.acks, "clock": self.clock}


PRODUCERS = (
    Producer("steady", idempotent=True, acks="all", clock=None),
    Producer("remote", idempotent=True, acks="all", clock="far"),
    Producer("plain", idempotent=False, acks="all", clock=None),
    Producer("hasty", idempotent=False, acks="1", clock=None),
)


@dataclass
class Cluster:
    """What the partitions hold: offset -> how to write its row into the ledger."""

    h: History
    dice: random.Random
    ends: dict[Place, int] = field(default_factory=dict)
    logs: dict[Place, dict[int, Row]] = field(default_factory=dict)
    starts: dict[Place, int] = field(default_factory=dict)
    seqs: dict[tuple[str, Place], int] = field(default_factory=dict)
    late: list[tuple[Producer, int, bytes | None]] = field(default_factory=list)  # to be sent again after this burst
    pinned: dict[Place, int] = field(default_factory=dict)  # lowest offset acked without saying so: never delete it
    hidden: set[tuple[Place, int]] = field(default_factory=set)  # not visible to a reader of committed records

    def next_seq(self, producer: str, place: Place) -> int:
        self.seqs[producer, place] = self.seqs.get((producer, place), -1) + 1
        return self.seqs[producer, place]

    def append(self, place: Place, **row: Any) -> int:
        offset = self.ends.get(place, 0)
        self.ends[place] = offset + 1
        self.logs.setdefault(place, {})[offset] = row
        return offset

    def marker(self, place: Place) -> None:
        """The end of a transaction takes an offset that no reader ever sees."""
        self.ends[place] = self.ends.get(place, 0) + 1


# -- producing -----------------------------------------------------------------------------------------------------


def burst(c: Cluster, place: Place) -> None:
    """Several producers have several sends in flight: among producers any order, within one its own."""
    begin = c.h.now_ms + 10
    sends = [p for p in c.dice.sample(PRODUCERS, 2) for _ in range(c.dice.randint(1, 3))]
    c.dice.shuffle(sends)
    for producer in sends:
        done = begin + 50 + c.dice.randint(0, 20)
        send(c, producer, place, at=begin + c.dice.randint(0, 20), done=done)
    while c.late:
        resend(c, place, *c.late.pop(0), at=begin + 140)
    if c.dice.random() < 0.2:
        c.append(place, foreign=True, key=None)
    c.h.now_ms = begin + 300  # answers and second attempts of this burst are over


def send(c: Cluster, producer: Producer, place: Place, at: float, done: float) -> None:
    """One record: acked, refused, or its answer lost and mostly sent again."""
    seq, key = c.next_seq(producer.name, place), c.dice.choice(KEYS) if place[0] == KEYED else None
    same = {**producer.settings(), "key": key}
    fate = c.dice.random()
    if fate < 0.7:
        acknowledge(c, producer, place, seq, at, done, key)
    elif fate < 0.78:
        c.h.refused(*place, seq, at=at, done=done, **same)
    else:
        c.h.unknown(*place, seq, at=at, **same)
        if c.dice.random() < 0.5:
            c.append(place, seq=seq, producer=producer.name, key=key)
        if c.dice.random() < 0.7:
            c.late.append((producer, seq, key))


def acknowledge(
    c: Cluster, producer: Producer, place: Place, seq: int, at: float, done: float, key: bytes | None
) -> None:
    same = {**producer.settings(), "key": key, "at": at, "done": done}
    if place[0] == KEYED and c.dice.random() < 0.25:
        offset = c.append(place, tombstone=True, key=key)
        c.h.acked(*place, seq, offset, value_null=True, **same)
        return
    offset = c.append(place, seq=seq, producer=producer.name, key=key)
    if not producer.idempotent and c.dice.random() < 0.2:
        offset = c.append(place, seq=seq, producer=producer.name, key=key)  # a retry by the client: a copy
    elif place[0] != KEYED and c.dice.random() < 0.15:
        c.pinned[place] = min(c.pinned.get(place, offset), offset)
        c.h.acked(*place, seq, None, **same)
        return
    c.h.acked(*place, seq, offset, **same)


def resend(c: Cluster, place: Place, producer: Producer, seq: int, key: bytes | None, at: float) -> None:
    """The application sends it once more, after its answer was given up and all others of the burst have come."""
    offset = c.append(place, seq=seq, producer=producer.name, key=key, attempt=1)
    c.h.acked(*place, seq, offset, attempt=1, at=at, done=at + 60, key=key, **producer.settings())


def transaction(c: Cluster, number: int) -> None:
    """Some records, then the marker in every partition that was written to."""
    txn, outcome = f"tx#{number}", c.dice.choice(["committed", "committed", "aborted", "unknown", "unlisted"])
    happened = outcome == "committed" or (outcome == "unknown" and c.dice.random() < 0.5)
    begin, places = c.h.now_ms + 10, [(TRANSACTIONAL, p) for p in range(PARTITIONS)]
    touched = set()
    for i in range(c.dice.randint(1, 4)):
        place = c.dice.choice(places)
        touched.add(place)
        seq = c.next_seq("transactor", place)
        offset = c.append(place, seq=seq, producer="transactor", key=None)
        c.h.acked(*place, seq, offset, producer="transactor", txn=txn, at=begin + 10 * i)
        if not happened:
            c.hidden.add((place, offset))
    for place in touched:
        c.marker(place)
    c.h.now_ms = begin + 100
    if outcome != "unlisted":
        asked = c.h.now_ms if happened else None
        ended = None if outcome == "unknown" else c.h.now_ms + 5
        c.h.txn(txn, outcome, producer="transactor", begun=begin, committing=asked, ended=ended)
    c.h.now_ms += 20


def leave_unreported(c: Cluster, place: Place) -> None:
    """A producer died: what it reserved and had sent lies in the log, and no report of it was ever written."""
    seq = c.next_seq("killed", place)
    c.append(place, seq=seq, producer="killed", key=None)
    c.h.reserve(*place, 0, seq + 5, producer="killed")


# -- cleaning ------------------------------------------------------------------------------------------------------


def compact(c: Cluster, place: Place) -> None:
    """Below some point only the last record of each key stays, and of tombstones none."""
    point, log = c.dice.randint(0, c.ends.get(place, 0)), c.logs.get(place, {})
    last = {row["key"]: offset for offset, row in log.items() if row["key"] is not None}
    for offset in [o for o in log if o < point and log[o]["key"] is not None]:
        if last[log[offset]["key"]] > offset or "tombstone" in log[offset]:
            del log[offset]


def expire(c: Cluster, place: Place) -> None:
    """Retention moves the start, but not past a record whose offset nobody was told."""
    start = min(c.dice.randint(1, max(1, c.ends[place] // 2)), c.pinned.get(place, c.ends[place]))
    c.starts[place] = start
    for offset in [o for o in c.logs[place] if o < start]:
        del c.logs[place][offset]


# -- consuming -----------------------------------------------------------------------------------------------------


def consume(c: Cluster, group: str, places: list[Place]) -> None:
    """Rebalances, each from the last commits on; the last assignment reads everything to its end."""
    c.h.now_ms += 1000
    position = {place: c.starts.get(place, 0) for place in places}
    clock = c.dice.choice([None, "consumer"])
    for assignment in range(3):
        for place in c.dice.sample(places, len(places)):
            member: Row = {"member": f"{group}-{c.dice.randint(0, 1)}", "assignment": assignment, "clock": clock}
            visible = [o for o in sorted(c.logs.get(place, {})) if (place, o) not in c.hidden and o >= position[place]]
            if assignment < 2:
                visible = visible[: c.dice.randint(0, len(visible))]
            c.h.took(group, *place, *visible, **member)
            end = c.ends.get(place, 0) if assignment == 2 else max([position[place] - 1, *visible]) + 1
            position[place] = c.dice.randint(position[place], end) if assignment < 2 else end
            c.h.commit(group, *place, position[place], **member)


def work(c: Cluster) -> None:
    """An exactly-once worker: one effect for each record that its readers may see."""
    places = [(TRANSACTIONAL, p) for p in range(PARTITIONS)]
    consume(c, "worker", places)
    for place in places:
        seen = [o for o in sorted(c.logs.get(place, {})) if (place, o) not in c.hidden]
        c.h.effect("worker", *place, *seen)


# -- writing it down -----------------------------------------------------------------------------------------------


def write_log(c: Cluster) -> None:
    """The final read, of committed records, or of all of them where the topic is read uncommitted."""
    uncommitted = c.dice.random() < 0.5
    for place, log in c.logs.items():
        for offset, row in sorted(log.items()):
            if "foreign" in row:
                c.h.foreign(*place, offset)
            elif "tombstone" in row:
                c.h.tombstone_in_log(*place, offset, row["key"])
            elif uncommitted or (place, offset) not in c.hidden:
                c.h.in_log(*place, offset, **row)
        policy = "compact" if place[0] == KEYED else "delete"
        isolation = "read_uncommitted" if uncommitted and place[0] == TRANSACTIONAL else "read_committed"
        more: Row = {"start": c.starts.get(place, 0), "end": c.ends[place], "hw": c.ends[place]}
        c.h.bounds(*place, policy=policy, isolation=isolation, **more)


def witness(c: Cluster) -> None:
    """Replicas byte for byte the same, watermarks that rise, probes that are answered."""
    for place in ((PLAIN, p) for p in range(PARTITIONS)):
        batches = [(base, min(base + 2, c.ends[place] - 1), 7000 + base) for base in range(0, c.ends[place], 3)]
        for broker in range(3):
            c.h.replica(*place, broker, *batches)
        for value in sorted(c.dice.randint(0, c.ends[place]) for _ in range(3)):
            c.h.watermark(*place, value)
    for second in range(5):
        c.h.probe(PLAIN, second * 1000)


def random_clean(seed: int) -> History:
    """A ledger of a healthy cluster: no violation, nothing undecided, whatever the seed."""
    c = Cluster(History(), random.Random(seed))
    plain, keyed = [(PLAIN, p) for p in range(PARTITIONS)], [(KEYED, p) for p in range(PARTITIONS)]
    for number in range(8):
        for place in (*plain, *keyed):
            burst(c, place)
        transaction(c, number)
    leave_unreported(c, plain[1])
    for place in keyed:
        compact(c, place)
    expire(c, plain[0])
    write_log(c)
    consume(c, "readers", [*plain, *keyed])
    work(c)
    witness(c)
    c.h.claims("readers", PLAIN, KEYED)
    return c.h
