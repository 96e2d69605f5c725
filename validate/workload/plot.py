"""Pictures of what a workload took up: SVG, drawn without any library, shown in the report."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING
from xml.sax.saxutils import escape

from validate.sample import iris

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from pathlib import Path

FOLDER = "pictures"
WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 560, 400, 52, 130, 34, 46
# Told apart by form as well, for those who see no colours.
MARKS = {"circle": "#0072b2", "square": "#d55e00", "triangle": "#009e73"}


@dataclass(frozen=True)
class Point:
    across: float
    up: float
    kind: str


@dataclass(frozen=True)
class Axis:
    name: str
    low: int
    high: int
    """Fixed, so that two pictures can be compared."""


def flowers(texts: Iterable[str]) -> str:
    points = []
    for text in texts:
        length, width, _, _, kind = text.split(",")
        points.append(Point(float(length), float(width), kind))
    return scatter(
        f"{len(points)} flowers by sepal",
        Axis("sepal length, cm", 4, 8),
        Axis("sepal width, cm", 2, 5),
        points,
        iris.KINDS,
    )


PLOTS: Mapping[str, Callable[[Iterable[str]], str]] = {"iris": flowers}


def write(plot: str, texts: Iterable[str], ledger: Path, name: str) -> Path:
    folder = ledger / FOLDER
    folder.mkdir(exist_ok=True)
    path = folder / f"{name}.svg"
    path.write_text(PLOTS[plot](texts), encoding="utf-8")
    return path


def scatter(title: str, x: Axis, y: Axis, points: Iterable[Point], kinds: Iterable[str]) -> str:
    form = dict(zip(kinds, MARKS, strict=False))
    found = list(points)
    body = [_text(WIDTH / 2, 20, title, "middle", 15), *_axes(x, y)]
    body += [_mark(form.get(p.kind, "circle"), _at_x(p.across, x), _at_y(p.up, y)) for p in found]
    for row, (kind, shape) in enumerate(form.items()):
        height = TOP + 14 + 20 * row
        count = sum(p.kind == kind for p in found)
        body.append(_mark(shape, WIDTH - RIGHT + 14, height - 4))
        body.append(_text(WIDTH - RIGHT + 26, height, f"{kind} ({count})", "start"))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" '
        f'role="img" font-family="sans-serif"><title>{escape(title)}</title>'
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>{"".join(body)}</svg>\n'
    )


def _at_x(value: float, axis: Axis) -> float:
    return LEFT + (value - axis.low) / (axis.high - axis.low) * (WIDTH - LEFT - RIGHT)


def _at_y(value: float, axis: Axis) -> float:
    return HEIGHT - BOTTOM - (value - axis.low) / (axis.high - axis.low) * (HEIGHT - TOP - BOTTOM)


def _axes(x: Axis, y: Axis) -> list[str]:
    right, floor = WIDTH - RIGHT, HEIGHT - BOTTOM
    drawn = [_line(LEFT, floor, right, floor), _line(LEFT, floor, LEFT, TOP)]
    drawn += [_text(_at_x(value, x), floor + 18, str(value), "middle") for value in range(x.low, x.high + 1)]
    drawn += [_text(LEFT - 8, _at_y(value, y) + 4, str(value), "end") for value in range(y.low, y.high + 1)]
    drawn.append(_text((LEFT + right) / 2, HEIGHT - 8, x.name, "middle"))
    turned = f'transform="rotate(-90 14 {(TOP + floor) / 2:.1f})"'
    return [*drawn, _text(14, (TOP + floor) / 2, y.name, "middle", more=turned)]


def _line(x1: float, y1: float, x2: float, y2: float) -> str:
    return f'<line x1="{x1}" y1="{y1}" x2="{x2}" y2="{y2}" stroke="#444444"/>'


def _text(x: float, y: float, text: str, anchor: str, size: int = 12, *, more: str = "") -> str:
    place = f'x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}" fill="#222222"'
    return f"<text {place} {more}>{escape(text)}</text>"


def _mark(shape: str, x: float, y: float) -> str:
    colour = f'fill="{MARKS[shape]}" fill-opacity="0.65"'
    if shape == "square":
        return f'<rect x="{x - 4:.1f}" y="{y - 4:.1f}" width="8" height="8" {colour}/>'
    if shape == "triangle":
        return f'<path d="M{x:.1f} {y - 5:.1f}l5 9h-10z" {colour}/>'
    return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4.5" {colour}/>'
