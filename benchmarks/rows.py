"""Programs of one operation against NumPy: every ufunc of elementwise.def, reductions, casts.

    python -m benchmarks.rows [--sizes 10000 1000000] [--dtypes f4 f8 i8] [--only TEXT]
                              [--kinds ufunc ...] [--step 2]

Prints nanoseconds per element of the program as Python runs it and as dvm does, and the ratio of
the two, worst first. Both are measured in turns in one process; the best of the repeats counts. Run
it under `taskset` for one thread. With `--step` operands are strided views (`x[::2]`, `x[::-1]`).
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

import dvm
from dvm import _dvm

Array = np.ndarray[Any, Any]
Call = Callable[..., Any]


class Row(NamedTuple):
    name: str
    program: Call
    operands: list[Array]


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
        return f"{self.row:24} {self.dtype:4} {self.size:8} {each} {self.ratio:7.2f}"


def random_array(dtype: str, size: int, domain: tuple[float, float] = (0.1, 0.9)) -> Array:
    random = np.random.default_rng(7)
    if np.dtype(dtype).kind == "f":
        return random.uniform(*domain, size).astype(dtype)
    return random.integers(1, 12, size).astype(dtype)


def ufuncs(dtype: str, size: int, step: int) -> Iterator[Row]:
    """Yield the ufuncs, with arguments inside the domain of most, on which none of them warns."""
    for name in sorted({name for _, name in _dvm.ufunc_table if hasattr(np, name)}):
        ufunc = getattr(np, name)
        domain = {"arccosh": (1.1, 4), "log1p": (-0.9, 4)}.get(name, (0.1, 0.9))
        array = random_array(dtype, size * abs(step), domain)[::step]
        if ufunc.nin == 1:
            yield Row(name, lambda x, f=ufunc: f(x), [array])
        else:
            yield Row(name, lambda x, y, f=ufunc: f(x, y), [array, array[::-1].copy()])


REDUCTIONS = "sum prod max min any all mean argmax argmin cumsum cumprod"
FOLDS = """
subtract bitwise_or bitwise_and bitwise_xor logical_and logical_or logical_xor fmax fmin gcd hypot
"""


def reductions(dtype: str, size: int, step: int) -> Iterator[Row]:
    """Yield reductions of a vector, of its rows and of its columns."""
    flat = random_array(dtype, size * abs(step))[::step]
    # Products that neither overflow nor vanish.
    ones = np.ones(size * abs(step), dtype)[::step]
    for name in (REDUCTIONS + FOLDS).split():
        x = ones if "prod" in name else flat
        f = getattr(np, name)
        if name in FOLDS.split():
            f = f.reduce
            name += ".reduce"
        yield Row(name, lambda x, f=f: f(x, axis=0), [x])
        square = x[: size // 100 * 100].reshape(-1, 100)
        yield Row(f"{name} rows", lambda x, f=f: f(x, axis=1), [square])
        yield Row(f"{name} columns", lambda x, f=f: f(x, axis=0), [square])


def cast_to(dtype: Any) -> Call:
    return lambda x: x.astype(dtype)


def casts(dtype: str, size: int, step: int) -> Iterator[Row]:
    """Yield casts to every other dtype."""
    array = random_array(dtype, size * abs(step))[::step]
    for to in ["?", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f2", "f4", "f8"]:
        yield Row(f"to {to}", cast_to(np.dtype(to)), [array])


def literals(dtype: str, size: int, step: int) -> Iterator[Row]:
    """Yield operations with a literal operand, small powers among them."""
    array = random_array(dtype, size * abs(step))[::step]
    yield Row("x ** 2", lambda x: x**2, [array])
    yield Row("x ** 3", lambda x: x**3, [array])
    if array.dtype.kind == "f":
        yield Row("x ** 0.5", lambda x: x**0.5, [array])
        yield Row("x ** -1", lambda x: x**-1, [array])
        yield Row("x ** 2.5", lambda x: x**2.5, [array])
    yield Row("x + 1", lambda x: x + 1, [array])
    yield Row("x * 3", lambda x: x * 3, [array])
    yield Row("x > 1", lambda x: x > 1, [array])
    yield Row("x // 3", lambda x: x // 3, [array])
    yield Row("clip", lambda x: np.clip(x, 0, 1), [array])
    yield Row("where", lambda x: np.where(x > 1, x, 0), [array])


KINDS = {"ufunc": ufuncs, "reduction": reductions, "cast": casts, "literal": literals}


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


def measure(row: Row, dtype: str, size: int, seconds: float) -> Measured | None:
    """Return None where NumPy has no loop for the dtype."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            row.program(*row.operands)
    except (TypeError, RuntimeWarning):
        return None
    compiled = dvm.compile(row.program)
    for _ in range(3):
        compiled(*row.operands)
    best = best_of([row.program, compiled], row.operands, seconds)
    return Measured(row.name, dtype, size, *best)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", nargs="*", type=int, default=[10_000, 1_000_000])
    parser.add_argument("--dtypes", nargs="*", default=["f4", "f8", "i8"])
    parser.add_argument("--kinds", nargs="*", choices=[*KINDS], default=[*KINDS])
    parser.add_argument("--only", default="")
    parser.add_argument("--step", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=0.05, help="for each measurement")
    options = parser.parse_args()
    found = [
        measure(row, dtype, size, options.seconds)
        for kind in options.kinds
        for dtype in options.dtypes
        for size in options.sizes
        for row in KINDS[kind](dtype, size, options.step)
        if options.only in row.name
    ]
    print(f"{'row':24} {'':4} {'size':>8} {'NumPy':>8} {'dvm':>8}   ratio   (ns per element)")
    for each in sorted((each for each in found if each), key=lambda each: each.ratio):
        print(each)


if __name__ == "__main__":
    main()
