"""The paper's operator suites on simulated cores: fused, against a kernel for each operation.

    .venv/bin/python -m benchmarks.simulated --shapes 60

Seeded shapes on target ascend910b2 (the paper's testbed), much smaller than those of Table 2,
because the calls compute, too. The peer runs the same operations by the same encoder, each as a
launch of its own: load, compute, store. Its operands find in the second cache what the operation
before left there. The paper's figures are against libraries whose kernels are not ours, on
hardware; what they have in common with these is what fusion saves.
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import dvm
from dvm import _dvm

Array = np.ndarray[Any, Any]
TARGET = "ascend910b2"


@dataclass(frozen=True)
class Operation:
    """One kernel of the peer: a function, and the names of what it reads and makes."""

    function: Callable[..., Array]
    reads: tuple[str, ...]
    makes: str


@dataclass(frozen=True)
class Suite:
    """A compound operator. paper: average speedup of PT-DVM over PT-eager (Table 3)."""

    name: str
    fused: Callable[..., Array]
    operations: Sequence[Operation]
    inputs: Callable[[np.random.Generator], dict[str, Array]]
    paper: float


def compile_once(functions: dict[Any, Any], function: Callable[..., Array]) -> Any:
    """Return the compiled function, the same for equal ones."""
    if function not in functions:
        functions[function] = dvm.compile(function, target=TARGET)
    return functions[function]


def launches(f: Any, names: Sequence[str], arrays: Sequence[Array], made: str) -> list[Any]:
    """Return the Programs of a call, their buffers numbered by the names of arrays."""
    profile = dvm.profile(f)(*arrays)
    by_own: dict[int, int] = {}
    order = [*names, made]
    programs = [program for kernel in profile.kernels for program in kernel.programs]
    for _, buffers in programs:
        for buffer in buffers:
            place = len(by_own)
            # In the order of first use; workspaces are nobody else's.
            name = order[place] if place < len(order) else f"{made} {place}"
            by_own.setdefault(buffer, BUFFERS.setdefault(name, len(BUFFERS)))
    return [(program, [by_own[b] for b in buffers]) for program, buffers in programs]


BUFFERS: dict[str, int] = {}


def time_of(programs: list[Any]) -> float:
    """Return the microseconds of launches one after another."""
    mhz = next(value for name, value, *_ in _dvm.timing_table(TARGET) if name == "mhz")
    return float(_dvm.time_programs(programs, TARGET)[-1]["end"] / mhz)


def run(suite: Suite, shapes: int) -> list[tuple[float, float, float]]:
    """Return for each shape: fused, apart, and the compile time of fused, in microseconds."""
    rng = np.random.default_rng(0)
    functions: dict[Any, Any] = {}
    rows = []
    for _ in range(shapes):
        BUFFERS.clear()
        arrays = suite.inputs(rng)
        names = list(arrays)
        f = compile_once(functions, suite.fused)
        fused = time_of(launches(f, names, list(arrays.values()), "result"))
        _, times = _dvm.timed_call(f, *arrays.values())
        BUFFERS.clear()
        apart = []
        for operation in suite.operations:
            g = compile_once(functions, operation.function)
            given = [arrays[name] for name in operation.reads]
            apart += launches(g, operation.reads, given, operation.makes)
            arrays[operation.makes] = g(*given)
        compiling = (times["bind"] + times["tile"] + times["encode"]) / 1000
        rows.append((fused, time_of(apart), compiling))
    return rows


def size(rng: np.random.Generator, low: int, high: int) -> int:
    """Return a size from low to high."""
    return int(rng.integers(low, high + 1))


def layer_norm(x: Array, scale: Array, shift: Array) -> Array:
    """Return the rows of x normalised."""
    centred = x - x.mean(axis=1, keepdims=True)
    variance = (centred * centred).mean(axis=1, keepdims=True)
    return centred / np.sqrt(variance + 1e-5) * scale + shift


def layer_norm_inputs(rng: np.random.Generator) -> dict[str, Array]:
    """Return rows, scale and shift."""
    rows, columns = size(rng, 16, 1024), size(rng, 64, 2048)
    x = rng.standard_normal((rows, columns), np.float32)
    return {"x": x, "scale": np.ones(columns, np.float32), "shift": np.ones(columns, np.float32)}


def if_else_add(x: Array, y: Array) -> Array:
    """Return the branch of the paper's if-else-add that is taken."""
    return x * 2 + y


def pair(rng: np.random.Generator) -> dict[str, Array]:
    """Return two arrays of one shape."""
    shape = (size(rng, 16, 2048), size(rng, 16, 2048))
    return {"x": rng.standard_normal(shape, np.float32), "y": np.ones(shape, np.float32)}


def factors(rng: np.random.Generator) -> dict[str, Array]:
    """Return what is multiplied and, behind that, what is added."""
    m, k, n = (size(rng, 16, 512) for _ in range(3))
    a, b = np.ones((m, k), np.float16), np.ones((k, n), np.float16)
    return {"c": np.ones((m, n), np.float16), "a": a, "b": b}


SUITES = [
    Suite(
        "LayerNorm",
        layer_norm,
        [
            Operation(lambda x: x.mean(axis=1, keepdims=True), ("x",), "mean"),
            Operation(lambda x, mean: x - mean, ("x", "mean"), "centred"),
            Operation(lambda centred: centred * centred, ("centred",), "square"),
            Operation(lambda square: square.mean(axis=1, keepdims=True), ("square",), "variance"),
            Operation(lambda variance: variance + 1e-5, ("variance",), "shifted"),
            Operation(lambda shifted: np.sqrt(shifted), ("shifted",), "deviation"),
            Operation(
                lambda centred, deviation: centred / deviation, ("centred", "deviation"), "unit"
            ),
            Operation(lambda unit, scale: unit * scale, ("unit", "scale"), "scaled"),
            Operation(lambda scaled, shift: scaled + shift, ("scaled", "shift"), "result"),
        ],
        layer_norm_inputs,
        1.32,
    ),
    Suite(
        "if-else-add",
        if_else_add,
        [
            Operation(lambda x: x * 2, ("x",), "twice"),
            Operation(lambda twice, y: twice + y, ("twice", "y"), "result"),
        ],
        pair,
        1.47,
    ),
    Suite(
        "addmm",
        lambda c, a, b: a @ b + c,
        [
            Operation(lambda a, b: a @ b, ("a", "b"), "product"),
            Operation(lambda product, c: product + c, ("product", "c"), "result"),
        ],
        factors,
        1.59,
    ),
    Suite(
        "matmul",
        lambda a, b: a @ b,
        [Operation(lambda a, b: a @ b, ("a", "b"), "result")],
        lambda rng: {name: array for name, array in factors(rng).items() if name != "c"},
        1.09,
    ),
]


def main() -> None:
    """Print a row for each suite."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--shapes", type=int, default=60)
    shapes = parser.parse_args().shapes
    dvm.set_stance("force_capture")
    print("suite        speedup    range        of the paper   compile us (median, most)")
    for suite in SUITES:
        rows = run(suite, shapes)
        gains = [apart / fused for fused, apart, _ in rows]
        compiling = [time for *_, time in rows]
        print(
            f"{suite.name:12} {statistics.mean(gains):6.2f}x  {min(gains):5.2f}-{max(gains):5.2f}  "
            f"{suite.paper:10.2f}x      {statistics.median(compiling):8.1f} {max(compiling):8.1f}"
        )


if __name__ == "__main__":
    main()
