"""The tiler's choice of tiles beside the best that the simulation finds, over seeded shapes."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from benchmarks.simulated.graphs import TimedGraph, graph_of

import dvm

TARGET = "ascend910b2"
#: of a core, that are tried
MOST_TILES = 32


Size = Callable[[], int]
Shapes = list[tuple[int, ...]]


@dataclass(frozen=True)
class Kernels:
    """Functions of one kind. shapes: of the arguments, from what gives the next size."""

    kind: str
    function: Callable[..., Any]
    shapes: Callable[[Size], Shapes]
    dtype: type = np.float32
    least: int = 8
    most: int = 4096


def chain(x: Any) -> Any:
    """Return a few operations that hand on to each other."""
    return np.exp(x * 2 + 1) - x


def softmax(x: Any) -> Any:
    """Return the softmax of the rows."""
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def one(size: Size) -> Shapes:
    """Return one matrix."""
    return [(size(), size())]


def two(size: Size) -> Shapes:
    """Return two matrices of one shape."""
    return 2 * one(size)


def with_row(size: Size) -> Shapes:
    """Return a matrix and a row of it."""
    (shape,) = one(size)
    return [shape, shape[1:]]


def factors(size: Size) -> Shapes:
    """Return what is multiplied."""
    m, k, n = size(), size(), size()
    return [(m, k), (k, n)]


def factors_and_row(size: Size) -> Shapes:
    """Return what is multiplied, and what is added to each row of the product."""
    left, right = factors(size)
    return [left, right, right[1:]]


HALF: Any = np.float16
KERNELS = [
    Kernels("vector", chain, one),
    Kernels("vector", lambda x, y: x + y, two, HALF),
    Kernels("vector", lambda x, y: np.tanh(x + y), with_row),
    Kernels("vector", softmax, one),
    Kernels("vector", lambda x: x.sum(axis=0), one),
    Kernels("cube", lambda a, b: a @ b, factors, HALF, 16),
    Kernels("mix", lambda a, b, c: np.maximum(a @ b + c, 0), factors_and_row, HALF, 16),
]


def candidates(region: dict[str, Any], cores: int) -> Iterator[tuple[Any, ...]]:
    """Return the tiles to try of a Region's first Program."""
    first = region["tilings"][0]
    if first["split"] is None:
        sides = [16 << k for k in range(5)]
        yield from (("sums", m, n) for m in sides for n in sides)
        return
    sizes = first["sizes"]
    for dim, size in enumerate(sizes):
        outer = math.prod(sizes[:dim])
        shared = {-(-size * outer // (cores * rounds)) for rounds in range(1, 9)}
        powers = {2**k for k in range(size.bit_length())}
        for tile in sorted({size, *powers, *(min(max(t, 1), size) for t in shared)}):
            # More would be worse, and take long to find so.
            if outer * -(-size // tile) <= MOST_TILES * cores:
                yield (dim, tile)


def best_of(graph: TimedGraph, sizes: dict[str, int], cores: int) -> tuple[float, float, Any]:
    """Return the cycles of the tiler's choice and of the best one, and which that is."""
    own = graph.encode(sizes)
    chosen = least = graph.time(own)
    best: Any = "the same"
    for place, region in enumerate(own):
        if not region["tilings"]:
            continue
        for tile in candidates(region, cores):
            try:
                other = graph.encode(sizes, tiles={place: tile})
            except dvm.UnsupportedError:
                continue  # does not fit local memory
            if (cycles := graph.time(other)) < least:
                least, best = cycles, tile
    return chosen, least, best


def run(shapes: int, verbose: bool) -> dict[str, list[float]]:
    """Return by kind what the choice costs beyond the best tile, as shares."""
    rng = np.random.default_rng(0)
    losses: dict[str, list[float]] = {}
    graphs: list[tuple[Kernels, TimedGraph]] = []
    for kernels in KERNELS:
        given = kernels.shapes(iter((48, 56, 64)).__next__)
        arrays = [np.ones(shape, kernels.dtype) for shape in given]
        graphs.append((kernels, graph_of(kernels.function, TARGET, *arrays)))
    for k in range(shapes):
        kernels, graph = graphs[k % len(graphs)]

        def size(kernels: Kernels = kernels) -> int:
            return round(2 ** rng.uniform(np.log2(kernels.least), np.log2(kernels.most)))

        given = kernels.shapes(size)
        sizes = graph.sizes(given)
        chosen, least, best = best_of(graph, sizes, 48)
        losses.setdefault(kernels.kind, []).append(chosen / least - 1)
        if verbose:
            own = graph.encode(sizes)[0]["tilings"]
            print(
                f"{k:3} {kernels.kind:6} {given}: {chosen:10.0f} {least:10.0f} "
                f"{100 * (chosen / least - 1):5.1f} % best {best}, own "
                f"{own[0]['split'], own[0]['tile'] if own else own}",
                flush=True,
            )
    return losses


def report(shapes: int, verbose: bool) -> None:
    """Print what the tiler's choices cost beyond the best tiles."""
    losses = run(shapes, verbose)
    print(f"tiles: cycles of the tiler's choice beyond the best of a sweep, {shapes} shapes")
    every = [loss for of_kind in losses.values() for loss in of_kind]
    for kind, of_kind in [*losses.items(), ("all", every)]:
        print(
            f"  {kind:6} mean {100 * statistics.mean(of_kind):5.1f} %  "
            f"median {100 * statistics.median(of_kind):5.1f} %  most {100 * max(of_kind):6.1f} %"
        )
