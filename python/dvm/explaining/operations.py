"""The operations of a function's paths, as explain prints them, and how a user may name them.

Numbers are those of the graphs as the fuser was given them, after the passes before it: the same
that its decisions speak of.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from dvm import _dvm, errors
from dvm.explaining.lines import source

NODE = re.compile(r'^  %(\d+) = (\w+)[^\n]*?(?: @ "([^"\n]*)":(\d+))?$', re.MULTILINE)
#: nodes that nobody computes
GIVEN = frozenset({"input", "constant", "scalar", "dim", "tensor", "result"})


@dataclass(frozen=True)
class Operation:
    """A node of a graph, or an opaque call (graph -1).

    path: index of the path it belongs to. graph: number of the graph, counted over all paths.
    node: number of the node. op: name of the op, or of the function an opaque call calls.
    location: "file.py:12" of the user's line. segment: which graph of its path it is in.
    """

    path: int
    graph: int
    node: int
    op: str
    location: str
    segment: int

    @property
    def reference(self) -> str:
        """What names this operation and no other."""
        return f"g{self.graph}:%{self.node}" if self.graph >= 0 else self.op

    def __str__(self) -> str:
        name = f"{self.reference} {self.op}" if self.graph >= 0 else self.op
        return f"{name} ({self.location})" if self.location else name


def fused_graphs(path: _dvm.PathRecord) -> list[str]:
    """Return the text of each graph of a path as the fuser was given it."""
    if path["reason"]:
        return []
    before = zip(path["passes"], path["passes"][1:], strict=False)
    return [given[2] for given, made in before if made[0] == "fuse"]


def lines_within(path: _dvm.PathRecord, segment: int) -> dict[str, list[str]]:
    """Return the lines that an operation stands for which replaced those of several lines.

    The line of the operation -> all of them, in the order of the file. So a fused attention names
    the lines of its softmax.
    """
    found: dict[str, list[str]] = {}
    for decision in path["decisions"]:
        if decision["graph"] == segment and decision["rule"] == "softmax-of-products":
            found.setdefault(decision["what"], []).append(decision["location"])
    # The records of one operation begin with its own line.
    return {lines[0]: sorted(lines, key=_line_number) for lines in found.values() if lines[0]}


def _line_number(location: str) -> tuple[str, int]:
    file, _, line = location.rpartition(":")
    return file, int(line or 0)


def sources_of(graph: str) -> dict[int, list[int]]:
    """Return of each node of a graph the nodes that it reads."""
    return {
        int(line[1]): [int(k) for k in re.findall(r"%(\d+)", line[2])]
        for line in re.finditer(r"^  %(\d+) = ([^\n]*)$", graph, re.MULTILINE)
    }


def separated(graph: str, owner: Mapping[int, Any]) -> Iterator[tuple[int, int]]:
    """Give the pairs of nodes of which the second reads the first, and another owner computes it.

    owner: of each node that is computed, who does; nodes without one (views, broadcasts) are looked
    through.
    """
    sources = sources_of(graph)
    for node in sorted(owner):
        pending = list(sources[node])
        while pending:
            source = pending.pop()
            if source not in owner:
                pending += sources.get(source, [])
            elif owner[source] != owner[node]:
                yield source, node


def operations(paths: list[_dvm.PathRecord]) -> list[Operation]:
    """Return what the paths compute, graph after graph, then their opaque calls."""
    found: list[Operation] = []
    graphs = 0
    for index, path in enumerate(paths):
        for segment, text in enumerate(fused_graphs(path)):
            for node, op, file, line in NODE.findall(text):
                if op not in GIVEN:
                    location = f"{file}:{line}" if file else ""
                    found.append(Operation(index, graphs, int(node), op, location, segment))
            graphs += 1
    for index, path in enumerate(paths):
        for call in () if path["reason"] else path["opaque_calls"]:
            found.append(Operation(index, -1, -1, call["name"], call["location"], -1))
    return found


def select(known: list[Operation], reference: str | int) -> list[Operation]:
    """Return the operations that `reference` names.

    "g1:%5" or "%5" is a node, "mul" every multiplication, "numpy.sort" or "sort" an opaque call,
    "model.py:12", ":12" or 12 a line, "mul:12" the multiplications of a line, and anything else a
    part of the source of a line.

    Raises:
        UnsupportedError: if it names nothing; the message lists what there is.
    """
    for matches in _readings(str(reference)):
        if found := [operation for operation in known if matches(operation)]:
            return found
    names = [str(operation) for operation in known]
    raise errors.unknown("unknown_name", "operation", reference, names)


def _readings(reference: str) -> list[Any]:
    """Return the predicates that a reference may stand for, the most particular first."""
    readings: list[Any] = []
    if node := re.fullmatch(r"(?:g(\d+):)?%(\d+)(?: \w+)?", reference):
        graph, number = node[1], int(node[2])
        return [lambda o: o.node == number and graph in (None, str(o.graph))]
    if line := re.fullmatch(r":?(\d+)", reference):
        return [lambda o: o.location.endswith(f":{line[1]}")]
    readings.append(lambda o: reference in (o.op, o.op.rpartition(".")[2]))
    if named := re.fullmatch(r"([\w.]+):(\d+)", reference):
        op, number_of_line = named[1], f":{named[2]}"
        readings.append(
            lambda o: op in (o.op, o.op.rpartition(".")[2]) and o.location.endswith(number_of_line)
        )
    readings.append(lambda o: o.location == reference or o.location.endswith("/" + reference))
    readings.append(lambda o: reference in source(o.location))
    return readings
