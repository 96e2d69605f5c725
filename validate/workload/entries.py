"""Journal entries of consumers and probes: one JSON list a frame, its first word says what it is."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from validate.workload import value
from validate.workload.clock import moment
from validate.workload.outcome import ACKED, UNKNOWN

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from confluent_kafka import Message

    from validate.workload.block import Block

RowsByTable = dict[str, list[dict[str, Any]]]
TAKEN, STARTS, COMMIT, COMMITTED, READ, ANSWERED, WATERMARKS = [
    "taken",
    "starts",
    "commit",
    "committed",
    "read",
    "answered",
    "marks",
]
BEGUN, ENDING, ENDED, FOUND = "begun", "ending", "ended", "found"


def entry(word: str, *facts: Any) -> bytes:
    return json.dumps([word, *facts], separators=(",", ":")).encode()


def taken(assignment: int, position: int, at_us: int, messages: Sequence[Message]) -> bytes:
    """Records that the work function takes up now; neighbours of one origin share its name."""
    runs: list[list[Any]] = []
    before: tuple[str | None, int | None, bytes | None] | None = None
    for message in messages:  # what a consumer costs is mostly this loop
        names, seq = value.origin(message.value())
        mine = (message.topic(), message.partition(), names)
        if mine != before:
            runs.append([*mine[:2], *value.names_of(names), [], []])
            before = mine
        run = runs[-1]
        run[4].append(message.offset())
        run[5].append(seq)
    return entry(TAKEN, assignment, position, at_us, runs)


def txn_name(opening: dict[str, Any], number: int) -> str:
    """A number belongs to one life of the transactional id's owner."""
    return f"{opening['transactional_id']}#{opening['member']}.{number}"


def txn_begun(opening: dict[str, Any], content: bytes) -> str | None:
    word, *facts = json.loads(content)
    return txn_name(opening, facts[0]) if word == BEGUN else None


def transformer_rows(opening: dict[str, Any], frames: Iterable[bytes]) -> RowsByTable:
    """Like those of a member, and `transactions` and `effects`: each input has one effect in its transaction."""
    plain: list[bytes] = []
    txns: dict[int, dict[str, Any]] = {}
    taken: dict[int, list[bytes]] = {}
    number = 0
    for content in frames:
        word, *facts = json.loads(content)
        if word == BEGUN:
            number = facts[0]
            txns[number] = {
                "producer": opening["member"], "txn": txn_name(opening, number), "outcome": UNKNOWN,
                "begun_at": moment(facts[1]), "clock": opening["clock"],
            }  # fmt: skip
        elif word == ENDING:
            txns[facts[0]]["commit_invoked_at"] = moment(facts[1])
        elif word == ENDED:
            txns[facts[0]] |= {"ended_at": moment(facts[1]), "outcome": facts[2]}
        elif word != FOUND:
            plain.append(content)
            if word == TAKEN:
                taken.setdefault(number, []).append(content)
    rows = consumer_rows(opening, plain)
    rows["transactions"] = list(txns.values())
    rows["effects"] = [_effect(opening, txns[number]["txn"], row) for number, contents in taken.items()
                       for row in consumer_rows(opening, contents)["delivered"]]  # fmt: skip
    return rows


def _effect(opening: dict[str, Any], txn: str, row: dict[str, Any]) -> dict[str, Any]:
    """Named by its input: what was made of it is a record of the sink, written in the same transaction."""
    place = {name: row[name] for name in ("topic", "partition", "offset")}
    name = f"{txn}/{row['topic']}-{row['partition']}@{row['offset']}"
    return {"group": opening["group"], "sink": opening["sink"], **place, "effect_id": name, "txn": txn}


def consumer_rows(opening: dict[str, Any], frames: Iterable[bytes]) -> RowsByTable:
    """`delivered`, `group_starts` and `commits` of one member."""
    rows: RowsByTable = {"delivered": [], "group_starts": [], "commits": []}
    same = {name: opening[name] for name in ("group", "member", "isolation", "clock")}
    transactional = "transactional_id" in opening
    commits: dict[int, list[dict[str, Any]]] = {}
    for content in frames:
        word, *facts = json.loads(content)
        if word == TAKEN:
            rows["delivered"] += _delivered(same, *facts)
        elif word == STARTS:
            rows["group_starts"] += [
                {"group": same["group"], "topic": topic, "partition": p, "offset": offset}
                for topic, p, offset in facts[0]
            ]
        elif word == COMMIT:
            number, assignment, at_us, places = facts
            commits[number] = [_commit(same, assignment, at_us, *place) for place in places]
            if transactional:  # they are numbered alike
                commits[number] = [row | {"txn": txn_name(opening, number)} for row in commits[number]]
        elif word == COMMITTED:
            number, at_us, errors = facts
            for row, error in zip(commits[number], errors, strict=True):
                row |= {"committed_at": moment(at_us), "outcome": UNKNOWN if error else ACKED}
        else:
            raise ValueError(f"an entry {word!r}")
    rows["commits"] = [row for asked in commits.values() for row in asked]
    return rows


def _commit(
    same: dict[str, Any], assignment: int, at_us: int, topic: str, partition: int, offset: int
) -> dict[str, Any]:
    """Asked for and, until an answer is found, of unknown outcome."""
    return {
        **same,
        "topic": topic,
        "partition": partition,
        "offset": offset,
        "assignment": assignment,
        "committed_at": moment(at_us),
        "outcome": UNKNOWN,
    }


def _delivered(
    same: dict[str, Any], assignment: int, position: int, at_us: int, runs: list[Any]
) -> Iterable[dict[str, Any]]:
    for topic, partition, run_id, producer, offsets, seqs in runs:
        for offset, seq in zip(offsets, seqs, strict=True):
            yield {
                **same,
                "assignment": assignment,
                "position": position,
                "topic": topic,
                "partition": partition,
                "offset": offset,
                "run_id": run_id,
                "producer": producer,
                "seq": seq,
                "polled_at": moment(at_us),
            }
            position += 1


def probe_rows(opening: dict[str, Any], frames: Iterable[bytes], writes: Iterable[Block]) -> RowsByTable:
    """`probes` and `watermarks` of one witness; its writes are blocks of one record each."""
    lanes = opening["lanes"]
    same = {name: opening[name] for name in ("witness", "clock")}
    rows = [_write(same, lanes, block) for block in writes]
    marks: list[dict[str, Any]] = []
    reads: dict[int, dict[str, Any]] = {}
    for content in frames:
        word, *facts = json.loads(content)
        if word == READ:
            number, lane, at_us = facts
            reads[number] = _probe(same, lanes, lane, "read") | {"invoked_at": moment(at_us), "outcome": "unknown"}
        elif word == ANSWERED:
            number, at_us, error = facts
            outcome = "failed" if error else "ok"
            reads[number] |= {"done_at": moment(at_us), "outcome": outcome, "error": error}
        elif word == WATERMARKS:
            at_us, found = facts
            marks += [
                dict(zip(("topic", "partition"), lanes[lane], strict=True))
                | {"high_watermark": high, "seen_at": moment(at_us), "witness": opening["producer"]}
                for lane, high in found
            ]
        else:
            raise ValueError(f"an entry {word!r}")
    return {"probes": rows + list(reads.values()), "watermarks": marks}


def _probe(same: dict[str, Any], lanes: list[Any], lane: int, kind: str) -> dict[str, Any]:
    topic, partition = lanes[lane]
    return {**same, "kind": kind, "topic": topic, "partition": partition}


def _write(same: dict[str, Any], lanes: list[Any], block: Block) -> dict[str, Any]:
    row = _probe(same, lanes, block.lane, "write") | {"invoked_at": moment(block.invoked_us), "outcome": "unknown"}
    if block.dones_us[0]:
        error = block.failures.get(0, (None,))[0]
        row |= {"done_at": moment(block.dones_us[0]), "outcome": "failed" if error else "ok", "error": error}
    return row
