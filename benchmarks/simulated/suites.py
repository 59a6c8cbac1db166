"""The paper's operator suites on simulated cores: fused, against a kernel for each operation.

Seeded shapes of the paper's Table 2, on target ascend910b2 (its testbed). Nothing is computed:
bytecode is made for the shapes, and timed. The peer is the same graph by the same encoder, each
operation a launch of its own: load, compute, store. Its operands find in the second cache what the
operation before left there. The paper's figures are against libraries whose kernels are not ours,
on hardware; what they have in common with these is what fusion saves.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from benchmarks.simulated.graphs import TimedGraph, graph_of

from dvm import _dvm

Array = np.ndarray[Any, Any]
Shapes = list[tuple[int, ...]]
TARGET = "ascend910b2"
#: (n, k) of Table 2, extracted from common large language models
MODELS = [
    (4096, 4096),
    (11008, 4096),
    (4096, 11008),
    (5120, 5120),
    (13696, 5120),
    (5120, 13696),
    (8192, 8192),
    (28672, 8192),
    (8192, 28672),
]


@dataclass(frozen=True)
class Suite:
    """A compound operator. shapes: of its arguments, by random numbers and the divisor of rows.

    paper: the average speedup of PT-DVM over PT-eager (Table 3), and the milliseconds that it takes
    to compile and run 60 shapes (Table 4): at most, in all, and running in all.
    """

    name: str
    function: Callable[..., Any]
    first: Shapes
    shapes: Callable[[np.random.Generator, int], Shapes]
    dtype: type
    paper: tuple[float, float, float, float]


@dataclass(frozen=True)
class Row:
    """What one shape gave: cycles fused and apart, and microseconds of compiling each."""

    fused: float
    apart: float
    compiling: float
    operations: int


def layer_norm(x: Array, scale: Array, shift: Array) -> Array:
    """Return the rows of x normalised."""
    centred = x - x.mean(axis=1, keepdims=True)
    variance = (centred * centred).mean(axis=1, keepdims=True)
    result: Array = centred / np.sqrt(variance + 1e-5) * scale + shift
    return result


def layer_norm_shapes(rng: np.random.Generator, divide: int) -> Shapes:
    """Return b in [1, 60] times 8192 rows of 1024 to 4096."""
    rows = max(1, int(rng.integers(1, 61)) * 8192 // divide)
    columns = int(rng.choice([1024, 2048, 3072, 4096]))
    return [(rows, columns), (columns,), (columns,)]


def pair_shapes(rng: np.random.Generator, divide: int) -> Shapes:
    """Return [b, s, f] of at most 256, 512 and 8192."""
    b, s, f = (int(rng.integers(1, most + 1)) for most in (256, 512, 8192))
    rows = max(1, b * s // divide)
    return [(rows, f), (rows, f)]


def factor_shapes(rng: np.random.Generator, divide: int) -> Shapes:
    """Return m of at most 8192, and (n, k) of a model."""
    m = max(1, int(rng.integers(1, 8193)) // divide)
    n, k = MODELS[rng.integers(len(MODELS))]
    return [(m, k), (k, n)]


SUITES = [
    Suite(
        "matmul",
        lambda a, b: a @ b,
        [(48, 56), (56, 64)],
        factor_shapes,
        np.float16,
        (1.09, 0.11, 0.48, 123.26),
    ),
    Suite(
        "LayerNorm",
        layer_norm,
        [(48, 56), (56,), (56,)],
        layer_norm_shapes,
        np.float32,
        (1.32, 0.10, 1.51, 271.14),
    ),
    Suite(
        "if-else-add",
        lambda x, y: x * 2 + y,
        [(48, 56), (48, 56)],
        pair_shapes,
        np.float32,
        (1.47, 0.05, 2.12, 97.79),
    ),
    Suite(
        "addmm",
        lambda a, b, c: a @ b + c,
        [(48, 56), (56, 64), (48, 64)],
        lambda rng, divide: [
            *(shapes := factor_shapes(rng, divide)),
            (shapes[0][0], shapes[1][1]),
        ],
        np.float16,
        (1.59, 0.11, 1.41, 127.12),
    ),
]


def compile_time(graph: TimedGraph, sizes: dict[str, int]) -> float:
    """Return microseconds of binding, tiling and encoding all Regions, the least of a few times."""
    return min(
        sum(region["nanoseconds"] for region in graph.encode(sizes)) / 1000 for _ in range(5)
    )


def run(suite: Suite, shapes: int, divide: int) -> list[Row]:
    """Return a row for each seeded shape."""
    rng = np.random.default_rng(0)
    graph = graph_of(
        suite.function, TARGET, *(np.ones(shape, suite.dtype) for shape in suite.first)
    )
    apart = graph.apart()
    rows = []
    for _ in range(shapes):
        sizes = graph.sizes(suite.shapes(rng, divide))
        split = graph.encode(sizes, apart=apart)
        rows.append(
            Row(
                graph.time(graph.encode(sizes)),
                graph.time(split),
                compile_time(graph, sizes),
                len(split),
            )
        )
    return rows


def report(shapes: int, divide: int, suites: Sequence[Suite] = SUITES) -> None:
    """Print a row for each suite, beside the paper's Tables 3 and 4."""
    mhz = next(value for name, value, *_ in _dvm.timing_table(TARGET) if name == "mhz")
    print(f"suites: {shapes} shapes of Table 2, rows divided by {divide}, on {TARGET}")
    print("of the paper in brackets; ms of running and compiling are per shape")
    print(
        "suite        kernels  speedup            range        running             compiling, most"
    )
    for suite in suites:
        rows = run(suite, shapes, divide)
        gains = [row.apart / row.fused for row in rows]
        running = statistics.mean(row.fused for row in rows) / mhz / 1000
        compiling = [row.compiling / 1000 for row in rows]
        speedup, most, total, ran = suite.paper
        print(
            f"{suite.name:12} {rows[0].operations:7} {statistics.mean(gains):5.2f} ({speedup:.2f}) "
            f" {min(gains):5.2f}-{max(gains):5.2f}  {running:6.2f} ({ran / 60:.2f})  "
            f"{statistics.mean(compiling):6.3f} ({total / 60:.3f}), "
            f"{max(compiling):.3f} ({most:.2f})",
            flush=True,
        )
