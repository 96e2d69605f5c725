"""What is counted of every table before anything is joined: rows, runs, clocks, and rows nobody can judge."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import reduce
from typing import TYPE_CHECKING

from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from validate.checks.finding import ATTEMPT
from validate.ledger.files import Problem
from validate.ledger.read import Ledger, invalid_rows, valid
from validate.ledger.schema import TABLES

if TYPE_CHECKING:
    from pyspark.sql import Column, Row

    from validate.first_pass import Settled

# What may stand only once in a table: two rows that differ cannot both be true.
_SINGLE: dict[str, list[str]] = {
    "sent": ATTEMPT,
    "transactions": ["txn"],
    "log_bounds": ["topic", "partition"],
}


@dataclass
class Counted:
    """The numbers of the first look."""

    rows: dict[str, int] = field(default_factory=dict)
    acked: int = 0  # of the rows that are judged
    outcomes: dict[str, int] = field(default_factory=dict)
    run_ids: list[str] = field(default_factory=list)
    tombstones: bool = False
    compacted: bool = False
    one_clock: bool = True
    repeated: dict[str, int] = field(default_factory=dict)


def count(ledger: Ledger, settled: Settled) -> Counted:
    """One job over all tables. Rows that break the schema are taken out of the ledger and told as problems."""
    left = [table for table in ledger.tables if settled.unsettled or table not in settled.rows]
    branches = [_branch(ledger, table) for table in left]
    branches += [_repeats(ledger, table) for table in _SINGLE if table in left]
    counted = Counted(rows=dict(settled.rows), outcomes={"acked": settled.acked}, run_ids=sorted(settled.run_ids))
    if not branches:
        return counted
    broken = _add_up(counted, reduce(DataFrame.unionAll, branches).collect())
    for table in sorted(broken):
        ledger.problems.extend(invalid_rows(ledger, table))
        ledger.tables[table] = ledger.tables[table].filter(valid(table))
    for table in counted.repeated:
        _drop_repeats(ledger, table)
    counted.acked = counted.outcomes.get("acked", 0)
    if "sent" in broken or "sent" in counted.repeated:
        counted.acked = settled.acked + ledger.tables["sent"].filter("outcome = 'acked'").count()
    if len(counted.run_ids) > 1:
        ledger.problems.append(
            Problem(
                "sent, reservations",
                f"{len(counted.run_ids)} runs are mixed: {', '.join(sorted(counted.run_ids)[:5])}",
                "Judge the ledger of each run alone.",
            )
        )
    return counted


def _add_up(counted: Counted, rows: list[Row]) -> set[str]:
    """Fill in the numbers; returns the tables that have rows nobody can judge."""
    clocks: set[int] = set()
    broken: set[str] = set()
    for row in rows:
        table, outcome = row["table"], row["outcome"]
        if table.startswith("twice:"):
            if row["n"]:
                counted.repeated[table.removeprefix("twice:")] = row["n"]
            continue
        counted.rows[table] = counted.rows.get(table, 0) + row["n"]
        if row["bad"]:
            broken.add(table)
        if outcome is not None and table == "sent":
            counted.outcomes[outcome] = counted.outcomes.get(outcome, 0) + row["n"]
        if row["run_id"] is not None and row["run_id"] not in counted.run_ids:
            counted.run_ids.append(row["run_id"])
        counted.tombstones = counted.tombstones or (table == "log" and bool(row["flagged"]))
        counted.compacted = counted.compacted or (table == "log_bounds" and bool(row["flagged"]))
        clocks |= {row["clock_low"], row["clock_high"]} - {None}
    counted.one_clock = len(clocks) <= 1
    return broken


def _branch(ledger: Ledger, table: str) -> DataFrame:
    frame = ledger.tables[table]
    nothing = f.lit(None).cast("string")
    keys: list[Column] = []
    if table in ("sent", "reservations"):
        keys.append(f.col("run_id"))
    if table == "sent":
        keys.append(f.col("outcome"))
    flagged = {"log": f.count_if("value_null"), "log_bounds": f.count_if(f.col("cleanup_policy").contains("compact"))}
    named = {column.name for column in TABLES[table]}
    clock = f.xxhash64("clock") if "clock" in named else f.lit(None).cast("bigint")
    counted = frame.groupBy(*keys).agg(
        f.count("*").alias("n"),
        f.count_if(~valid(table)).alias("bad"),
        flagged.get(table, f.lit(0).cast("bigint")).alias("flagged"),
        f.min(clock).alias("clock_low"),
        f.max(clock).alias("clock_high"),
    )
    return counted.select(
        f.lit(table).alias("table"),
        *((f.col(key) if key in counted.columns else nothing).alias(key) for key in ("run_id", "outcome")),
        "n", "bad", "flagged", "clock_low", "clock_high",
    )  # fmt: skip


def _repeats(ledger: Ledger, table: str) -> DataFrame:
    several = ledger.tables[table].groupBy(*_SINGLE[table]).agg(f.count("*").alias("times")).filter("times > 1")
    zero, nothing = f.lit(0).cast("bigint"), f.lit(None)
    return several.agg(f.count("*").alias("n")).select(
        f.lit(f"twice:{table}").alias("table"),
        nothing.cast("string").alias("run_id"), nothing.cast("string").alias("outcome"),
        "n", zero.alias("bad"), zero.alias("flagged"),
        nothing.cast("bigint").alias("clock_low"), nothing.cast("bigint").alias("clock_high"),
    )  # fmt: skip


def _drop_repeats(ledger: Ledger, table: str) -> None:
    """Two equal rows are one row written twice. Rows that differ are a problem; acked is believed, to hide no loss."""
    single = _SINGLE[table]
    frame = ledger.tables[table].distinct()
    differing = frame.groupBy(*single).agg(f.count("*").alias("times")).filter("times > 1").orderBy(*single)
    examples = differing.limit(3).collect()
    if table == "sent":
        order = f.min(
            f.struct(
                "outcome", "acked_offset", *(c for c in frame.columns if c not in {*single, "outcome", "acked_offset"})
            )
        )
        picked = frame.groupBy(*single).agg(order.alias("kept")).select(*single, "kept.*")
        ledger.tables[table] = picked.select(*frame.columns)
    else:
        ledger.tables[table] = frame
    if examples:
        named = "; ".join(", ".join(f"{key}={row[key]}" for key in single) for row in examples)
        ledger.problems.append(
            Problem(
                table,
                f"rows that contradict each other, e.g. for {named}",
                f"Write one row of {table} for each {', '.join(single)}.",
            )
        )
