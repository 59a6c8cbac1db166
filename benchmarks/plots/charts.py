"""Charts as SVG that a phone shows in full, in light and in dark.

All have the width of a narrow phone, so that their text is read there; elsewhere they are shown
larger. What a line or bar stands for is told by its colour and, of lines, by its mark.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from xml.sax.saxutils import escape

WIDTH, SHOWN = 360, 560  # in units of the drawing, and in pixels where there is room
#: of each series, in light and in dark: told apart by those who see few colours as well
COLOURS = (
    ("#00796b", "#4db6ac"),
    ("#c25e00", "#ffb74d"),
    ("#3949ab", "#9fa8da"),
    ("#ad1457", "#f48fb1"),
    ("#5d6d1e", "#c5d86d"),
)
MARKS = ("circle", "square", "diamond", "cross", "plus")
STYLE = "".join(
    (
        "text{fill:#212121;font:11px sans-serif}.small{font-size:10px}.title{font-weight:bold}",
        ".end{text-anchor:end}.mid{text-anchor:middle}.back{fill:#fff}",
        ".grid{stroke:#ddd}.one{stroke:#616161;stroke-dasharray:4 3}path,line{fill:none}",
        *(f".s{k}{{stroke:{light}}}.f{k}{{fill:{light}}}" for k, (light, _) in enumerate(COLOURS)),
        "@media(prefers-color-scheme:dark){text{fill:#e0e0e0}.back{fill:#1e2129}",
        ".grid{stroke:#3a3f4b}.one{stroke:#bdbdbd}",
        *(f".s{k}{{stroke:{dark}}}.f{k}{{fill:{dark}}}" for k, (_, dark) in enumerate(COLOURS)),
        "}",
    )
)

Points = Sequence[tuple[float, float]]


@dataclass(frozen=True)
class Scale:
    """A logarithmic axis from `low` to `high`, along `begin` to `end` of the drawing."""

    low: float
    high: float
    begin: float
    end: float

    def at(self, value: float) -> float:
        share = math.log(value / self.low) / math.log(self.high / self.low)
        return self.begin + (self.end - self.begin) * min(1.0, max(0.0, share))

    def ticks(self, steps: Sequence[float]) -> list[float]:
        decades = range(math.floor(math.log10(self.low)), math.ceil(math.log10(self.high)) + 1)
        found = (step * 10.0**decade for decade in decades for step in steps)
        return [tick for tick in found if self.low * 0.999 <= tick <= self.high * 1.001]


def number(value: float) -> str:
    """A number as people write it: 0.25, 3, 100k, 1M."""
    for size, name in ((1e6, "M"), (1e3, "k")):
        if value >= size:
            return f"{value / size:g}{name}"
    return f"{value:.0f}" if value >= 10 else f"{float(f'{value:.2f}'):g}"


def text(x: float, y: float, content: str, kind: str = "") -> str:
    shown = f' class="{kind}"' if kind else ""
    return f'<text x="{x:.1f}" y="{y:.1f}"{shown}>{escape(content)}</text>'


def line(kind: str, x1: float, y1: float, x2: float, y2: float) -> str:
    return f'<line class="{kind}" x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"/>'


def box(series: int, x: float, y: float, width: float) -> str:
    return f'<rect class="f{series}" x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="10"/>'


def mark(series: int, x: float, y: float) -> str:
    """The point of a line: each series has another form."""
    form = MARKS[series]
    if form == "circle":
        return f'<circle class="f{series}" cx="{x:.1f}" cy="{y:.1f}" r="2.8"/>'
    if form == "square":
        return f'<rect class="f{series}" x="{x - 2.5:.1f}" y="{y - 2.5:.1f}" width="5" height="5"/>'
    shapes = {
        "diamond": f"M{x:.1f} {y - 3.6:.1f}l3.6 3.6l-3.6 3.6l-3.6-3.6z",
        "cross": f"M{x - 2.6:.1f} {y - 2.6:.1f}l5.2 5.2m0-5.2l-5.2 5.2",
        "plus": f"M{x - 3.2:.1f} {y:.1f}h6.4m-3.2-3.2v6.4",
    }
    filled = f'fill="currentColor" class="f{series}"' if form == "diamond" else f'class="s{series}"'
    return f'<path {filled} stroke-width="1.6" d="{shapes[form]}"/>'


def picture(title: str, height: float, parts: Iterable[str]) -> str:
    drawn = "".join(parts)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height:.0f}" '
        f'width="{SHOWN}" height="{height * SHOWN / WIDTH:.0f}" role="img">'
        f"<title>{escape(title)}</title><style>{STYLE}</style>"
        f'<rect class="back" width="{WIDTH}" height="{height:.0f}"/>{drawn}</svg>\n'
    )


def legend(names: Sequence[str], y: float, marked: bool) -> tuple[list[str], float]:
    """Which series is which, in as many rows as that takes; and where it ends."""
    parts, x = [], 8.0
    for series, name in enumerate(names):
        width = 30 + 6.4 * len(name)
        if x + width > WIDTH and x > 8:
            x, y = 8.0, y + 16
        if marked:
            parts += [line(f"s{series}", x, y - 4, x + 16, y - 4), mark(series, x + 8, y - 4)]
        else:
            parts.append(
                f'<rect class="f{series}" x="{x + 4}" y="{y - 9}" width="10" height="10"/>'
            )
        parts.append(text(x + 20, y, name))
        x += width
    return parts, y + 8


def lines(
    title: str,
    panels: Mapping[str, Mapping[str, Points]],
    ordinate: str,
    abscissa: str,
    columns: int = 2,
) -> str:
    """Panels of lines over logarithmic axes, with a line where both are alike, at 1."""
    names = list(dict.fromkeys(name for panel in panels.values() for name in panel))
    parts, top = legend(names, 16, marked=True)
    every = [point for panel in panels.values() for points in panel.values() for point in points]
    low, high = min(y for _, y in every), max(y for _, y in every)
    width, tall = WIDTH / columns, 180
    for place, (name, panel) in enumerate(panels.items()):
        left, up = place % columns * width, top + place // columns * tall
        xs = [x for points in panel.values() for x, _ in points]
        across = Scale(min(xs), max(xs), left + 34, left + width - 10)
        along = Scale(min(low, 1) * 0.9, high * 1.1, up + tall - 34, up + 22)
        if name:
            parts.append(text(left + 34, up + 14, name, "title small"))
        for tick in along.ticks((1, 2, 5) if high < 40 * low else (1,)):
            y = along.at(tick)
            kind = "one" if tick == 1 else "grid"
            parts.append(line(kind, across.begin, y, across.end, y))
            parts.append(text(left + 30, y + 3.5, number(tick), "small end"))
        for tick in across.ticks((1,)) if max(xs) > 50 * min(xs) else sorted(set(xs)):
            parts.append(text(across.at(tick), up + tall - 22, number(tick), "small mid"))
        for label, points in panel.items():
            series = names.index(label)
            found = [(across.at(x), along.at(y)) for x, y in sorted(points)]
            path = "L".join(f"{x:.1f} {y:.1f}" for x, y in found)
            thick = 1.4 if series else 2.4
            parts.append(f'<path class="s{series}" stroke-width="{thick}" d="M{path}"/>')
            parts += [mark(series, x, y) for x, y in found]
    bottom = top + math.ceil(len(panels) / columns) * tall
    parts.append(text(8, bottom, f"up: {ordinate}; across: {abscissa}", "small"))
    return picture(title, bottom + 8, parts)


def bars(
    title: str,
    rows: Mapping[str, Mapping[str, float]],
    unit: str,
    *,
    from_one: bool = False,
    label_width: float = 112,
) -> str:
    """A bar of each series in each row, with its number; from one on a logarithmic axis, or from 0.

    unit: what the numbers are.
    """
    names = list(dict.fromkeys(name for row in rows.values() for name in row))
    parts, top = legend(names, 16, marked=False) if len(names) > 1 else ([], 4.0)
    values = [value for row in rows.values() for value in row.values()]
    begin, end = label_width, WIDTH - 40
    scale = Scale(min(1.0, *values), max(1.0, *values), begin + (34 if min(values) < 1 else 0), end)

    def reach(value: float) -> float:
        if from_one:
            return scale.at(value)
        return begin + (end - begin) * value / max(values)

    base, y = reach(1.0) if from_one else begin, top + 4
    drawn: list[str] = []
    for label, row in rows.items():
        drawn.append(text(label_width - 6, y + 7 * len(row) + 1, label, "small end"))
        for name, value in row.items():
            a, b = sorted((base, reach(value)))
            series = names.index(name)
            drawn.append(box(series, a, y, max(b - a, 0.8)))
            at, kind = (b + 3, "small") if value >= 1 or not from_one else (a - 3, "small end")
            drawn.append(text(at, y + 9, number(value), kind))
            y += 13
        y += 5
    if from_one:
        parts.append(line("one", base, top, base, y))
    return picture(title, y + 20, [*parts, *drawn, text(8, y + 12, unit, "small")])
