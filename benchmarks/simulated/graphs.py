"""Functions as graphs whose kernels are encoded and timed for any sizes, without being run."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

import dvm
from dvm import _dvm
from dvm.explaining.operations import fused_graphs

Array = np.ndarray[Any, Any]
INPUT = re.compile(r"^  %\d+ = input \w+\[([^\]]*)\]", re.MULTILINE)


@dataclass(frozen=True)
class TimedGraph:
    """The graph of a function as the fuser is given it.

    text: the graph. shapes: of its inputs, as texts of their sizes. target: a simulated one.
    """

    text: str
    shapes: list[list[str]]
    target: str

    def sizes(self, shapes: Sequence[Sequence[int]]) -> dict[str, int]:
        """Return the sizes of the symbols where the inputs have these shapes."""
        sizes: dict[str, int] = {}
        for names, shape in zip(self.shapes, shapes, strict=True):
            for name, size in zip(names, shape, strict=True):
                if sizes.setdefault(name, size) != size:
                    raise ValueError(f"{name} is {sizes[name]} and {size}")
        return sizes

    def encode(self, sizes: Mapping[str, int], **choices: Any) -> list[dict[str, Any]]:
        """Return the Regions for these sizes."""
        made = _dvm.fuse_otherwise(self.text, self.target, sizes, **choices)["regions"]
        return list(made)

    def time(self, regions: Sequence[Mapping[str, Any]]) -> float:
        """Return the cycles of the Regions one after another; the second cache begins empty."""
        programs = []
        for place, region in enumerate(regions):
            own = [(place + 1) * 1000 + k for k in range(64)]
            buffers = list(region["operands"]) + own
            programs += [(program, buffers) for program, _ in region["programs"]]
        timed = _dvm.time_programs(programs, self.target, verified=True)
        return float(timed[-1]["end"])

    def apart(self) -> list[tuple[int, int]]:
        """Return the pairs that keep each operation a kernel of its own."""
        members = _dvm.region_members(self.text, self.target)
        return [pair for region in members for pair in combinations(region, 2)]


def graph_of(function: Callable[..., Any], target: str, *arrays: Array) -> TimedGraph:
    """Return the one graph of a function that is captured by a call with these arrays."""
    compiled = dvm.compile(function, target=target)
    compiled(*arrays)
    compiled(*arrays)
    (text,) = [text for path in _dvm.paths(compiled) for text in fused_graphs(path)]
    shapes = [
        [size.strip() for size in shape.split(",") if size.strip()] for shape in INPUT.findall(text)
    ]
    return TimedGraph(text, shapes, target)
