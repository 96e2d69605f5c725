"""What differs between two runs: verdicts, counts, outages, throughput. The first is what was, the second what is."""

from __future__ import annotations

from typing import Any

from validate.report import words
from validate.report.latency import WORDS

# Two runs are never alike to the millisecond: less than this says nothing.
OUTAGE_APART_S, OUTAGE_APART = 0.5, 0.1
RATE_APART = 0.05
LATENCY_APART_MS, LATENCY_APART = 1.0, 0.1

Row = dict[str, Any]


def compare(before: Row, after: Row) -> Row:
    """Two reports in, their differences out: rows of scenario, what, before, after and whether it is worse."""
    olds = {x["id"]: x for x in before["scenarios"]}
    news = {x["id"]: x for x in after["scenarios"]}
    rows: list[Row] = []
    for name in dict.fromkeys((*olds, *news)):
        if name in olds and name in news:
            rows += _scenario(name, olds[name], news[name])
        else:
            told = [x[name]["verdict"] if name in x else None for x in (olds, news)]
            rows.append(_row(name, "verdict", *told, worse=told[1] in (words.FAILED, words.UNKNOWN)))
    rows += _checks(before, after)
    return {
        "before": _named(before),
        "after": _named(after),
        "settings": _facts(before, after),
        "differences": rows,
        "worse": [f"{x['scenario']}: {x['what']}" for x in rows if x["worse"]],
    }


def _named(report: Row) -> Row:
    return {"run_id": report["run"]["run_id"], "verdict": report["verdict"], "started_at": report["run"]["started_at"]}


def _row(scenario: str, what: str, before: Any, after: Any, *, worse: bool) -> Row:
    return {"scenario": scenario, "what": what, "before": before, "after": after, "worse": worse}


def _facts(before: Row, after: Row) -> list[Row]:
    """What was not the same to begin with, so that nobody compares apples with pears unawares."""
    rows = []
    for part in ("run", "cluster", "machine"):
        apart = {"run_id", "started_at", "ended_at", "duration_s", "command"}
        for name in dict.fromkeys((*before[part], *after[part])):
            old, new = before[part].get(name), after[part].get(name)
            if old != new and name not in apart:
                rows.append({"what": f"{part}: {name}", "before": old, "after": new})
    return rows


def _scenario(name: str, old: Row, new: Row) -> list[Row]:
    rows = []
    if old["verdict"] != new["verdict"]:
        worse = words.SEVERITY[new["verdict"]] > words.SEVERITY[old["verdict"]] and new["verdict"] != words.PASSED
        rows.append(_row(name, "verdict", old["verdict"], new["verdict"], worse=worse))
    return (
        rows + _counts(name, old, new) + _outages(name, old, new) + _rates(name, old, new) + _latencies(name, old, new)
    )


# A check that was passed and is waived fails now, whatever the reason.
_CHECK_RANK = {words.SKIPPED: 0, words.PASSED: 1, words.WAIVED: 2, words.UNKNOWN: 3, words.FAILED: 4}


def _checks(before: Row, after: Row) -> list[Row]:
    """Security checks by their numbers. Those that only one run made are told in one row: the suites may differ."""
    olds, news = ({x["number"]: x["verdict"] for x in one.get("security") or []} for one in (before, after))
    rows = []
    for number in sorted(olds.keys() & news.keys()):
        was, now = olds[number], news[number]
        if was != now:
            worse = _CHECK_RANK[now] > max(_CHECK_RANK[was], _CHECK_RANK[words.PASSED])
            rows.append(_row(f"security {number}", "verdict", was, now, worse=worse))
    gone, come = (", ".join(map(str, sorted(these))) or None for these in (olds.keys() - news, news.keys() - olds))
    if olds and news and (gone or come):
        rows.append(_row("security", "checks of one run alone", gone, come, worse=False))
    bad = [n for n in sorted(news.keys() - olds.keys()) if news[n] in {words.FAILED, words.UNKNOWN}]
    return rows + [_row(f"security {number}", "verdict", None, news[number], worse=True) for number in bad]


def _counts(name: str, old: Row, new: Row) -> list[Row]:
    """Anomalies by their verdict, and classes of acked records that may not be there at all."""
    rows = []
    for what in ("lost", "undecided"):
        was, now = old["counts"][what], new["counts"][what]
        if was != now:
            rows.append(_row(name, f"records {what}", was, now, worse=now > was))
    olds, news = ((x["summary"] or {}).get("counts") or {} for x in (old, new))
    for anomaly in dict.fromkeys((*olds, *news)):
        for verdict in ("violation", "expected", "allowed"):
            was, now = (x.get(anomaly, {}).get(verdict, 0) for x in (olds, news))
            if was != now:
                worse = verdict == "violation" and now > was
                rows.append(_row(name, f"{anomaly} ({verdict})", was, now, worse=worse))
    return rows


def _outages(name: str, old: Row, new: Row) -> list[Row]:
    """The longest of each witness and kind in each topic; a partition's number is chance."""
    olds, news = _longest(old), _longest(new)
    rows = []
    for key in dict.fromkeys((*olds, *news)):
        was, now = olds.get(key, 0.0), news.get(key, 0.0)
        if abs(now - was) > max(OUTAGE_APART_S, OUTAGE_APART * max(was, now)):
            rows.append(_row(name, f"longest outage of {key}, s", was, now, worse=False))
    return rows


def _longest(scenario: Row) -> dict[str, float]:
    found: dict[str, float] = {}
    for x in scenario["outages"]:
        key = f"{x['topic']} ({x['witness']} {x['kind']})"
        found[key] = max(found.get(key, 0.0), x["high_s"] or 0.0)
    return found


def _rates(name: str, old: Row, new: Row) -> list[Row]:
    olds, news = ({x["name"]: x["acked_per_s"] for x in one["phases"]} for one in (old, new))
    rows = []
    for phase in dict.fromkeys((*olds, *news)):
        was, now = olds.get(phase), news.get(phase)
        if was != now and (was is None or now is None or abs(now - was) > RATE_APART * max(was, now)):
            rows.append(_row(name, f"acked per s, phase {phase}", was, now, worse=False))
    return rows


def _latencies(name: str, old: Row, new: Row) -> list[Row]:
    """Of loads with a shape, from when records were due; reports of old have no such entry."""
    olds, news = ((x.get("latency") or {}).get("all") or {} for x in (old, new))
    rows = []
    for key, word in WORDS.items():
        was, now = olds.get(key), news.get(key)
        if was != now and (
            was is None or now is None or abs(now - was) > max(LATENCY_APART_MS, LATENCY_APART * max(was, now))
        ):
            rows.append(_row(name, f"latency {word}, ms", was, now, worse=False))
    return rows


def shown(difference: Row) -> str:
    """The same in plain text, for the terminal and for a file."""
    was, now = difference["before"], difference["after"]
    lines = [f"{was['run_id']} ({was['verdict']}) -> {now['run_id']} ({now['verdict']})", ""]
    lines += [f"not the same to begin with: {x['what']}: {x['before']} -> {x['after']}" for x in difference["settings"]]
    lines += [""] if difference["settings"] else []
    rows = difference["differences"]
    cells = [(x["scenario"], x["what"], _cell(x["before"]), "->", _cell(x["after"]), _sign(x)) for x in rows]
    widths = [max((len(row[i]) for row in cells), default=0) for i in range(6)]
    lines += ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in cells]
    if not rows:
        lines.append("No difference in verdicts, counts, outages and throughput.")
    worse = difference["worse"]
    lines += ["", f"{words.many(len(worse), 'thing')} got worse." if worse else "Nothing got worse."]
    return "\n".join(lines) + "\n"


def _cell(value: Any) -> str:
    return "-" if value is None else f"{value:,}" if isinstance(value, (int, float)) else str(value)


def _sign(row: Row) -> str:
    return "WORSE" if row["worse"] else ""
