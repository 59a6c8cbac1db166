"""Timelines as pictures: SVG without script, for documents and notebooks that drop all else.

One core of a launch, a row per pipe; what a pipe did is filled, with a line to when its results are
there, what it waited for a flag is outlined, and flags are lines from who set them to who waited.
"""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from dvm import _dvm
from dvm.profiling.chrome_trace import EVENTS, FLAGS, ORDER, columns

#: pixels: of the picture, of its names, of a row and of the bar in it
WIDTH, NAMES, ROW, BAR = 860, 60, 30, 18
#: that a bar needs for its name, per letter
LETTER = 7
#: flags beyond which lines would cover all
MOST_FLAGS = 60
#: of rows, in turn; all can be told from white and from the text in them
COLORS = ("#d7e3f4", "#bfe3d0", "#f6d9b8", "#e3d3ef", "#f2c9c9", "#d9d9d9", "#e9e4b4")


@dataclass(frozen=True)
class Bar:
    """Something that lasted. waits: for something else. done: when its results are there."""

    begin: float
    end: float
    name: str
    waits: bool = False
    done: float = 0


@dataclass(frozen=True)
class Row:
    """A pipe or a thread, and what it did, in order."""

    name: str
    bars: Sequence[Bar]


#: from a row at a time to another row at a later one
Arrow = tuple[int, float, int, float]


def svg(title: str, rows: Sequence[Row], arrows: Sequence[Arrow], unit: str) -> str:
    """Return a picture of the rows; times are in `unit`."""
    begin = min((bar.begin for row in rows for bar in row.bars), default=0.0)
    end = max((max(bar.end, bar.done) for row in rows for bar in row.bars), default=1.0)
    scale = (WIDTH - NAMES - 10) / max(end - begin, 1e-9)

    def x(time: float) -> float:
        return round(NAMES + (time - begin) * scale, 1)

    height = ROW * len(rows) + 44
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" '
        f'height="{height}" role="img" font-family="sans-serif" font-size="11" fill="#1a1a1a">'
        f"<title>{escape(title)}</title>"
        f'<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>'
    ]
    for place, row in enumerate(rows):
        top = ROW * place + 8
        parts.append(f'<text x="6" y="{top + 13}">{escape(row.name)}</text>')
        parts += _bars(row, top, COLORS[place % len(COLORS)], x)
    if len(arrows) <= MOST_FLAGS:
        for source, left, target, right in arrows:
            y0, y1 = (ROW * place + 8 + BAR // 2 for place in (source, target))
            parts.append(
                f'<path d="M{x(left)} {y0}L{x(right)} {y1}" stroke="#8a2b2b" fill="none"/>'
                f'<circle cx="{x(right)}" cy="{y1}" r="2" fill="#8a2b2b"/>'
            )
    base = ROW * len(rows) + 14
    parts.append(f'<path d="M{NAMES} {base}H{WIDTH - 10}" stroke="#555555"/>')
    for tick in _ticks(begin, end):
        parts.append(
            f'<path d="M{x(tick)} {base}v5" stroke="#555555"/>'
            f'<text x="{x(tick)}" y="{base + 17}" text-anchor="middle">{tick:,.0f}</text>'
        )
    parts.append(f'<text x="6" y="{base + 17}">{escape(unit)}</text></svg>')
    return "".join(parts)


def _bars(row: Row, top: int, color: str, x: Any) -> list[str]:
    parts = []
    drawn = -1.0
    for bar in row.bars:
        left, right = x(bar.begin), x(bar.end)
        if right - left < 0.6 and right - drawn < 0.6:
            continue  # on the pixel of the one before
        drawn = right
        look = 'fill="none" stroke-dasharray="2 2"' if bar.waits else f'fill="{color}"'
        width = max(round(right - left, 1), 0.6)
        shown = len(bar.name) * LETTER < width
        parts.append(
            f"<g><title>{escape(bar.name)}</title>"
            + (
                f'<path d="M{right} {top + BAR // 2}H{x(bar.done)}" stroke="#999999"/>'
                if bar.done > bar.end
                else ""
            )
            + f'<rect x="{left}" y="{top}" width="{width}" '
            f'height="{BAR}" {look} stroke="#555555" stroke-width="0.5"/>'
            + (f'<text x="{left + 3}" y="{top + 13}">{escape(bar.name)}</text>' if shown else "")
            + "</g>"
        )
    return parts


def _ticks(begin: float, end: float) -> list[float]:
    step = 1.0
    while (end - begin) / step > 8:
        step *= 2 if str(step)[0] in "15" else 2.5
    first = -(-begin // step) * step
    return [first + k * step for k in range(int((end - first) / step) + 1)]


def of_launch(title: str, timing: dict[str, Any], core: int = 0) -> str:
    """Return the picture of one core of a launch that was timed with events; in cycles."""
    pipes = [name for name, *_ in _dvm.pipe_table]
    units = [unit for _, unit, *_ in _dvm.pipe_table]
    order = [pipes.index(name) for name in ORDER]
    names = [one["name"] for one in timing["instructions"]]
    done = columns(timing["events"], EVENTS)
    bars: dict[int, list[Bar]] = {}
    keys = ("core", "pipe", "insn", "waits", "begin", "end", "done")
    for at, pipe, insn, waits, begin, end, there in zip(
        *(done[key].tolist() for key in keys), strict=True
    ):
        if at == core and insn >= 0 and end > begin:
            name = f"wait ({names[insn]})" if waits else names[insn]
            bars.setdefault(pipe, []).append(Bar(begin, end, name, bool(waits), there))
    shown = [pipe for pipe in order if pipe in bars]
    first = min((bar.begin for row in bars.values() for bar in row), default=0.0)
    flags = columns(timing["flags"], FLAGS)
    arrows = [
        (shown.index(src), begin, shown.index(dst), end)
        for at, src, dst, begin, end in zip(
            *(flags[key].tolist() for key in ("core", "src", "dst", "set", "seen")), strict=True
        )
        if at == core and src in shown and _is_seen(end, bars.get(dst, [])) and begin >= first
    ]
    rows = [Row(units[pipe], bars[pipe]) for pipe in shown]
    return svg(title, rows, arrows, "cycles")


def _is_seen(time: float, bars: Sequence[Bar]) -> bool:
    """Return whether an instruction waits for what is seen then; not only the end of the tiles."""
    return any(bar.waits and bar.begin - 1e-6 <= time <= bar.end + 1e-6 for bar in bars)


def image(picture: str, alt: str) -> str:
    """Return an SVG as an image of HTML, which notebooks show that are not trusted."""
    data = base64.b64encode(picture.encode()).decode()
    return f'<img alt="{escape(alt)}" src="data:image/svg+xml;base64,{data}">'
