"""What all pictures share: the scale of time, its axis, faults as named and shaded bands."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from validate.report import words
from validate.report.moments import SECOND_US, iso, micros
from validate.report.page.markup import Html, el

WIDTH, LEFT, RIGHT = 960, 128, 14
PLOT = WIDTH - LEFT - RIGHT
ROW = 15  # height of one line of text
_STEPS_S = (0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1800, 3600, 7200, 21600, 86400)
_TICKS = 10
_NARROW = 60  # a bar this wide holds its label


@dataclass(frozen=True)
class Scale:
    """The time that a scenario's pictures cover: the same for all of them, so that they can be compared by eye."""

    start_us: int
    end_us: int

    @property
    def length_s(self) -> float:
        return (self.end_us - self.start_us) / SECOND_US

    def x(self, at_us: int) -> float:
        """Where a moment stands; what lies outside stands at the edge."""
        part = (at_us - self.start_us) / max(1, self.end_us - self.start_us)
        return round(LEFT + PLOT * min(1.0, max(0.0, part)), 1)

    def ticks(self) -> list[tuple[float, str]]:
        step = next((s for s in _STEPS_S if self.length_s / s <= _TICKS), _STEPS_S[-1])
        count = min(int(self.length_s / step), 2 * _TICKS)
        return [(self.x(self.start_us + round(i * step * SECOND_US)), f"{i * step:g} s") for i in range(count + 1)]


def scale_of(scenario: dict[str, Any]) -> Scale | None:
    """From the first to the last thing that a picture shows; None where there is nothing to show."""
    line = scenario["timeline"]
    start = micros(line["start"])
    times = [] if start is None else [start, start + line["buckets"] * line["step_ms"] * 1000]
    for fault in scenario["faults"]:
        times += [at for name in ("begin", "bit", "healed") if (at := micros(fault[name])) is not None]
    for row in scenario["outages"]:
        times += [at for one in row["spans"] for name in ("since", "until") if (at := micros(one[name])) is not None]
    return Scale(min(times), max(times)) if times and max(times) > min(times) else None


def axis(scale: Scale, top: float, bottom: float) -> list[Html]:
    """Lines through the whole picture and their times under it."""
    drawn = []
    for x, label in scale.ticks():
        drawn.append(el("line", x1=x, x2=x, y1=top, y2=bottom, class_="grid"))
        drawn.append(el("text", label, x=x, y=bottom + 12, class_="tick"))
    return drawn


def fault_height(scenario: dict[str, Any]) -> int:
    return ROW * len(scenario["faults"][:MOST_FAULTS]) + 4


MOST_FAULTS = 12


def faults(scenario: dict[str, Any], scale: Scale, bottom: float) -> list[Html]:
    """Each fault: a shade from begin to healed, a dashed line where it bit, its name on a line of its own."""
    drawn = []
    for i, fault in enumerate(scenario["faults"][:MOST_FAULTS]):
        y = ROW * i
        known = [at for name in ("begin", "bit") if (at := micros(fault[name])) is not None]
        if not known:
            continue
        healed = micros(fault["healed"])
        left, right = scale.x(known[0]), scale.x(scale.end_us if healed is None else healed)
        width = max(1.5, round(right - left, 1))
        name = f"{fault['fault']} {fault['target']}"
        told = (
            f"{name}: begun {fault['begin']}, bit {fault['bit'] or 'never seen'}, healed {fault['healed'] or 'never'}"
        )
        said = name + ("" if healed is not None else ", not healed")
        shade = el("rect", x=left, y=y, width=width, height=round(bottom - y, 1), class_="shade")
        bar = el("rect", el("title", told), x=left, y=y + 1, width=width, height=ROW - 3, class_="fault")
        drawn += [shade, bar]
        if (bit := micros(fault["bit"])) is not None:
            drawn.append(el("line", x1=scale.x(bit), x2=scale.x(bit), y1=y, y2=bottom, class_="bit"))
        right_half = left > LEFT + PLOT * 0.7
        drawn.append(
            el(
                "text",
                said,
                x=left - 4 if right_half else left + 4,
                y=y + ROW - 5,
                class_="end name" if right_half else "name",
            )
        )
    return drawn


def bar(scale: Scale, since: str | None, until: str | None, y: float, height: float, **more: Any) -> list[Html]:
    """A stretch of time with its length inside or, where `room` says there is some, beside it; `told` is its title."""
    begin, end = micros(since), micros(until)
    if begin is None or end is None:
        return []
    left, right = scale.x(begin), scale.x(end)
    width = max(1.5, round(right - left, 1))
    label = more.get("label") or words.seconds((end - begin) / SECOND_US)
    shape = el("rect", el("title", more["told"]), x=left, y=y, width=width, height=height, class_=more["class_"])
    if width >= _NARROW:
        return [shape, el("text", label, x=round((left + right) / 2, 1), y=y + height - 2, class_="on")]
    if more.get("room", 0) >= _NARROW:
        return [shape, el("text", label, x=right + 4, y=y + height - 2, class_="lab")]
    return [shape]


def clock(at_us: int) -> str:
    """The time of day, in UTC, to the second."""
    whole = iso(at_us) or ""
    return whole[11:19]


def picture(height: float, title: str, told: str, content: list[Any], **more: Any) -> Html:
    """The frame of a drawing: named and described for those who do not see it."""
    box = f"0 0 {WIDTH} {round(height)}"
    return el(
        "svg",
        el("title", title),
        el("desc", told),
        content,
        viewBox=box,
        role="img",
        aria_label=f"{title}. {told}",
        **more,
    )
