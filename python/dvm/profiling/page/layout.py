"""Where the boxes of a graph stand, and the ways of the edges between them.

In layers (Sugiyama): a box stands below all that it reads. An edge that passes layers has a narrow
place in each of them, so that it runs beside boxes and never through one. Places within a layer are
ordered by the middle of their neighbours, then moved as near to it as the others allow.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

#: pixels: between neighbours of a layer, between layers, and of an edge that passes a layer
GAP, LAYER, PASSING = 30, 56, 12
#: times that the layers are ordered by their neighbours, down and up
SWEEPS = 6

Point = tuple[float, float]


@dataclass(frozen=True)
class Layout:
    """width, height: of all. corners: of each box, its upper left. ways: of each edge its bends."""

    width: float
    height: float
    corners: list[Point]
    ways: dict[tuple[int, int], list[Point]]


class _Place:
    """A box in its layer, or an edge that passes it (box -1)."""

    def __init__(self, box: int, width: float, height: float):
        self.box, self.width, self.height = box, width, height
        self.above: list[_Place] = []
        self.below: list[_Place] = []
        self.middle = 0.0


def lay_out(sizes: Sequence[tuple[float, float]], before: Mapping[int, set[int]]) -> Layout:
    """Return the layout of boxes of these widths and heights; `before` must have no circle.

    before: of each box those that it reads.
    """
    depths = _depths(len(sizes), before)
    layers: list[list[_Place]] = [[] for _ in range(max(depths, default=-1) + 1)]
    boxes = [_Place(k, *size) for k, size in enumerate(sizes)]
    for box in boxes:
        layers[depths[box.box]].append(box)
    chains: dict[tuple[int, int], list[_Place]] = {}
    for box in boxes:
        for source in sorted(before.get(box.box, ())):
            chain = [boxes[source]]
            for depth in range(depths[source] + 1, depths[box.box]):
                chain.append(_Place(-1, PASSING, 0))
                layers[depth].append(chain[-1])
            chain.append(box)
            for upper, lower in pairwise(chain):
                upper.below.append(lower)
                lower.above.append(upper)
            chains[source, box.box] = chain
    _order(layers)
    for _ in range(2):
        for layer in layers[1:]:
            _move(layer, "above")
        for layer in layers[-2::-1]:
            _move(layer, "below")
    left = min((p.middle - p.width / 2 for layer in layers for p in layer), default=0.0)
    tops, top = [], 0.0
    for layer in layers:
        tops.append(top)
        top += max(place.height for place in layer) + LAYER
    for layer in layers:
        for place in layer:
            place.middle -= left
    ends = {id(p): tops[k] + max(q.height for q in layers[k]) for k in range(len(layers))
            for p in layers[k]}  # fmt: skip
    starts = {id(p): tops[k] for k in range(len(layers)) for p in layers[k]}
    ways = {edge: _way(chain, starts, ends) for edge, chain in chains.items()}
    return Layout(
        max((p.middle + p.width / 2 for layer in layers for p in layer), default=0.0),
        max(top - LAYER, 0.0),
        [(round(box.middle - box.width / 2), tops[depths[box.box]]) for box in boxes],
        ways,
    )


def _depths(count: int, before: Mapping[int, set[int]]) -> list[int]:
    """Return the layer of each box: one below the lowest that it reads."""
    depths = [-1] * count
    for start in range(count):
        pending = [start]
        while pending:
            box = pending[-1]
            unknown = [source for source in before.get(box, ()) if depths[source] < 0]
            if unknown:
                pending += unknown
                continue
            depths[box] = max((depths[source] + 1 for source in before.get(box, ())), default=0)
            pending.pop()
    return depths


def _order(layers: list[list[_Place]]) -> None:
    at = {id(place): float(k) for layer in layers for k, place in enumerate(layer)}

    def sort(layer: list[_Place], side: str) -> None:
        keys = {}
        for place in layer:
            near = [at[id(other)] for other in getattr(place, side)]
            keys[id(place)] = sum(near) / len(near) if near else at[id(place)]
        layer.sort(key=lambda place: keys[id(place)])
        at.update((id(place), float(k)) for k, place in enumerate(layer))

    for _ in range(SWEEPS):
        for layer in layers[1:]:
            sort(layer, "above")
        for layer in layers[-2::-1]:
            sort(layer, "below")
    # Side by side, from the left, until they are moved.
    for layer in layers:
        x = 0.0
        for place in layer:
            place.middle = x + place.width / 2
            x += place.width + GAP


def _move(layer: list[_Place], side: str) -> None:
    """Move the places of a layer next to the middle of their neighbours, in their order.

    The sum of squared distances is the least there is: isotonic regression by pooling those
    neighbours that would overlap.
    """
    offset, offsets, pools = 0.0, [], []
    for k, place in enumerate(layer):
        if k:
            offset += (layer[k - 1].width + place.width) / 2 + GAP
        offsets.append(offset)
        near = [other.middle for other in getattr(place, side)]
        wanted = (sum(near) / len(near) if near else place.middle) - offset
        pools.append([wanted, 1])
        while len(pools) > 1 and pools[-2][0] >= pools[-1][0]:
            value, count = pools.pop()
            total = pools[-1][1] + count
            pools[-1] = [(pools[-1][0] * pools[-1][1] + value * count) / total, total]
    found = [value for value, count in pools for _ in range(int(count))]
    for place, value, shift in zip(layer, found, offsets, strict=True):
        place.middle = value + shift


def _way(
    chain: list[_Place], starts: Mapping[int, float], ends: Mapping[int, float]
) -> list[Point]:
    """Return where an edge leaves its box, enters and leaves each layer, and ends."""
    first, last = chain[0], chain[-1]
    points = [(first.middle, starts[id(first)] + first.height), (first.middle, ends[id(first)])]
    for place in chain[1:-1]:
        points += [(place.middle, starts[id(place)]), (place.middle, ends[id(place)])]
    return [*points, (last.middle, starts[id(last)])]
