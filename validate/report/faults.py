"""Faults and in-sync sets as stretches of time: from lines that say what happened to spans that can be drawn."""

from __future__ import annotations

from typing import Any

from validate.report.moments import iso, micros

Row = dict[str, Any]


def fault_spans(rows: list[Row]) -> list[Row]:
    """One span per fault and target, from begin to healed; a fault without a healed line has no end."""
    timed = [(at, row) for row in rows if (at := micros(row["at"])) is not None]
    found: list[Row] = []
    open_now: dict[tuple[str, str], Row] = {}
    for at, row in sorted(timed, key=lambda x: x[0]):
        key = (str(row["fault"]), str(row["target"]))
        if row["phase"] == "begin" or key not in open_now:
            open_now[key] = {
                "fault": key[0],
                "target": key[1],
                "begin": None,
                "bit": None,
                "healed": None,
                "detail": "",
            }
            found.append(open_now[key])
        one = open_now[key]
        if row["phase"] in ("begin", "bit", "healed"):
            one[row["phase"]] = iso(at)
        one["detail"] = "; ".join(filter(None, (one["detail"], str(row.get("detail") or ""))))
        if row["phase"] == "healed":
            del open_now[key]
    return found


def isr_spans(rows: list[Row]) -> list[Row]:
    """One row per partition: the states it went through, each until the next."""
    partitions: dict[tuple[str, int], list[Row]] = {}
    for row in rows:
        at = micros(row["at"])
        if at is not None and isinstance(row["isr"], list) and isinstance(row["partition"], int):
            state = {"at_us": at, "leader": row.get("leader"), "replicas": row.get("replicas") or [], "isr": row["isr"]}
            partitions.setdefault((str(row["topic"]), row["partition"]), []).append(state)
    return [_partition(*key, states) for key, states in sorted(partitions.items())]


def _partition(topic: str, partition: int, states: list[Row]) -> Row:
    states.sort(key=lambda x: x["at_us"])
    # Where replicas are not named, the widest set ever seen is the best that is known of them.
    replicas = max((x["replicas"] or x["isr"] for x in states), key=len)
    shown: list[Row] = []
    for state in states:
        same = shown and (shown[-1]["isr"], shown[-1]["leader"]) == (sorted(state["isr"], key=str), state["leader"])
        if not same:
            isr = sorted(state["isr"], key=str)
            shown.append({"since": iso(state["at_us"]), "leader": state["leader"], "isr": isr})
    return {
        "topic": topic,
        "partition": partition,
        "replicas": replicas,
        "least": min(len(x["isr"]) for x in shown),
        "leaders": len({x["leader"] for x in shown}),
        "states": shown,
    }
