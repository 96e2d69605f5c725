"""What a scenario asks to be looked up in the sealed ledger besides the judge: who took up what, keys, hooks, rates.

Each look returns what does not agree, in words; nothing if all is as it was asked for. `_failed` of them is a broken
promise, for both sides of the comparison were there.
"""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING, Any

import pyarrow.compute as pc
import pyarrow.dataset as ds

from validate.workload import hooks
from validate.workload.keys import partition_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from pathlib import Path

    from validate.act import Act
    from validate.run.folder import Entry
    from validate.scenario import Scenario

Place = tuple[str, int, int]
LEAST = 100  # records that a rate is told from


def look(scenario: Scenario, entry: Entry, ledger: Path) -> None:
    """Settles the entry by all looks that the scenario names."""
    ways: dict[str, Callable[[Any], list[str]]] = {
        "taken_up": lambda wanted: not_as_asked(ledger, wanted) + not_held(ledger, scenario.acts),
        "keys": lambda wanted: keys_left(ledger, wanted),
        "partitioned": lambda wanted: keys_astray(ledger, wanted, {t.name: t.partitions for t in scenario.topics}),
        "hooks": lambda wanted: hooks_astray(ledger, wanted, entry.notes),
        "rate": lambda wanted: rate_astray(ledger, wanted, scenario.workload.value_bytes, entry.notes),
    }
    for name, wanted in scenario.expect.looks.items():
        for told in ways[name](wanted):
            entry.settle("failed", told)


def _rows(ledger: Path, table: str, columns: list[str], filter_: Any = None) -> list[dict[str, Any]]:
    if not (ledger / table).is_dir():
        return []
    found: list[dict[str, Any]] = ds.dataset(ledger / table).to_table(columns=columns, filter=filter_).to_pylist()
    return found


def not_as_asked(ledger: Path, wanted: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Members that did not take up exactly the records that they were to, so many times each."""
    place = ["topic", "partition", "offset"]
    log = _rows(ledger, "log", [*place, "producer"])
    told = []
    for member, asked in wanted.items():
        of, places, times = asked.get("of"), asked.get("places"), asked.get("times", 1)
        owed = Counter(
            {
                _place(row): times
                for row in log
                if (of is None or row["producer"] in of)
                and (places is None or f"{row['topic']}/{row['partition']}" in places)
            }
        )
        had = Counter(_place(row) for row in _rows(ledger, "delivered", place, pc.field("member") == member))
        if had != owed:
            lacking, more = sum((owed - had).values()), sum((had - owed).values())
            told.append(f"{member} took up {had.total()} records where {owed.total()} were asked for: "
                        f"{lacking} lacking, {more} too many")  # fmt: skip
        elif not owed:
            told.append(f"{member} was asked for nothing: there are no such records")
    return told


def _place(row: Mapping[str, Any]) -> Place:
    return row["topic"], row["partition"], row["offset"]


def not_held(ledger: Path, acts: Iterable[Act]) -> list[str]:
    """Members that took up records of a partition while they were to leave it alone, or found nothing else to do."""
    told = []
    for act in acts:
        place = act.settings.get("hold")
        if act.verb != "start" or place is None:
            continue
        columns = ["topic", "partition", "position"]
        rows = _rows(ledger, "delivered", columns, pc.field("member") == act.who)
        within = range(act.settings["hold_after"], act.settings["hold_until"])
        during = Counter(f"{row['topic']}/{row['partition']}" for row in rows if row["position"] in within)
        if during[place]:
            told.append(f"{act.who} took up {during[place]} records of {place} while it was paused")
        elif during.total() < len(within):
            told.append(f"{act.who} took up {during.total()} records while {place} was paused, not {len(within)}")
    return told


def keys_left(ledger: Path, wanted: Mapping[str, int]) -> list[str]:
    """Topics in which not so many different keys are left."""
    left: dict[str, set[bytes]] = {topic: set() for topic in wanted}
    for row in _rows(ledger, "log", ["topic", "key"]):
        if row["topic"] in left and row["key"] is not None:
            left[row["topic"]].add(bytes(row["key"]))
    return [
        f"{topic} holds {len(left[topic])} different keys, not {count}"
        for topic, count in wanted.items()
        if len(left[topic]) != count
    ]


def keys_astray(ledger: Path, wanted: Mapping[str, str], shapes: Mapping[str, int]) -> list[str]:
    """Records of a producer that do not lie where its keys belong. Asked of the log alone."""
    seen: Counter[str] = Counter()
    astray: Counter[str] = Counter()
    for row in _rows(ledger, "log", ["topic", "partition", "key", "producer"]):
        way = wanted.get(row["producer"])
        if way is None:
            continue
        seen[row["producer"]] += 1
        home = None if row["key"] is None else partition_of(bytes(row["key"]), shapes[row["topic"]], way)
        astray[row["producer"]] += row["partition"] != home
    told = [f"{astray[one]} of {seen[one]} records of {one} lie where their key does not belong" for one in +astray]
    return told + [f"there is no record of {one}" for one in wanted if not seen[one]]


def hooks_astray(ledger: Path, wanted: Iterable[str], notes: list[str]) -> list[str]:
    """Producers whose hooks or whose client's own figures do not agree with the ledger."""
    told: list[str] = []
    for name in wanted:
        path = ledger / hooks.FOLDER / f"{name}.json"
        if not path.is_file():
            told.append(f"the hooks of {name} left nothing")
            continue
        seen = json.loads(path.read_text(encoding="utf-8"))
        columns = ["topic", "partition", "outcome", "value_crc"]
        rows = _rows(ledger, "sent", columns, pc.field("producer") == name)
        acked = [row for row in rows if row["outcome"] == "acked"]
        for word, records in (("sent", rows), ("acknowledged", acked)):
            if seen[word] != _sums(records):
                count = sum(count for count, _ in seen[word].values())
                told.append(f"the hook on what is {word} saw {count} records of {name}, the ledger {len(records)}")
        figures = seen["client"]
        if figures["messages"] != len(acked):
            told.append(f"the client of {name} counts {figures['messages']} records, the ledger {len(acked)}")
        seconds = figures["age_us"] / 1e6
        notes.append(
            f"{name}, by its client's own figures: {figures['messages']:,} records, {figures['requests']:,} requests, "
            f"{figures['messages'] / seconds if seconds else 0:,.0f} a second over its life, 99 of 100 answers within "
            f"{figures['latency_p99_us'] / 1000:.1f} ms, at most {seen['most_in_flight']} requests in flight."
        )
    return told


def _sums(rows: Iterable[Mapping[str, Any]]) -> dict[str, list[int]]:
    """As the hooks add up. The ledger's checksum is over all but the last four bytes, which hold it."""
    sums: dict[str, list[int]] = {}
    for row in rows:
        one = sums.setdefault(f"{row['topic']}-{row['partition']}", [0, 0])
        one[0] += 1
        one[1] += row["value_crc"]
    return sums


def rate_astray(ledger: Path, wanted: Mapping[str, Any], value_bytes: int, notes: list[str]) -> list[str]:
    """Whether what was acknowledged came at the rate that was to be, once the client had settled."""
    found = _rows(ledger, "sent", ["done_at", "outcome"], pc.field("producer") == wanted["of"])
    times = sorted(row["done_at"] for row in found if row["outcome"] == "acked")
    since = [at for at in times if times and (at - times[0]).total_seconds() >= wanted["after_s"]]
    if len(since) < LEAST:
        return [f"{wanted['of']} had {len(since)} records acknowledged after its first {wanted['after_s']} s: too few"]
    rate = (len(since) - 1) * value_bytes / (since[-1] - since[0]).total_seconds()
    told = f"{wanted['of']} got through {rate:,.0f} bytes a second, {wanted['bytes_per_s']:,.0f} are its quota."
    notes.append(told)
    return [] if abs(rate / wanted["bytes_per_s"] - 1) <= wanted["within"] else [told]
