"""Programs that move elements by indices and masks, against NumPy.

    python -m benchmarks.moves [--sizes 1000 100000 10000000] [--only TEXT]

Prints for each size NumPy's nanoseconds per element and how many times faster dvm is, and what of
the program is an opaque call. Both are measured in turns in one process; medians count.
"""

from __future__ import annotations

import argparse
import inspect
import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import dvm

Array = np.ndarray[Any, Any]
Call = Callable[..., Any]

WIDTH = 64


def operands(size: int) -> dict[str, Array]:
    """Return arrays of `size` elements by the name of the arguments that take them."""
    random = np.random.default_rng(7)
    count = max(size // WIDTH, 1)
    x = random.normal(size=size).astype(np.float32)
    v = random.normal(size=size).astype(np.float32)
    return {
        "x": x,
        "v": v,
        "i": random.integers(0, size, size),
        "m": x > 0,
        "few": random.integers(0, 256, size),
        "rows": x[: count * WIDTH].reshape(count, WIDTH),
        "others": v[: count * WIDTH].reshape(count, WIDTH),
        "r": random.integers(0, count, count),
        "c": random.integers(0, WIDTH, count),
        "each": random.integers(0, WIDTH, (count, WIDTH)),
        "chosen": random.random(count) > 0.5,
    }


def put(x: Array, i: Array, v: Any, at: Call | None = None) -> Array:
    y = x * 1
    if at is None:
        y[i] = v
    else:
        at(y, i, v)
    return y


PROGRAMS: dict[str, Call] = {
    "x[i]": lambda x, i: x[i],
    "x[i], i32": lambda x, i: x[i.astype(np.int32)],
    "take": lambda x, i: np.take(x, i),
    "x[r], rows": lambda rows, r: rows[r],
    "x[:, c]": lambda rows, c: rows[:, c[:16]],
    "x[r, c]": lambda rows, r, c: rows[r, c],
    "x[arange, c]": lambda rows, c: rows[np.arange(len(rows)), c],
    "take_along_axis": lambda rows, each: np.take_along_axis(rows, each, 1),
    "x[m]": lambda x, m: x[m],
    "x[x > 0]": lambda x: x[x > 0],
    "x[m], rows": lambda rows, chosen: rows[chosen],
    "compress": lambda x, m: np.compress(m, x),
    "extract": lambda x, m: np.extract(m, x),
    "flatnonzero": lambda m: np.flatnonzero(m),
    "count_nonzero": lambda m: np.count_nonzero(m),
    "sum of bool": lambda m: m.sum(),
    "y[m] = 0": lambda x, m: put(x, m, 0),
    "y[m] = v[m]": lambda x, m, v: put(x, m, v[m]),
    "y[i] = v": lambda x, i, v: put(x, i, v),
    "y[r] = v, rows": lambda rows, r, others: put(rows, r, others),
    "y[r, c] = 1": lambda rows, r, c: put(rows, (r, c), 1),
    "add.at": lambda x, i, v: put(x, i, v, np.add.at),
    "add.at, rows": lambda rows, r, others: put(rows, r, others, np.add.at),
    "add.at, an argument": lambda x, i, v: np.add.at(x, i, v),
    "bincount": lambda few: np.bincount(few),
    "bincount, weights": lambda few, v: np.bincount(few, v),
}


def seconds(call: Call, arguments: list[Array], times: int) -> float:
    begin = time.perf_counter()
    for _ in range(times):
        call(*arguments)
    return (time.perf_counter() - begin) / times


def measure(program: Call, size: int) -> tuple[float, float, int]:
    """Return NumPy's seconds, dvm's, and the opaque calls of one call."""
    named = operands(size)
    arguments = [named[name] for name in inspect.signature(program).parameters]
    compiled = dvm.compile(program)
    with dvm.stance("force_capture"):
        compiled(*arguments)
    before = compiled.stats.opaque
    once = seconds(compiled, arguments, 1)
    opaque = compiled.stats.opaque - before
    times = max(1, int(5e-4 / once))
    repeats = max(3, min(25, int(0.4 / (once * times))))
    pairs = [
        (seconds(program, arguments, times), seconds(compiled, arguments, times))
        for _ in range(repeats)
    ]
    plain, ours = (statistics.median(side) for side in zip(*pairs, strict=True))
    return plain, ours, opaque


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--sizes", type=int, nargs="+", default=[10**3, 10**5, 10**7])
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    for name, program in PROGRAMS.items():
        if options.only not in name:
            continue
        line, calls = f"{name:22}", 0
        for size in options.sizes:
            plain, ours, opaque = measure(program, size)
            line += f"  {size:9} {plain / size * 1e9:7.2f} ns {plain / ours:6.2f}x"
            calls = max(calls, opaque)
        print(line, f" {calls} opaque" if calls else "", flush=True)


if __name__ == "__main__":
    main()
