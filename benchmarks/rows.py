"""Every row of elementwise.def that is a ufunc, against NumPy: whole calls of a program of one op.

    python -m benchmarks.rows [--sizes 10000 1000000] [--dtypes f4 f8 i8] [--only TEXT] [--step 2]

Prints nanoseconds per element of both and the ratio NumPy / dvm, worst first. Both are measured in
turns in one process; the best of the repeats counts. Run it under `taskset` for one thread. With
`--step` operands are strided views (`x[::2]`, `x[::-1]`).
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import dvm
from dvm import _dvm

Array = np.ndarray[Any, Any]
Call = Callable[..., Any]


class Measured(NamedTuple):
    row: str
    dtype: str
    size: int
    numpy_ns: float
    dvm_ns: float

    @property
    def ratio(self) -> float:
        return self.numpy_ns / self.dvm_ns

    def __str__(self) -> str:
        each = f"{self.numpy_ns / self.size:8.3f} {self.dvm_ns / self.size:8.3f}"
        return f"{self.row:16} {self.dtype:4} {self.size:8} {each} {self.ratio:7.2f}"


def program(ufunc: np.ufunc) -> Call:
    """Return a program of that one operation."""
    if ufunc.nin == 1:
        return lambda x: ufunc(x)
    return lambda x, y: ufunc(x, y)


def operands(ufunc: np.ufunc, dtype: str, size: int, step: int) -> list[Array]:
    """Return arguments inside the domain of most functions, on which none of them warns."""
    random = np.random.default_rng(7)
    count = size * abs(step)
    domain = {"arccosh": (1.1, 4), "log1p": (-0.9, 4)}.get(ufunc.__name__, (0.1, 0.9))
    if np.dtype(dtype).kind == "f":
        arrays = [random.uniform(*domain, count).astype(dtype) for _ in range(ufunc.nin)]
    else:
        arrays = [random.integers(1, 12, count).astype(dtype) for _ in range(ufunc.nin)]
    return [array[::step] for array in arrays]


def best_of(calls: list[Call], args: list[Array], seconds: float) -> list[float]:
    """Return nanoseconds per call of each, taken in turns."""
    best = [float("inf")] * len(calls)
    stop = time.perf_counter() + seconds
    while time.perf_counter() < stop:
        for i, call in enumerate(calls):
            start = time.perf_counter_ns()
            call(*args)
            best[i] = min(best[i], time.perf_counter_ns() - start)
    return best


def measure(row: str, dtype: str, size: int, step: int, seconds: float) -> Measured | None:
    """Return None where NumPy has no loop for the dtype, or another result dtype than the row."""
    ufunc = getattr(np, row)
    args = operands(ufunc, dtype, size, step)
    try:
        result = ufunc(*args)
    except TypeError:
        return None
    if result.dtype not in (args[0].dtype, np.dtype(bool)):
        return None
    compiled = dvm.compile(program(ufunc))
    for _ in range(3):
        compiled(*args)
    return Measured(row, dtype, size, *best_of([ufunc, compiled], args, seconds))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", nargs="*", type=int, default=[10_000, 1_000_000])
    parser.add_argument("--dtypes", nargs="*", default=["f4", "f8", "i8"])
    parser.add_argument("--only", default="")
    parser.add_argument("--step", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=0.05, help="for each measurement")
    options = parser.parse_args()
    rows = [
        found
        for row in sorted({name for _, name in _dvm.ufunc_table if hasattr(np, name)})
        for dtype in options.dtypes
        for size in options.sizes
        if options.only in row
        and (found := measure(row, dtype, size, options.step, options.seconds))
    ]
    print(f"{'row':16} {'':4} {'size':>8} {'NumPy':>8} {'dvm':>8}   ratio   (ns per element)")
    for each in sorted(rows, key=lambda found: found.ratio):
        print(each)


if __name__ == "__main__":
    main()
