"""The fusion graph: kernels as boxes with their operations, and the edges that were refused."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from html import escape
from typing import TYPE_CHECKING

from dvm import _dvm
from dvm.explaining.advice import advice_for_rule
from dvm.explaining.lines import quoted
from dvm.explaining.operations import GIVEN, NODE, fused_graphs, sources_of

if TYPE_CHECKING:
    from dvm.profiling.profile import Profile
    from dvm.profiling.subjects import Subject

#: pixels of a box, of a line in it, and between boxes
WIDTH, LINE, GAP, LAYER = 210, 16, 30, 64
#: operations that a box shows
MOST = 8
EDGE = re.compile(r"fuse %(\d+) -> %(\d+)")


@dataclass
class Box:
    """A kernel, or an operation that is none. name: "g0.r1", or "g0:%5 reshape"."""

    name: str
    lines: list[str]
    before: set[int] = field(default_factory=set)
    x: int = 0
    y: int = 0

    @property
    def height(self) -> int:
        """Pixels."""
        return LINE * (min(len(self.lines), MOST + 1) + 1) + 10


@dataclass(frozen=True)
class Refused:
    """An edge that was not fused: boxes, rule and reason, and the lines at both ends."""

    source: int
    target: int
    rule: str
    reason: str
    lines: tuple[str, str]


def boxes_of(subject: Subject) -> tuple[list[Box], list[Refused]]:
    """Return the boxes of all compiled paths, and the edges between them that were refused."""
    boxes: list[Box] = []
    refused: list[Refused] = []
    graphs = 0
    for path in subject.paths():
        for segment, graph in enumerate(fused_graphs(path)):
            owner = _boxes_of_graph(graph, path["target"], graphs, boxes)
            at = {
                int(node): f"{file}:{line}" if file else ""
                for node, _, file, line in NODE.findall(graph)
            }
            for decision in path["decisions"]:
                edge = EDGE.fullmatch(decision["what"])
                if decision["graph"] != segment or decision["verdict"] != "no" or not edge:
                    continue
                source, target = int(edge[1]), int(edge[2])
                if source in owner and target in owner and owner[source] != owner[target]:
                    refused.append(
                        Refused(
                            owner[source],
                            owner[target],
                            decision["rule"],
                            decision["reason"],
                            (at.get(source, ""), at.get(target, "")),
                        )
                    )
            graphs += 1
    return boxes, refused


def _boxes_of_graph(graph: str, target: str, number: int, boxes: list[Box]) -> dict[int, int]:
    nodes = {int(node): op for node, op, *_ in NODE.findall(graph) if op not in GIVEN}
    owner: dict[int, int] = {}
    for index, members in enumerate(_dvm.region_members(graph, target)):
        ops = [nodes[node] for node in members]
        for node in members:
            owner[node] = len(boxes)
        boxes.append(Box(f"g{number}.r{index}", ops))
    inlined = {"broadcast"}  # which every Region makes anew
    for node, op in nodes.items():
        if node not in owner and op not in inlined:
            owner[node] = len(boxes)
            boxes.append(Box(f"g{number}:%{node}", [op]))
    sources = sources_of(graph)
    for node, box in owner.items():
        pending = list(sources[node])
        while pending:
            source = pending.pop()
            if source in owner:
                if owner[source] != box:
                    boxes[box].before.add(owner[source])
            else:
                pending += sources.get(source, [])
    return owner


def place(boxes: list[Box]) -> tuple[int, int]:
    """Give every box its place, below all that it waits for; return width and height."""
    depth: dict[int, int] = {}

    def level(k: int) -> int:
        if k not in depth:
            depth[k] = max((level(b) + 1 for b in boxes[k].before), default=0)
        return depth[k]

    layers: dict[int, list[int]] = {}
    for k in range(len(boxes)):
        layers.setdefault(level(k), []).append(k)
    y = width = 0
    for number in sorted(layers):
        # Below what they read, as far as others leave room.
        middle = {
            k: sum(boxes[b].x for b in boxes[k].before) / len(boxes[k].before)
            if boxes[k].before
            else 0
            for k in layers[number]
        }
        x = 0
        for k in sorted(layers[number], key=lambda k: (middle[k], k)):
            boxes[k].x, boxes[k].y = max(x, round(middle[k])), y
            x = boxes[k].x + WIDTH + GAP
        width = max(width, x)
        y += max(boxes[k].height for k in layers[number]) + LAYER
    return width, y


def graph_section(profile: Profile) -> str:
    """Return the graph as SVG, and a table of what was refused."""
    boxes, refused = boxes_of(profile.subject)
    if not boxes:
        return ""
    width, height = place(boxes)
    parts = [_edge(boxes, before, k, "") for k, box in enumerate(boxes) for before in box.before]
    for number, edge in enumerate(refused):
        title = f"{edge.rule}: {edge.reason}"
        parts.append(
            f'<a href="#e={number}" data-e="{number}" aria-label="{escape(title)}">'
            f"<title>{escape(title)}</title>{_edge(boxes, edge.source, edge.target, 'refused')}</a>"
        )
    parts += [_box(box) for box in boxes]
    svg = (
        f'<svg id="graph" role="group" aria-label="fusion graph" viewBox="-4 -4 {width + 8} '
        f'{height + 8}" width="{width}" height="{height}">{"".join(parts)}</svg>'
    )
    return f'<div class="wide">{svg}</div>{_table(boxes, refused)}'


def _box(box: Box) -> str:
    shown = box.lines[:MOST] + (
        [f"and {len(box.lines) - MOST} more"] if len(box.lines) > MOST else []
    )
    texts = "".join(
        f'<text x="10" y="{LINE * (k + 2)}">{escape(line)}</text>' for k, line in enumerate(shown)
    )
    return (
        f'<a href="#k={escape(box.name)}" data-k="{escape(box.name)}">'
        f'<g transform="translate({box.x},{box.y})"><rect width="{WIDTH}" height="{box.height}" '
        f'rx="4"/><text class="name" x="10" y="{LINE}">{escape(box.name)}</text>{texts}</g></a>'
    )


def _edge(boxes: list[Box], source: int, target: int, kind: str) -> str:
    a, b = boxes[source], boxes[target]
    shift = 14 if kind else 0
    x0, y0 = a.x + WIDTH // 2 + shift, a.y + a.height
    x1, y1 = b.x + WIDTH // 2 + shift, b.y
    bend = (y0 + y1) // 2
    return f'<path class="edge {kind}" d="M{x0} {y0}C{x0} {bend} {x1} {bend} {x1} {y1}"/>'


def _table(boxes: list[Box], refused: list[Refused]) -> str:
    if not refused:
        return "<p>No edge was refused.</p>"
    rows = "".join(
        f'<tr id="e{number}" data-e="{number}"><td>{escape(boxes[edge.source].name)} to '
        f"{escape(boxes[edge.target].name)}</td><td>{escape(edge.rule)}</td>"
        f"<td>{escape(edge.reason)}</td><td><code>{escape(quoted(edge.lines[0]))}</code><br>"
        f"<code>{escape(quoted(edge.lines[1]))}</code></td>"
        f"<td>{escape(advice_for_rule(edge.rule))}</td></tr>"
        for number, edge in enumerate(refused)
    )
    heads = ("edge", "rule", "reason", "lines", "what to do")
    head = "".join(f'<th scope="col">{name}</th>' for name in heads)
    return f'<div class="wide"><table id="refused"><tr>{head}</tr>{rows}</table></div>'
