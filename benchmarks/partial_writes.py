"""What a write into part of an array costs, compiled and plain, in turns in one process.

Each form is called on a small array, on one of 20000 rows and on a large one. The cost should
follow what is written, not the array; the last column is the ratio to NumPy's time.

    python benchmarks/partial_writes.py [form ...]
"""

from __future__ import annotations

import inspect
import sys
import time
from collections.abc import Callable
from statistics import median
from typing import Any

import numpy as np

import dvm

ROWS = {"small": 64, "rows": 20_000, "large": 200_000}
COLUMNS = 64
#: Seconds spent on each form and size, and the fewest rounds.
BUDGET, LEAST = 0.4, 7

FORMS: dict[str, Callable[..., Any]] = {}


def form(function: Callable[..., Any]) -> Callable[..., Any]:
    FORMS[function.__name__] = function
    return function


@form
def one_element(x, i):
    x[i, 3] = 1


@form
def one_row(x, i):
    x[i] = 1


@form
def add_to_row(x, i):
    x[i] += 1


@form
def add_to_rows(x):
    v = x[10:20]
    v *= -1


@form
def first_of_ravel(x):
    x.ravel()[0] = 1


@form
def first_of_flat(x):
    x.flat[0] = 1


@form
def swap_rows(x, i, j):
    x[[i, j]] = x[[j, i]]


@form
def subtract_at_rows(x, idx, g):
    x[idx] -= g


@form
def store_at_rows(x, idx, g):
    x[idx] = g


@form
def add_at(x, i):
    np.add.at(x, i, 1)


@form
def add_at_rows(x, idx, g):
    np.add.at(x, idx, g)


@form
def add_at_axes(x, idx, g):
    np.add.at(x, (idx, idx % 3), g[:, 0])


@form
def rows_again(x, i, idx, g):
    x[idx] = g
    x[i] = 1
    x[idx] -= g
    x[idx] = g * 2


@form
def rows_of_own(x, idx, g):
    y = x * 2
    y[idx] = g
    y[idx] += g
    return y


@form
def put(x, i, j):
    np.put(x, [i, j], 1.0)


@form
def boundary(x):
    x[0] = x[1]
    x[-1] = x[-2]
    x[:, 0] = x[:, 1]
    x[:, -1] = 0


@form
def boundary_of_own(x):
    y = x * 2
    y[0] = 0
    y[-1] = 0
    y[:, 0] = 1
    return y


@form
def own_in_parts(x):
    y = np.zeros(x.shape, x.dtype)
    y[0] = 1
    y[1:-1] = x[2:] - x[:-2]
    y[-1] = 2
    return y


@form
def write_then_read_row(x, i, g):
    x[i] = g[0]
    return x[i] * 2


@form
def many_rows(x, g):
    for k in range(8):
        x[k] += g[k]


@form
def elements_in_a_loop(x, i):
    for k in range(1, 40):
        x[i, k] = 0.5 * x[i, k - 1] + 1


@form
def rows_in_a_loop(x, i):
    total = 0.0
    for k in range(40):
        x[i + k, :8] += 1
        total += x[i + k, 0]
    return total


@form
def pad(x):
    return np.pad(x, 1)


@form
def pad_edge(x):
    return np.pad(x, 1, mode="edge")


def measure(compiled: Callable[..., Any], plain: Callable[..., Any], given: Any) -> tuple[Any, ...]:
    """Medians of both in microseconds, taken in turns."""
    clock, begin = time.perf_counter, time.perf_counter()
    times: tuple[list[float], list[float]] = ([], [])
    once = clock()
    plain(*given)
    repeats = max(1, min(200, int(2e-4 / max(clock() - once, 1e-7))))
    while clock() - begin < BUDGET or len(times[0]) < LEAST:
        for function, taken in zip((plain, compiled), times, strict=True):
            t0 = clock()
            for _ in range(repeats):
                function(*given)
            taken.append((clock() - t0) / repeats * 1e6)
    return median(times[0]), median(times[1])


def main(names: list[str]) -> None:
    print(f"{'form':<22}{'size':<8}{'NumPy us':>12}{'dvm us':>12}{'ratio':>8}")
    for name, plain in FORMS.items():
        if names and name not in names:
            continue
        compiled = dvm.compile(plain)
        for size, rows in ROWS.items():
            rng = np.random.default_rng(0)
            x = rng.standard_normal((rows, COLUMNS)).astype(np.float32)
            idx = rng.permutation(rows)[:32]
            g = np.zeros((32, COLUMNS), np.float32)
            everything = {"x": x, "i": 5, "j": 9, "idx": idx, "g": g}
            given = [everything[parameter] for parameter in inspect.signature(plain).parameters]
            for _ in range(4):
                compiled(*given)
            numpy, own = measure(compiled, plain, given)
            print(f"{name:<22}{size:<8}{numpy:>12.2f}{own:>12.2f}{own / numpy:>8.2f}", flush=True)
        for reason in compiled.fallback_reasons:
            print(f"  falls back: {reason}")


if __name__ == "__main__":
    main(sys.argv[1:])
