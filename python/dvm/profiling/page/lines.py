"""The user's lines, each with its kernels and its share of their time."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from html import escape
from typing import TYPE_CHECKING, Any

from dvm import _dvm
from dvm.explaining.lines import source
from dvm.explaining.operations import NODE, fused_graphs, lines_within, sources_of

if TYPE_CHECKING:
    from dvm.profiling.profile import Profile
    from dvm.profiling.subjects import Subject

#: ops that are one instruction, an ordering of it each
COMPARISONS = frozenset({"less", "less_equal", "greater", "greater_equal", "equal", "not_equal"})


@dataclass
class Line:
    """A line of the user's: its share of the time of all kernels, and which of them compute it."""

    location: str
    share: float = 0.0
    kernels: list[str] = field(default_factory=list)
    ops: list[str] = field(default_factory=list)


@dataclass
class RegionNodes:
    """What a Region computes: op and line of each of its nodes, in order.

    touches: of each of its operands the node that reads it first, or makes it; None: no node does.
    within: of a line whose operation replaced others, the lines of all of them.
    """

    nodes: list[tuple[str, str]]
    touches: list[int | None]
    within: dict[str, list[str]] = field(default_factory=dict)


def region_nodes(subject: Subject) -> dict[str, RegionNodes]:
    """Return the nodes of each Region, by its name."""
    found: dict[str, RegionNodes] = {}
    graphs = 0
    for path in subject.paths():
        for segment, graph in enumerate(fused_graphs(path)):
            nodes = {
                int(node): (op, f"{file}:{line}" if file else "")
                for node, op, file, line in NODE.findall(graph)
            }
            sources = sources_of(graph)
            regions = zip(
                _dvm.region_members(graph, path["target"]),
                _dvm.region_operands(graph, path["target"]),
                strict=True,
            )
            for index, (members, operands) in enumerate(regions):
                found[f"g{graphs}.r{index}"] = RegionNodes(
                    [nodes[node] for node in members],
                    [_touches(value, members, sources) for value in operands],
                    lines_within(path, segment),
                )
            graphs += 1
    return found


def _touches(value: int, members: list[int], sources: dict[int, list[int]]) -> int | None:
    """Return the place of the node that makes a value or, through broadcasts, reads it first."""
    if value in members:
        return members.index(value)
    for place, node in enumerate(members):
        pending = list(sources.get(node, []))
        while pending:
            source_of_it = pending.pop()
            if source_of_it == value:
                return place
            if source_of_it not in members:
                pending += sources.get(source_of_it, [])
    return None


def node_weights(kernel: dict[str, Any], region: RegionNodes) -> list[float]:
    """Return how much of a kernel's time each of its nodes takes.

    A load is the node's that first reads what it brings, a store that of what it takes away.
    Instructions come in the order of the nodes, so that the k-th of a name is the k-th node of it.
    Where the time of instructions is not known, all nodes are alike.
    """
    weights = [0.0] * len(region.nodes)
    places: dict[str, list[int]] = defaultdict(list)
    for k, (op, _) in enumerate(region.nodes):
        places["cmp" if op in COMPARISONS else op].append(k)
    met: dict[str, int] = defaultdict(int)
    for instruction in kernel.get("instructions", []):
        if 0 <= instruction["global"] < len(region.touches):
            touched = region.touches[instruction["global"]]
            if touched is not None:
                weights[touched] += instruction["busy"]
            continue
        name = instruction["name"].partition(".")[0]
        name = "matmul" if name == "feed" else name
        if name not in places:
            continue
        # Parts of a reduction come again in later launches: they are the last node's.
        k = places[name][min(met[name], len(places[name]) - 1)]
        met[name] += 1
        weights[k] += instruction["busy"]
    return weights if any(weights) else [1.0] * len(region.nodes)


def line_times(profile: Profile) -> list[Line]:
    """Return the lines that kernels and calls compute, those that take longest first.

    A line has what all pipes are busy for it; what they wait is shared out likewise.
    """
    found = profile.to_dict()
    regions = region_nodes(profile.subject)
    time = "cycles" if found["kind"] == "simulated" else "nanoseconds"
    total = sum(kernel[time] for kernel in found["kernels"]) or 1
    lines: dict[str, Line] = {}
    for kernel in found["kernels"]:
        region = regions.get(kernel["name"]) or RegionNodes(
            [(kernel["name"], location) for location in kernel["lines"]], []
        )
        weights = node_weights(kernel, region)
        for (op, location), weight in zip(region.nodes, weights, strict=True):
            # What an attention takes is shared out evenly: its one instruction computes them all.
            among = region.within.get(location, [location]) if op == "attention" else [location]
            for one in among:
                line = lines.setdefault(one, Line(one))
                line.share += weight / sum(weights) * kernel[time] / total / len(among)
                line.ops.append(op)
                if kernel["name"] not in line.kernels:
                    line.kernels.append(kernel["name"])
    return sorted((line for line in lines.values() if line.location), key=lambda one: -one.share)


def kernel_link(name: str) -> str:
    """Return a link that selects a kernel."""
    return f'<a href="#k={escape(name)}" data-k="{escape(name)}">{escape(name)}</a>'


def lines_section(profile: Profile) -> str:
    """Return the table of lines, in the order of the file."""
    lines = line_times(profile)
    bounds = {k["name"]: bound for k in profile.to_dict()["kernels"] if (bound := k["bound_by"])}
    lines.sort(
        key=lambda one: (one.location.rpartition(":")[0], int(one.location.rpartition(":")[2]))
    )
    rows = []
    for line in lines:
        file, _, number = line.location.rpartition(":")
        bar = (
            f'<meter min="0" max="1" value="{line.share:.4f}" '
            'aria-label="share of the time"></meter>'
        )
        reasons = ", ".join(dict.fromkeys(bounds[k] for k in line.kernels if k in bounds))
        rows.append(
            f'<tr data-line="{escape(line.location)}" data-ks="{escape(" ".join(line.kernels))}">'
            f'<td title="{escape(file)}">{escape(number)}</td>'
            f"<td><code>{escape(source(line.location))}</code></td>"
            f'<td class="whole">{bar} {100 * line.share:.0f} %</td>'
            f"<td>{' '.join(map(kernel_link, line.kernels))}</td>"
            f"<td>{escape(', '.join(dict.fromkeys(line.ops)))}</td><td>{escape(reasons)}</td></tr>"
        )
    if not rows:
        return "<p>No line of array work is known.</p>"
    heads = ("line", "source", "time", "kernel", "operations", "bound by")
    head = "".join(f'<th scope="col">{name}</th>' for name in heads)
    return f'<div class="wide"><table id="lines"><tr>{head}</tr>{"".join(rows)}</table></div>'
