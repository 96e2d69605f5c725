"""The histories themselves obey the form of a ledger, so that no judge may refuse them for another reason."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

import pytest

from tests.spark.histories import load_book
from tests.spark.histories.columns import FOLDERS, schema

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.spark.histories.book import History, Story

STORIES = [pytest.param(story, id=story.id) for story in load_book().values()]


def badly_counted(h: History) -> Iterator[str]:
    """Seqs are dense from 0, reserved ones included, and attempts of each record, too."""
    seqs: dict[Any, set[int]] = defaultdict(set)
    attempts: dict[Any, list[int]] = defaultdict(list)
    for row in h.rows["sent"]:
        lane = (row["producer"], row["topic"], row["partition"])
        seqs[lane].add(row["seq"])
        attempts[*lane, row["seq"]].append(row["attempt"])
    for row in h.rows["reservations"]:
        seqs[row["producer"], row["topic"], row["partition"]] |= set(range(row["seq_from"], row["seq_to"]))
    yield from (f"seqs of {lane}: {sorted(seen)}" for lane, seen in seqs.items() if seen != set(range(len(seen))))
    yield from (f"attempts of {lane}: {n}" for lane, n in attempts.items() if sorted(n) != list(range(len(n))))


def badly_placed(h: History) -> Iterator[str]:
    """One row per offset, and all of them within what was read."""
    bounds = {(row["topic"], row["partition"]): row for row in h.bounds_rows()}
    seen = set()
    for row in h.rows["log"]:
        place = (row["topic"], row["partition"])
        if (*place, row["offset"]) in seen:
            yield f"two rows at {place} {row['offset']}"
        seen.add((*place, row["offset"]))
        bound = bounds.get(place)
        end = bound and (bound["end_offset"] if bound.get("read_to") is None else bound["read_to"])
        if bound and not bound["start_offset"] <= row["offset"] < end:
            yield f"row outside of what was read: {place} {row['offset']}"


def nulls(h: History) -> Iterator[str]:
    for folder, rows in h.all_rows().items():
        required = [name for name in schema(folder).names if not schema(folder).field(name).nullable]
        yield from (f"{folder}.{name} is null in {row}" for row in rows for name in required if row.get(name) is None)


@pytest.mark.parametrize("story", STORIES)
def test_history_is_well_formed(story: Story) -> None:
    h = story.history(story.prefix)
    assert [*badly_counted(h), *badly_placed(h), *nulls(h)] == []
    named = [row["topic"] for rows in h.rows.values() for row in rows if "topic" in row]
    assert all(topic.startswith(story.prefix) for topic in named), "a topic without its prefix disturbs other histories"


def test_every_folder_is_written_by_some_history() -> None:
    written = {folder for story in load_book().values() for folder in story.history().all_rows()}
    assert written == set(FOLDERS)
