"""In-sync replicas over time: a lane for every partition whose set or leader changed."""

from __future__ import annotations

from typing import Any

from validate.report import words
from validate.report.moments import iso, micros
from validate.report.page import drawing
from validate.report.page.drawing import LEFT, Scale
from validate.report.page.markup import Html, el, table

LANE = 19
MOST_LANES = 40
MOST_CHANGES = 200


def insync(scenario: dict[str, Any], scale: Scale | None) -> list[Html | None]:
    rows = scenario["isr"]
    if not rows:
        return [el("p", "No in-sync sets were recorded.", class_="quiet")]
    moved = [x for x in rows if len(x["states"]) > 1 or x["least"] < len(x["replicas"])]
    still = len(rows) - len(moved)
    said = []
    if still:
        said.append(f"{words.many(still, 'partition')} kept every replica in sync and the same leader throughout.")
    if len(moved) > MOST_LANES:
        said.append(f"{MOST_LANES} of {len(moved)} that changed are drawn; report.json has all.")
    drawn = _figure(scenario, moved[:MOST_LANES], scale) if moved and scale else None
    return [el("p", " ".join(said)) if said else None, drawn, _changes(moved) if moved else None]


def _figure(scenario: dict[str, Any], rows: list[dict[str, Any]], scale: Scale) -> Html:
    top = drawing.fault_height(scenario)
    bottom = top + LANE * len(rows) + 4
    content: list[Any] = [*drawing.axis(scale, top, bottom), *drawing.faults(scenario, scale, bottom)]
    for i, row in enumerate(rows):
        y = top + LANE * i + 4
        label = f"{row['topic']}-{row['partition']}"
        content.append(el("text", el("title", label), _short(label), x=LEFT - 6, y=y + 10, class_="end lab"))
        content += _lane(row, scale, y)
    title = "In-sync replicas over time"
    told = (
        f"{words.many(len(rows), 'partition')} changed. A thin line: all in sync. A block: how many of how many were."
    )
    figure = drawing.picture(bottom + 18, title, told, content)
    key = (
        "Thin line: every replica in sync. Hatched block: 2/3 reads two of three replicas in sync. L4: broker 4 leads."
    )
    return el("figure", el("figcaption", key), el("div", figure, class_="wide", tabindex="0"))


def _short(label: str) -> str:
    most = 22
    return label if len(label) <= most else f"{label[:9]}…{label[-12:]}"


def _lane(row: dict[str, Any], scale: Scale, y: float) -> list[Html]:
    content: list[Html] = []
    whole = len(row["replicas"])
    ends = [*(x["since"] for x in row["states"][1:]), iso(scale.end_us)]
    leader = object()
    for state, until in zip(row["states"], ends, strict=True):
        n = len(state["isr"])
        named = "" if state["leader"] == leader else f"L{state['leader']}"
        leader = state["leader"]
        in_sync = ", ".join(map(str, state["isr"]))
        told = f"from {state['since']}: {n} of {whole} in sync ({in_sync or 'none'}), leader {state['leader']}"
        label = " ".join(filter(None, (f"{n}/{whole}" if n < whole else "", named)))
        if n < whole:
            content += drawing.bar(scale, state["since"], until, y, 12, class_="short", told=told, label=label, room=0)
        else:
            content += drawing.bar(scale, state["since"], until, y + 5, 3, class_="whole", told=told, label=" ")
            if named:
                at = micros(state["since"])
                content.append(el("text", named, x=scale.x(at or 0) + 3, y=y + 4, class_="mini"))
    return content


def _changes(rows: list[dict[str, Any]]) -> Html:
    changes = ((x["since"], f"{r['topic']}-{r['partition']}", x, r) for r in rows for x in r["states"][1:])
    lines = sorted(changes, key=lambda x: x[:2])
    told = [
        [since[11:23], place, f"{len(x['isr'])} of {len(r['replicas'])}", ", ".join(map(str, x["isr"])), x["leader"]]
        for since, place, x, r in lines[:MOST_CHANGES]
    ]
    heads = ["at (UTC)", "partition", "in sync", "which", "leader"]
    more = f", the first {MOST_CHANGES}" if len(lines) > MOST_CHANGES else ""
    return el("details", el("summary", f"{words.many(len(lines), 'change')} as a table{more}"), table(heads, told))
