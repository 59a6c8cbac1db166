"""What each pass made of the graphs: their text before and after, as a difference."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence
from html import escape
from typing import TYPE_CHECKING

from dvm.explaining.inspection import GRAPH
from dvm.profiling.measured import MeasuredProfile

if TYPE_CHECKING:
    from dvm.profiling.profile import Profile

#: bytes of text that a page holds of it
MOST = 80_000


def steps_section(profile: Profile) -> str:
    """Return a table of all steps by stage: what each found and changed, and what it took.

    Times are those of this machine, so the pages of simulated cores have none.
    """
    is_timed = isinstance(profile, MeasuredProfile)
    rows: list[tuple[object, ...]] = []
    graphs = 0
    for path in profile.subject.paths():
        if path["reason"]:
            continue
        for name, nanoseconds, _, stage, matches, effects in path["passes"]:
            took = (f"{nanoseconds / 1e3:,.1f}",) if is_timed else ()
            rows.append((f"g{graphs}", stage, name, matches, effects, *took))
        graphs += 1
    head = ("graph", "stage", "step", "found", "changed", *(("us",) if is_timed else ()))
    return _table(head, rows) if rows else ""


def _table(head: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    names = "".join(f"<th>{name}</th>" for name in head)
    cells = ("".join(f"<td>{escape(str(cell))}</td>" for cell in row) for row in rows)
    body = "".join(f"<tr>{row}</tr>" for row in cells)
    return f"<table><thead><tr>{names}</tr></thead><tbody>{body}</tbody></table>"


def passes_section(profile: Profile) -> str:
    """Return the differences, closed, pass by pass; passes that changed nothing are only named."""
    parts: list[str] = []
    idle: list[str] = []
    left = MOST
    for number, (heading, before, after) in enumerate(_steps(profile)):
        lines = difflib.unified_diff(before.splitlines(), after.splitlines(), n=2, lineterm="")
        changed = list(lines)[2:]  # without the names of files
        html = "\n".join(map(_line, changed))
        left -= len(html)
        if left < 0:
            return "".join([*parts, f"<p>The rest is left out, from step {number} on.</p>"])
        if changed:
            parts.append(f"<details><summary>{heading}</summary><pre>{html}</pre></details>")
        else:
            idle.append(heading)
    nothing = f'<p class="help">Changed nothing: {"; ".join(idle)}.</p>' if idle else ""
    return "".join([*parts, nothing])


def _steps(profile: Profile) -> Iterator[tuple[str, str, str]]:
    """Give a heading and the text before and after of each pass from graph to graph."""
    graphs = 0
    for path in profile.subject.paths():
        if path["reason"] or not path["passes"]:
            continue
        first = path["passes"][0][0]
        captured = iter(GRAPH.findall(path["graph"]))
        before = ""
        for name, _, text, *_ in path["passes"]:
            if not GRAPH.match(text):
                continue  # Regions and Plans, which other sections show
            if name == first:
                before = next(captured, "")
                graphs += 1
            yield f"g{graphs - 1} {name}", before, text
            before = text


def _line(line: str) -> str:
    tag = {"+": "ins", "-": "del"}.get(line[:1])
    return f"<{tag}>{escape(line)}</{tag}>" if tag else escape(line)
