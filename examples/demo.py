"""Three NumPy functions, unmodified, over every line of this project's own text.

Each line has another length, so nearly every call brings shapes never seen before. dvm captures
each function once and compiles for each shape anew, in microseconds. The exit status is not zero if
a function had to be captured again, ran uncompiled, or differs from NumPy.

    python examples/demo.py
"""

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

import dvm

ROOT = Path(__file__).resolve().parent.parent
TOLERANCE = (
    1e-5  # float32 results of order 1; sums in another order and exp differ in the last bits
)
FEATURES, HIDDEN = 8, 32

Array = np.ndarray[Any, Any]


def scale(x: Array) -> Array:
    """Brings every feature of [characters, features] to mean 0 and deviation 1."""
    return (x - x.mean(axis=0)) / (x.std(axis=0) + 1e-6)


def gelu_layer(x: Array, weight: Array, bias: Array) -> Array:
    """One layer of a perceptron; the matrix product stays NumPy's own."""
    h = x @ weight + bias
    return 0.5 * h * (1.0 + np.tanh(0.7978845608 * (h + 0.044715 * h * h * h)))


def softmax(x: Array) -> Array:
    """Turns scores into shares along the last axis."""
    e = np.exp(x - np.max(x, axis=-1, keepdims=True))
    return e / np.sum(e, axis=-1, keepdims=True)


def features(line: str) -> Array:
    """[characters, FEATURES] float32: code points and what kind of character each is."""
    code = np.array([ord(c) for c in line], np.float32)
    kinds = (str.isalpha, str.isupper, str.isdigit, str.isspace)
    columns = [code / 128, np.sin(code), np.cos(code), np.arange(len(line)) / len(line)]
    columns += [np.array([kind(c) for c in line]) for kind in kinds]
    return np.stack(columns, axis=1).astype(np.float32)


@dataclass
class Row:
    """What the table shows of one function; times in microseconds."""

    name: str
    shapes: int
    stats: dvm.Stats
    error: float
    numpy_us: float
    dvm_us: float
    compile_us: float

    def ok(self) -> bool:
        stats = self.stats
        fell_back = stats.recaptures or stats.fallbacks or stats.drops
        return not fell_back and stats.captures == 1 and self.error <= TOLERANCE


def median_us(function: Callable[..., Array], calls: list[tuple[Array, ...]]) -> float:
    """Median time of one call, over all arguments."""
    times = []
    for args in calls:
        start = time.perf_counter_ns()
        function(*args)
        times.append(time.perf_counter_ns() - start)
    return median(times) / 1000


def run(function: Callable[..., Array], calls: list[tuple[Array, ...]]) -> Row:
    """Calls `function` plain and compiled on all arguments and compares."""
    print(f"  {function.__name__} ...", flush=True)
    compiled = dvm.compile(function)
    error = 0.0
    compile_times = []
    seen: set[tuple[int, ...]] = set()
    explain = dvm.explain(compiled)
    for args in calls:
        if args[0].shape not in seen:  # the first call with this shape: bind, tile, encode
            seen.add(args[0].shape)
            call = explain(*args).call
            if call is not None:
                compile_times.append(call["bind"] + call["tile"] + call["encode"])
        difference = np.abs(compiled(*args) - function(*args))
        error = max(error, float(difference.max()))
    return Row(
        function.__name__,
        len(seen),
        compiled.stats,
        error,
        median_us(function, calls),
        median_us(compiled, calls),
        median(compile_times) / 1000 if compile_times else float("nan"),
    )


def table(rows: list[Row]) -> str:
    head = ("function", "shapes", "captures", "recaptures", "max error")
    head += ("NumPy us", "dvm us", "compile us")
    lines = ["".join(f"{cell:>12}" for cell in head)]
    for row in rows:
        cells = (row.name, row.shapes, row.stats.captures, row.stats.recaptures, f"{row.error:.1e}")
        times = (f"{t:.1f}" for t in (row.numpy_us, row.dvm_us, row.compile_us))
        lines.append("".join(f"{cell:>12}" for cell in (*cells, *times)))
    return "\n".join(lines)


def main() -> int:
    text = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
    lines = [line for path in text for line in path.read_text("utf-8").splitlines() if line]
    print(f"{len(lines)} lines of {len(text)} files, each an array of its own length", flush=True)
    inputs = [features(line) for line in lines]
    random = np.random.default_rng(0)
    weight = random.normal(0, 0.3, (FEATURES, HIDDEN)).astype(np.float32)
    bias = random.normal(0, 0.1, HIDDEN).astype(np.float32)
    rows = [
        run(scale, [(x,) for x in inputs]),
        run(gelu_layer, [(x, weight, bias) for x in inputs]),
        run(softmax, [(np.ascontiguousarray(x.T),) for x in inputs]),
    ]
    print(f"\n{table(rows)}")
    print("times: median per call; compile: bind + tile + encode on the first call of a shape")

    print("\nThe kernel after the matrix product, for the longest line, on a simulated NPU:\n")
    simulated = dvm.compile(gelu_layer, target="ascend910b3")
    print(simulated.inspect("bytecode", max(inputs, key=len), weight, bias))
    print("Go on with: README.md, docs/architecture.md, and")
    print("  python -m dvm explain examples/demo.py:softmax --arg f32[8,100]")
    failed = [row.name for row in rows if not row.ok()]
    if failed:
        print(f"FAILED (captured again, uncompiled, or inexact): {', '.join(failed)}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
