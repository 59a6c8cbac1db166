"""The fusion graph: kernels as boxes with their operations, and the edges that were refused."""

from __future__ import annotations

from dataclasses import dataclass, field
from html import escape
from typing import TYPE_CHECKING

from dvm import _dvm
from dvm.explaining.advice import advice_for_rule
from dvm.explaining.lines import quoted
from dvm.explaining.operations import GIVEN, NODE, fused_graphs, separated
from dvm.profiling.page.layout import Layout, Point, lay_out

if TYPE_CHECKING:
    from dvm.profiling.profile import Profile
    from dvm.profiling.subjects import Subject

#: pixels of a box, and of a line in it
WIDTH, LINE = 210, 16
#: operations that a box shows
MOST = 8


@dataclass
class Box:
    """A kernel, or an operation by itself. name: "g0.r1", or "g0:%5". before: what it reads."""

    name: str
    lines: list[str]
    before: set[int] = field(default_factory=set)

    @property
    def height(self) -> int:
        """Pixels."""
        return LINE * (min(len(self.lines), MOST + 1) + 1) + 10


@dataclass(frozen=True)
class Refused:
    """Two kernels that are not one: a pair of their operations, with its rule and reason.

    source, target: boxes. pair: the operations, as text. lines: of both.
    """

    source: int
    target: int
    pair: str
    rule: str
    reason: str
    lines: tuple[str, str]


def boxes_of(subject: Subject) -> tuple[list[Box], list[Refused]]:
    """Return the boxes of all compiled paths, and what keeps two that are joined by an edge apart.

    Views are no boxes: nobody computes them, and an edge goes through them. A pair of boxes comes
    once for each rule that keeps operations of theirs apart, as `why_not_fused` says it.
    """
    boxes: list[Box] = []
    refused: list[Refused] = []
    graphs = 0
    for path in subject.paths():
        for graph in fused_graphs(path):
            owner = _boxes_of_graph(graph, path["target"], graphs, boxes)
            nodes = {
                int(n): (op, file and f"{file}:{line}") for n, op, file, line in NODE.findall(graph)
            }
            known: set[tuple[int, int, str]] = set()
            for source, target in separated(graph, owner):
                a, b = owner[source], owner[target]
                boxes[b].before.add(a)
                fused, rule, reason = _dvm.explain_pair(graph, path["target"], source, target)
                if fused or (a, b, rule) in known:
                    continue
                known.add((a, b, rule))
                pair = f"{nodes[source][0]} and {nodes[target][0]}"
                lines = (nodes[source][1], nodes[target][1])
                refused.append(Refused(a, b, pair, rule, reason, lines))
            graphs += 1
    return boxes, refused


def _boxes_of_graph(graph: str, target: str, number: int, boxes: list[Box]) -> dict[int, int]:
    """Append the boxes of a graph; return of each node that is computed its box."""
    nodes = {int(node): op for node, op, *_ in NODE.findall(graph) if op not in GIVEN}
    owner: dict[int, int] = {}
    for index, members in enumerate(_dvm.region_members(graph, target)):
        owner |= dict.fromkeys(members, len(boxes))
        boxes.append(Box(f"g{number}.r{index}", [nodes[node] for node in members]))
    never_computed = _dvm.view_ops | {"broadcast"}  # the latter every kernel makes for itself
    for node, op in nodes.items():
        if node not in owner and op not in never_computed:
            owner[node] = len(boxes)
            boxes.append(Box(f"g{number}:%{node}", [op]))
    return owner


def layout_of(boxes: list[Box]) -> Layout:
    """Return where the boxes stand and how the edges between them go."""
    sizes = [(WIDTH, box.height) for box in boxes]
    return lay_out(sizes, {k: box.before for k, box in enumerate(boxes)})


def graph_section(profile: Profile) -> str:
    """Return the graph as SVG, and a table of what was refused."""
    boxes, refused = boxes_of(profile.subject)
    if not boxes:
        return ""
    layout = layout_of(boxes)
    rows = {
        (edge.source, edge.target): number for number, edge in reversed(list(enumerate(refused)))
    }
    parts = []
    for edge, way in layout.ways.items():
        number = rows.get(edge)
        if number is None:
            parts.append(f'<path class="edge" d="{_path(way)}"/>')
            continue
        title = escape(f"{refused[number].rule}: {refused[number].reason}")
        parts.append(
            f'<a href="#e={number}" data-e="{number}" aria-label="{title}"><title>{title}</title>'
            f'<path class="edge refused" d="{_path(way)}"/></a>'
        )
    parts += [_box(box, corner) for box, corner in zip(boxes, layout.corners, strict=True)]
    width, height = round(layout.width) + 8, round(layout.height) + 8
    svg = (
        f'<svg id="graph" role="group" aria-label="fusion graph" viewBox="-4 -4 {width} {height}" '
        f'style="width:{width}px;min-width:{width * 6 // 10}px">{"".join(parts)}</svg>'
    )
    note = '<p class="help">A dashed line: what passes is written to memory and read again.</p>'
    return f'{note if refused else ""}<div class="wide">{svg}</div>{_table(boxes, refused)}'


def _box(box: Box, corner: Point) -> str:
    shown = box.lines[:MOST] + (
        [f"and {len(box.lines) - MOST} more"] if len(box.lines) > MOST else []
    )
    texts = "".join(
        f'<text x="10" y="{LINE * (k + 2)}">{escape(line)}</text>' for k, line in enumerate(shown)
    )
    return (
        f'<a href="#k={escape(box.name)}" data-k="{escape(box.name)}">'
        f'<g transform="translate({corner[0]:.0f},{corner[1]:.0f})"><rect width="{WIDTH}" '
        f'height="{box.height}" rx="4"/><text class="name" x="10" y="{LINE}">{escape(box.name)}'
        f"</text>{texts}</g></a>"
    )


def _path(way: list[Point]) -> str:
    """Return an edge as a path: straight within a layer, bent between two."""
    (x, y), *others = way
    parts = [f"M{x:.1f} {y:.1f}"]
    for number, (right, down) in enumerate(others):
        if number % 2 == 0:  # through the layer
            parts.append(f"V{down:.1f}")
        else:
            bend = (y + down) / 2
            parts.append(f"C{x:.1f} {bend:.1f} {right:.1f} {bend:.1f} {right:.1f} {down:.1f}")
        x, y = right, down
    return "".join(parts)


def _table(boxes: list[Box], refused: list[Refused]) -> str:
    if not refused:
        return "<p>Nothing that one kernel makes is read by another.</p>"
    rows = []
    for number, edge in enumerate(refused):
        codes = "<br>".join(
            f"<code>{escape(quoted(line))}</code>" for line in dict.fromkeys(edge.lines) if line
        )
        rows.append(
            f'<tr id="e{number}" data-e="{number}"><td>{escape(boxes[edge.source].name)} to '
            f"{escape(boxes[edge.target].name)}</td><td>{escape(edge.pair)}</td>"
            f'<td class="whole">{escape(edge.rule)}</td><td>{escape(edge.reason)}</td>'
            f"<td>{codes}</td><td>{escape(advice_for_rule(edge.rule))}</td></tr>"
        )
    heads = ("kernels", "operations", "rule", "reason", "lines", "what to do")
    head = "".join(f'<th scope="col">{name}</th>' for name in heads)
    return f'<div class="wide"><table id="refused"><tr>{head}</tr>{"".join(rows)}</table></div>'
