"""The timeline of one topic: acked and refused per 100 ms, each partition's own lane, outages under it."""

from __future__ import annotations

from typing import Any

from validate.report import words
from validate.report.moments import micros
from validate.report.page import drawing
from validate.report.page.drawing import LEFT, PLOT, WIDTH, Scale
from validate.report.page.markup import Html, el

CHART, BELOW, LANE = 96, 30, 12
MOST_LANES = 16
_NICE = (1, 2, 5)
# A column is a burst if it is so many times what 95 of 100 busy ones reach; the axis then leaves room above those.
_USUAL, _BURST, _ROOM, _PEAKS = 0.95, 2.5, 1.6, 4
_LABEL = 26  # half of a label: it must not run out of the picture
_WITNESSES = (("fresh", "write"), ("running", "write"), ("fresh", "read"), ("running", "read"))

Values = list[float]


def timeline(scenario: dict[str, Any], topic: str, scale: Scale, columns: int) -> Html:
    """The whole picture with its words; `columns` bounds how finely it is drawn, never what is counted."""
    line = scenario["timeline"]
    partitions = line["topics"].get(topic, {})
    wide = max(1, -(-line["buckets"] // columns))
    totals = {name: _total(partitions, name, line["buckets"]) for name in ("acked", "refused", "unknown")}
    drawn = {name: _columns(values, wide) for name, values in totals.items()}
    counted = {name: int(sum(values)) for name, values in totals.items()}
    top = drawing.fault_height(scenario)
    below = BELOW if counted["refused"] or counted["unknown"] else 0
    lanes = _lanes(scenario, topic, partitions)
    shown = lanes[:MOST_LANES]
    lane_top = top + CHART + below + 10
    bottom = lane_top + sum(LANE * (1 + len(rows)) + 5 for _, rows in shown)
    place = _Place(scale, line, wide)
    content: list[Any] = [
        *drawing.axis(scale, top, bottom),
        *drawing.faults(scenario, scale, bottom),
        *_chart(place, drawn, top, below),
        *_lanes_drawn(place, shown, partitions, lane_top),
    ]
    per = f"{line['step_ms']} ms"
    told = _told(counted, per, lanes)
    figure = drawing.picture(
        bottom + 18,
        f"{topic}: acked and refused per {per}",
        told,
        content,
        class_="chart",
        data_acked=_numbers(drawn["acked"]),
        data_refused=_numbers(drawn["refused"]) if counted["refused"] else None,
        data_unknown=_numbers(drawn["unknown"]) if counted["unknown"] else None,
        data_from=place.left,
        data_to=place.right,
        data_step=wide * line["step_ms"],
        data_per=line["step_ms"],
        data_start=line["start"],
        tabindex="0",
    )
    hidden = len(lanes) - len(shown)
    more = f" {words.many(hidden, 'quieter partition')} not drawn; report.json has all." if hidden else ""
    said = el("figcaption", el("strong", topic), " ", told, more, " ", el("output", class_="at"))
    return el("figure", said, el("div", figure, class_="wide"))


class _Place:
    """Where the buckets of the timeline stand in the picture."""

    def __init__(self, scale: Scale, line: dict[str, Any], wide: int) -> None:
        start = micros(line["start"])
        self.scale, self.line, self.wide = scale, line, wide
        self.left = LEFT if start is None else scale.x(start)
        end = (start or 0) + line["buckets"] * line["step_ms"] * 1000
        self.right = LEFT + PLOT if start is None else scale.x(end)

    def plot(self, values: Values, y: float, height: float, *, top: float, class_: str) -> Html | None:
        """Values as columns of whole steps in a box that stretches, so that the path is short."""
        path = _steps([_level(v, top, height) for v in values], height, 1)
        if not path:
            return None
        box = {"x": self.left, "y": y, "width": round(self.right - self.left, 1), "height": height}
        view = f"0 0 {len(values)} {height}"
        return el("svg", el("path", d=path, class_=class_), viewBox=view, preserveAspectRatio="none", **box)

    def hang(self, values: Values, y: float, height: float, *, top: float, class_: str) -> Html | None:
        """The same, downwards and unstretched: a stretched pattern cannot be told from another."""
        path = _steps([-_level(v, top, height) for v in values], 0, (self.right - self.left) / max(1, len(values)))
        return el("path", d=path, transform=f"translate({self.left} {y})", class_=class_) if path else None

    def cut(self, values: Values, top: float, y: float) -> list[Html]:
        """How high the columns are that the picture cuts: the highest few, each where it stands."""
        peaks: list[tuple[float, int]] = []
        for i, value in enumerate(values):
            if value <= top:
                continue
            if peaks and i - peaks[-1][1] <= len(values) // 12:
                peaks[-1] = max(peaks[-1], (value, i))
            else:
                peaks.append((value, i))
        wide = (self.right - self.left) / max(1, len(values))
        drawn = []
        for value, i in sorted(peaks, reverse=True)[:_PEAKS]:
            x = min(max(self.left + wide * (i + 0.5), LEFT + _LABEL), LEFT + PLOT - _LABEL)
            drawn.append(el("text", f"▲ {value:,.0f}", x=round(x, 1), y=y, class_="on"))
        return drawn


def _total(partitions: dict[str, Any], outcome: str, buckets: int) -> Values:
    total: Values = [0.0] * buckets
    for counts in partitions.values():
        for i, n in enumerate(counts.get(outcome, ())):
            total[i] += n
    return total


def _columns(values: Values, wide: int) -> Values:
    """The mean of every `wide` buckets: still a number per bucket."""
    if wide == 1:
        return values
    return [sum(values[i : i + wide]) / len(values[i : i + wide]) for i in range(0, len(values), wide)]


def _level(value: float, top: float, height: float) -> int:
    """What is not nothing is seen, be it ever so little."""
    return min(int(height), max(1, round(value / top * height))) if value > 0 else 0


def _steps(levels: list[int], base: float, wide: float) -> str:
    """A closed path of columns, upwards from `base` where levels are positive; equal neighbours are one."""
    if not any(levels):
        return ""
    parts, now, run = [f"M0 {base}"], 0, 0
    for level in [*levels, 0]:
        if level != now:
            parts.append((f"h{run * wide:g}" if run else "") + f"v{now - level}")
            now, run = level, 0
        run += 1
    return "".join(parts) + "z"


def _ceiling(values: Values) -> float:
    """The top of the axis. A short burst, as after an outage, is cut and named: it must not flatten all the rest."""
    busy = sorted(v for v in values if v > 0)
    if not busy:
        return 1.0
    usual = busy[int(_USUAL * (len(busy) - 1))]
    return _nice(busy[-1]) if busy[-1] <= _BURST * usual else _nice(usual * _ROOM)


def _nice(value: float) -> float:
    """The next round number above, so that the axis has a label people can read."""
    size = 1.0
    while True:
        for step in _NICE:
            if value <= step * size:
                return step * size
        size *= 10


def _chart(place: _Place, drawn: dict[str, Values], top: float, below: int) -> list[Any]:
    most = _ceiling(drawn["acked"])
    zero = top + CHART
    content: list[Any] = [
        el("line", x1=LEFT, x2=LEFT + PLOT, y1=zero, y2=zero, class_="zero"),
        el("line", x1=LEFT, x2=LEFT + PLOT, y1=top + 2, y2=top + 2, class_="grid"),
        el("text", f"{most:,.0f}", x=LEFT - 6, y=top + 10, class_="end tick"),
        el("text", "acked", x=LEFT - 6, y=top + CHART / 2, class_="end lab"),
        el("text", f"per {place.line['step_ms']} ms", x=LEFT - 6, y=top + CHART / 2 + 12, class_="end tick"),
        el("text", "0", x=LEFT - 6, y=zero + 1, class_="end tick"),
        place.plot(drawn["acked"], top + 2, CHART - 2, top=most, class_="acked"),
        *place.cut(drawn["acked"], most, top + 12),
    ]
    if below:
        both = [a + b for a, b in zip(drawn["refused"], drawn["unknown"], strict=True)]
        deepest = _nice(max([1.0, *both]))
        names = [name for name in ("refused", "unknown") if any(drawn[name])]
        content += [
            el("text", " / ".join(names), x=LEFT - 6, y=zero + 16, class_="end lab"),
            el("text", f"{deepest:,.0f}", x=LEFT - 6, y=zero + below, class_="end tick"),
            place.hang(both if any(drawn["unknown"]) else [], zero + 1, below, top=deepest, class_="unsure"),
            place.hang(drawn["refused"], zero + 1, below, top=deepest, class_="refused"),
        ]
    return content


def _lanes(scenario: dict[str, Any], topic: str, partitions: dict[str, Any]) -> list[tuple[int, list[dict[str, Any]]]]:
    """Each partition with its outages; those with the longest come first, so that the cut takes the quiet ones."""
    rows: dict[int, list[dict[str, Any]]] = {int(name): [] for name in partitions}
    for row in scenario["outages"]:
        if row["topic"] == topic and row["spans"]:
            rows.setdefault(row["partition"], []).append(row)
    for each in rows.values():
        each.sort(key=lambda r: _WITNESSES.index((r["witness"], r["kind"])))
    if len(rows) <= MOST_LANES:
        return sorted(rows.items())
    return sorted(rows.items(), key=lambda x: (-max((r["high_s"] or 0 for r in x[1]), default=0), x[0]))


def _lanes_drawn(place: _Place, lanes: list[Any], partitions: dict[str, Any], y: float) -> list[Any]:
    content: list[Any] = []
    acked = {name: _columns(list(map(float, x.get("acked", ()))), place.wide) for name, x in partitions.items()}
    most = _ceiling([v for values in acked.values() for v in values])
    for partition, rows in lanes:
        content.append(el("line", x1=8, x2=WIDTH - drawing.RIGHT, y1=y - 2, y2=y - 2, class_="grid"))
        content.append(el("text", f"partition {partition} acked", x=LEFT - 6, y=y + LANE - 2, class_="end lab"))
        content.append(place.plot(acked.get(str(partition), []), y, LANE - 2, top=most, class_="acked"))
        y += LANE
        for row in rows:
            content.append(el("text", f"{row['witness']} {row['kind']}", x=LEFT - 6, y=y + LANE - 3, class_="end tick"))
            content += _outages(place.scale, row, y)
            y += LANE
        y += 5
    return content


def _outages(scale: Scale, row: dict[str, Any], y: float) -> list[Html]:
    """One row of bars; a short one tells its length only if the next is far enough away."""
    drawn: list[Html] = []
    starts = [scale.x(micros(x["since"]) or 0) for x in row["spans"]]
    for one, following in zip(row["spans"], [*starts[1:], LEFT + PLOT], strict=True):
        told = (
            f"{row['witness']} {row['kind']} outage of {words.seconds(one['high_s'])}, {one['since']} to {one['until']}"
        )
        room = following - scale.x(micros(one["until"]) or 0)
        class_ = f"out {row['witness']}"
        drawn += drawing.bar(scale, one["since"], one["until"], y, LANE - 2, class_=class_, told=told, room=room)
    return drawn


def _told(counted: dict[str, int], per: str, lanes: list[tuple[int, list[dict[str, Any]]]]) -> str:
    said = [f"{counted['acked']:,} acked"]
    said += [f"{counted[name]:,} {name}" for name in ("refused", "unknown") if counted[name]]
    down = [x for x in lanes if x[1]]
    if down:
        longest = max(r["high_s"] or 0 for _, rows in down for r in rows)
        said.append(f"outages in {words.many(len(down), 'partition')}, the longest at most {words.seconds(longest)}")
    return ", ".join(said) + f", drawn per {per}."


def _numbers(values: Values) -> str:
    """Short: whole numbers without a point."""
    return " ".join(f"{v:.1f}".removesuffix(".0") for v in values)
