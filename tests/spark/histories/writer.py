"""Writes histories: what producers, brokers and consumers did, as a ledger that the judge can read.

It knows the columns of the ledger and nothing of the checks. A history is a few lines:

    h.kept("orders", 0, 3)                      # three records, acked at offsets 0-2 and in the log
    h.acked("orders", 0, seq=3, offset=3)       # a fourth, acked, but nowhere to be seen
"""

from __future__ import annotations

import json
import random
from collections import defaultdict
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from tests.spark.histories.columns import FOLDERS, REQUIRED_FOLDERS, column_names, schema

if TYPE_CHECKING:
    from pathlib import Path

RUN = "20260301T120000Z-s7"
START = datetime(2026, 3, 1, 12, tzinfo=UTC)
TICK_MS = 10  # apart: two calls that follow each other
CALL_MS = 4  # shorter than a tick, so that by default each call ends before the next begins

Row = dict[str, Any]


def moment(ms: float) -> datetime:
    return START + timedelta(milliseconds=ms)


def checksum(seq: int, attempt: int) -> int:
    """Not a real crc32: the ledger holds the numbers only, and a reader sees at once which record one belongs to."""
    return 1_000_000 + 1_000 * seq + attempt


class History:
    """Rows of a ledger. Every name is put behind `prefix`, so that many histories fit into one ledger."""

    def __init__(self, prefix: str = "") -> None:
        self.prefix = prefix
        self.rows: dict[str, list[Row]] = defaultdict(list)
        self.faults: list[Row] = []
        self.expect: dict[str, Any] = {}
        self.now_ms = 0.0
        self.bounds_given: dict[tuple[str, int], Row] = {}
        self.unbounded: set[tuple[str, int]] = set()
        self._positions: dict[tuple[str, str], int] = defaultdict(int)

    # -- names and times -------------------------------------------------------------------------------------------

    def name(self, plain: str | None) -> str | None:
        return None if plain is None else self.prefix + plain

    def tick(self) -> float:
        self.now_ms += TICK_MS
        return self.now_ms

    def add(self, folder: str, **row: Any) -> Row:
        """One row of a folder; columns that are not named are null."""
        unknown = row.keys() - set(column_names(folder))
        if unknown:
            raise KeyError(f"{folder} has no column {', '.join(sorted(unknown))}")
        self.rows[folder].append(row)
        return row

    # -- producers -------------------------------------------------------------------------------------------------

    def sent(self, topic: str, partition: int, seq: int, outcome: str, **more: Any) -> Row:
        """One attempt. `at` and `done` are milliseconds from the start; `done=None` is a report that never came."""
        attempt = more.get("attempt", 0)
        invoked = more.pop("at", None)
        invoked = self.tick() if invoked is None else invoked
        done = more.pop("done", None if outcome == "unknown" else invoked + CALL_MS)
        null = more.get("value_null", False)
        row: Row = {
            "run_id": RUN,
            "topic": self.name(topic),
            "partition": partition,
            "seq": seq,
            "attempt": 0,
            "value_null": False,
            "value_crc": None if null else checksum(seq, attempt),
            "random_int": None if null else 3 * seq,
            "acks": "all",
            "idempotent": True,
            "max_in_flight": 5,
            "invoked_at": moment(invoked),
            "done_at": None if done is None else moment(done),
            "outcome": outcome,
        }
        producer, txn = self.name(more.pop("producer", "p")), self.name(more.pop("txn", None))
        return self.add("sent", **{**row, "producer": producer, "txn": txn, **more})

    def acked(self, topic: str, partition: int, seq: int, offset: int | None, **more: Any) -> Row:
        return self.sent(topic, partition, seq, "acked", acked_offset=offset, **more)

    def refused(self, topic: str, partition: int, seq: int, **more: Any) -> Row:
        return self.sent(topic, partition, seq, "refused", **{"error": "_QUEUE_FULL", **more})

    def unknown(self, topic: str, partition: int, seq: int, **more: Any) -> Row:
        return self.sent(topic, partition, seq, "unknown", **{"error": "_MSG_TIMED_OUT", **more})

    def reserve(self, topic: str, partition: int, seq_from: int, seq_to: int, **more: Any) -> Row:
        producer = self.name(more.pop("producer", "p"))
        row = {"run_id": RUN, "producer": producer, "topic": self.name(topic), "partition": partition}
        return self.add("reservations", **{**row, "seq_from": seq_from, "seq_to": seq_to, **more})

    def txn(self, txn: str, outcome: str = "committed", **more: Any) -> Row:
        """A transaction; `begun`, `committing` and `ended` are milliseconds, committing=None: never asked for."""
        begun = more.pop("begun", 0)
        committing = more.pop("committing", begun + 1 if outcome == "committed" else None)
        ended = more.pop("ended", None if outcome == "unknown" else begun + 2)
        row = {
            "producer": self.name(more.pop("producer", "p")),
            "txn": self.name(txn),
            "outcome": outcome,
            "begun_at": moment(begun),
            "commit_invoked_at": None if committing is None else moment(committing),
            "ended_at": None if ended is None else moment(ended),
        }
        return self.add("transactions", **{**row, **more})

    # -- the log ---------------------------------------------------------------------------------------------------

    def in_log(self, topic: str, partition: int, offset: int, seq: int, **more: Any) -> Row:
        """A record of ours as the final read found it; `intended=(topic, partition)`: its value names another place."""
        attempt = more.get("attempt", 0)
        meant_topic, meant_partition = more.pop("intended", (topic, partition))
        row: Row = {
            "topic": self.name(topic),
            "partition": partition,
            "offset": offset,
            "timestamp": moment(self.tick()),
            "value_null": False,
            "run_id": RUN,
            "producer": self.name(more.pop("producer", "p")),
            "seq": seq,
            "attempt": 0,
            "intended_topic": self.name(meant_topic),
            "intended_partition": meant_partition,
            "random_int": 3 * seq,
            "payload_crc": checksum(seq, attempt),
            "value_crc": checksum(seq, attempt),
        }
        return self.add("log", **{**row, **more})

    def tombstone_in_log(self, topic: str, partition: int, offset: int, key: bytes | None) -> Row:
        place = {"topic": self.name(topic), "partition": partition, "offset": offset}
        return self.add("log", **place, timestamp=moment(self.tick()), key=key, value_null=True)

    def foreign(self, topic: str, partition: int, offset: int, **more: Any) -> Row:
        """Somebody else's record; with run_id= and seq= it is one of another run of ours."""
        place = {"topic": self.name(topic), "partition": partition, "offset": offset}
        return self.add("log", **{**place, "timestamp": moment(self.tick()), "value_null": False, **more})

    def keep(self, topic: str, partition: int, seq: int, offset: int, **more: Any) -> None:
        """One record, acked and in the log at the place it was acked at."""
        in_value = {name: more[name] for name in ("producer", "attempt", "key") if name in more}
        self.acked(topic, partition, seq, offset, **more)
        self.in_log(topic, partition, offset, seq, **in_value)

    def kept(self, topic: str, partition: int, n: int, *, seq: int = 0, offset: int | None = None, **more: Any) -> None:
        """`n` records in a row, seq and offset dense from the given ones."""
        first = seq if offset is None else offset
        for i in range(n):
            self.keep(topic, partition, seq + i, first + i, **more)

    def bounds(self, topic: str, partition: int = 0, **more: Any) -> None:
        """What differs from the bounds that follow from the log: start, end, hw, read_to, isolation, policy."""
        short = {
            "start": "start_offset",
            "end": "end_offset",
            "hw": "high_watermark",
            "policy": "cleanup_policy",
        }
        given = {short.get(name, name): value for name, value in more.items()}
        self.bounds_given.setdefault((str(self.name(topic)), partition), {}).update(given)

    def no_bounds(self, topic: str, partition: int = 0) -> None:
        self.unbounded.add((str(self.name(topic)), partition))

    def watermark(self, topic: str, partition: int, value: int, witness: str = "w", at: float | None = None) -> Row:
        place = {"topic": self.name(topic), "partition": partition, "witness": self.name(witness)}
        return self.add("watermarks", **place, high_watermark=value, seen_at=moment(self.tick() if at is None else at))

    def replica(self, topic: str, partition: int, broker: int, *batches: tuple[int, int, int], start: int = 0) -> None:
        """The batches (base offset, last offset, checksum) that one broker holds; none is written as one row of -1."""
        for base, last, crc in batches or ((-1, -1, 0),):
            place = {"topic": self.name(topic), "partition": partition, "broker": broker}
            self.add("replicas", **place, base_offset=base, last_offset=last, batch_crc=crc, log_start=start)

    # -- consumers -------------------------------------------------------------------------------------------------

    def took(self, group: str, topic: str, partition: int, *offsets: int, **more: Any) -> None:
        """A member takes up these offsets, in this order; whose record it is, is looked up in the log so far."""
        member, at = str(self.name(more.pop("member", "m"))), more.pop("at", None)
        more["producer"] = self.name(more.get("producer"))
        for offset in offsets:
            place = {"topic": self.name(topic), "partition": partition, "offset": offset}
            there = [row for row in self.rows["log"] if all(row[k] == v for k, v in place.items())]
            record = {k: there[0].get(k) for k in ("run_id", "producer", "seq")} if there else {}
            row = {
                "group": self.name(group),
                "member": member,
                "assignment": 0,
                "position": self._positions[str(self.name(group)), member],
                "polled_at": moment(self.tick() if at is None else at),
                "isolation": "read_committed",
            }
            self._positions[str(self.name(group)), member] += 1
            given = {k: v for k, v in more.items() if v is not None}
            self.add("delivered", **{**row, **place, **record, **given})

    def group_start(self, group: str, topic: str, partition: int, offset: int) -> Row:
        place = {"topic": self.name(topic), "partition": partition, "offset": offset}
        return self.add("group_starts", group=self.name(group), **place)

    def commit(self, group: str, topic: str, partition: int, offset: int, **more: Any) -> Row:
        member, at = self.name(more.pop("member", "m")), more.pop("at", None)
        row = {
            "group": self.name(group),
            "topic": self.name(topic),
            "partition": partition,
            "offset": offset,
            "member": member,
            "assignment": 0,
            "txn": self.name(more.pop("txn", None)),
            "committed_at": moment(self.tick() if at is None else at),
            "outcome": "acked",
        }
        return self.add("commits", **{**row, **more})

    def effect(
        self, group: str, topic: str, partition: int, *offsets: int, sink: str = "db", txn: str | None = None
    ) -> None:
        for offset in offsets:
            place = {"topic": self.name(topic), "partition": partition, "offset": offset}
            effect_id = f"{self.prefix}effect-{len(self.rows['effects'])}"
            self.add("effects", group=self.name(group), sink=sink, **place, effect_id=effect_id, txn=self.name(txn))

    def probe(self, topic: str, at: float, outcome: str = "ok", **more: Any) -> Row:
        """A probe at `at` milliseconds; it takes CALL_MS unless `done` says when it ended (None: it never did)."""
        done = more.pop("done", at + CALL_MS)
        row = {
            "witness": "running",
            "kind": "write",
            "topic": self.name(topic),
            "partition": 0,
            "invoked_at": moment(at),
            "done_at": None if done is None else moment(done),
            "outcome": outcome,
        }
        return self.add("probes", **{**row, **more})

    # -- faults and expectations -----------------------------------------------------------------------------------

    def fault(self, begin: float, bit: float | None = None, healed: float | None = None, name: str = "kill") -> None:
        """A fault of the cluster; `healed=None`: it is not over when the ledger ends."""
        for phase, at in (("begin", begin), ("bit", begin + 1 if bit is None else bit), ("healed", healed)):
            if at is not None:
                iso = moment(at).isoformat(timespec="milliseconds").replace("+00:00", "Z")
                self.faults.append({"fault": name, "target": "broker-2", "phase": phase, "at": iso, "detail": ""})

    def claims(self, group: str, *topics: str, start: str = "earliest") -> None:
        names = [self.name(topic) for topic in topics]
        self.expect.setdefault("groups", {})[self.name(group)] = {"topics": names, "from": start}

    def unclean(self, *topics: str) -> None:
        self.expect.setdefault("unclean", []).extend(self.name(topic) for topic in topics)

    def anomaly(self, kind: str, *, topics: tuple[str, ...] = (), **rule: str) -> None:
        """What the scenario expects of one anomaly: count=, verdict=."""
        where = {"topics": [self.name(topic) for topic in topics]} if topics else {}
        self.expect.setdefault("anomalies", {})[kind] = {**rule, **where}

    # -- writing ---------------------------------------------------------------------------------------------------

    def partitions(self) -> set[tuple[str, int]]:
        """Every partition that any row speaks of: a judge cannot know one whose bounds were not read."""
        rows = [row for rows in self.rows.values() for row in rows if "partition" in row]
        return {(row["topic"], row["partition"]) for row in rows} | set(self.bounds_given)

    def bounds_rows(self) -> list[Row]:
        """One row per partition anything was sent to, found in or said of; by default the log is read to its end."""
        found = []
        for topic, partition in sorted(self.partitions() - self.unbounded):
            offsets = [r["offset"] for r in self.rows["log"] if (r["topic"], r["partition"]) == (topic, partition)]
            given = self.bounds_given.get((topic, partition), {})
            end = given.get("end_offset", max(offsets, default=-1) + 1)
            row = {"topic": topic, "partition": partition, "start_offset": 0, "end_offset": end, "high_watermark": end}
            found.append({**row, "isolation": "read_committed", "cleanup_policy": "delete", **given})
        return found

    def all_rows(self) -> dict[str, list[Row]]:
        """Folder by folder; a folder without rows is left out unless a ledger must have it."""
        rows = {**self.rows, "log_bounds": self.bounds_rows()}
        return {name: rows.get(name, []) for name in FOLDERS if rows.get(name) or name in REQUIRED_FOLDERS}

    def write(self, directory: Path, *, shuffle: int | None = None, files: int = 1) -> Path:
        write_rows(directory, self.all_rows(), shuffle=shuffle, files=files)
        if self.faults:
            lines = "".join(json.dumps(row) + "\n" for row in self.faults)
            (directory / "faults.jsonl").write_text(lines, encoding="utf-8")
        return directory


def write_rows(directory: Path, rows: dict[str, list[Row]], *, shuffle: int | None = None, files: int = 1) -> None:
    """Parquet folders, one file each unless told otherwise; `shuffle` is the seed of another order of the rows."""
    for folder, original in rows.items():
        mixed = list(original)
        if shuffle is not None:
            random.Random(shuffle).shuffle(mixed)
        (directory / folder).mkdir(parents=True)
        for part in range(files):
            table = pa.Table.from_pylist(mixed[part::files], schema=schema(folder))
            pq.write_table(table, directory / folder / f"part-{part:05d}.parquet")
