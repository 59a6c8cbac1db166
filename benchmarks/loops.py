"""Loops against the same loops run by Python: programs of tests/py/loops, numbers, a stencil.

    python -m benchmarks.loops [--only TEXT] [--size 64] [--count 100] [--repeats 9]

Prints for each program microseconds of a warm call as Python runs it and as dvm does, their ratio,
and what the first call takes longer than a plain one, in ms. Behind them the steps of a stencil
beside one hand-written C++ loop nest per step, for which a C++ compiler is needed. Both of a pair
are measured in turns in one process; medians count. Run it under `taskset` for one thread.
"""

from __future__ import annotations

import argparse
import copy
import ctypes
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import dvm

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "py"))
from loops.programs import PROGRAMS, Make, Program

Call = Callable[..., Any]

STENCIL = """
extern "C" void steps(double* a, double* b, long n, long count) {
  for (long k = 0; k < count; ++k) {
    for (long i = 1; i < n - 1; ++i)
      for (long j = 1; j < n - 1; ++j)
        b[i * n + j] = a[i * n + j] + 0.1 * (a[(i - 1) * n + j] + a[(i + 1) * n + j] +
                       a[i * n + j - 1] + a[i * n + j + 1] - 4 * a[i * n + j]);
    double* const other = a; a = b; b = other;
  }
}
"""


def heat(a, b, count):
    for _ in range(count):
        near = a[:-2, 1:-1] + a[2:, 1:-1] + a[1:-1, :-2] + a[1:-1, 2:]
        b[1:-1, 1:-1] = a[1:-1, 1:-1] + 0.1 * (near - 4 * a[1:-1, 1:-1])
        a, b = b, a
    return a


def collatz(n):
    steps = 0
    while n != 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        steps += 1
    return steps


def polynomial(coefficients, x):
    y = 0.0
    for c in coefficients:
        y = y * x + c
    return y


def longest_common(a, b):
    table = np.zeros((len(a) + 1, len(b) + 1), dtype=np.int64)
    for i in range(len(a)):
        for j in range(len(b)):
            if a[i] == b[j]:
                table[i + 1, j + 1] = table[i, j] + 1
            else:
                table[i + 1, j + 1] = max(table[i, j + 1], table[i + 1, j])
    return table[-1, -1]


def doubled(x):
    for i in range(len(x)):
        x[i] = x[i] * 2
    return x


def of_numbers(function: Call, make: Make) -> Program:
    return Program(function, make, None)


NUMBERS = {
    "collatz": of_numbers(collatz, lambda _r, _n, k: (837799 if k > 30 else k + 2,)),
    "polynomial": of_numbers(polynomial, lambda r, _n, k: (r.random(k).tolist(), 0.9)),
    "longest_common": of_numbers(
        longest_common, lambda r, _n, k: (r.integers(0, 4, k), r.integers(0, 4, k))
    ),
    "doubled": of_numbers(doubled, lambda r, _n, k: (r.random(k),)),
}


def seconds(call: Call, args: tuple[Any, ...]) -> float:
    own = copy.deepcopy(args)
    begin = time.perf_counter()
    call(*own)
    return time.perf_counter() - begin


def beside(one: Call, other: Call, args: tuple[Any, ...], repeats: int) -> tuple[float, float]:
    """The medians of both, taken in turns."""
    pairs = [(seconds(one, args), seconds(other, args)) for _ in range(repeats)]
    first, second = zip(*pairs, strict=True)
    return statistics.median(first), statistics.median(second)


def first_calls(program: Program, size: int, count: int) -> float:
    """The most that a first call takes longer than a plain one, of some counts, in seconds."""
    most = 0.0
    for number in (3, count):
        args = program.make(np.random.default_rng(7), size, number)
        plain = seconds(program.function, args)
        most = max(most, seconds(dvm.compile(program.function), args) - plain)
    return most


def ratio_of(name: str, program: Program, size: int, count: int, repeats: int) -> float:
    random = np.random.default_rng(7)
    compiled = dvm.compile(program.function)
    with dvm.stance("force_capture"):
        for number in (3, 4, count, 2, count):
            compiled(*program.make(random, size, number))
    args = program.make(random, size, count)
    compiled(*copy.deepcopy(args))
    plain, own = beside(program.function, compiled, args, repeats)
    first = first_calls(program, size, count)
    times = f"{plain * 1e6:10.1f} {own * 1e6:10.1f} {plain / own:7.2f} {first * 1e3:8.1f}"
    print(f"{name:24} {times}  {compiled.stats.captures} captures")
    return plain / own


def stencil_by_hand() -> Call | None:
    compiler = shutil.which("c++")
    if compiler is None:
        print("stencil: no C++ compiler for the loop nest")
        return None
    with tempfile.TemporaryDirectory() as folder:
        source, library = Path(folder, "stencil.cpp"), Path(folder, "stencil.so")
        source.write_text(STENCIL)
        flags = ["-O3", "-march=native", "-shared", "-fPIC"]
        subprocess.run([compiler, *flags, str(source), "-o", str(library)], check=True)
        steps = ctypes.CDLL(str(library)).steps
    steps.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_long, ctypes.c_long]

    def call(a: Any, b: Any, count: int) -> Any:
        steps(a.ctypes.data, b.ctypes.data, len(a), count)
        return b if count % 2 else a

    return call


def stencil(repeats: int) -> None:
    by_hand = stencil_by_hand()
    if by_hand is None:
        return
    compiled = dvm.compile(heat)
    random = np.random.default_rng(7)
    with dvm.stance("force_capture"):
        for count in (2, 3, 4):
            compiled(random.random((9, 9)), random.random((9, 9)), count)
    start = random.random((100, 100))
    args = (start, start.copy(), 1000)
    results = [call(*copy.deepcopy(args)) for call in (heat, compiled, by_hand)]
    for result in results[1:]:
        np.testing.assert_allclose(result, results[0], rtol=1e-9)
    hand, own = beside(by_hand, compiled, args, repeats)
    plain, _ = beside(heat, compiled, args, repeats)
    print(f"stencil, us a step: NumPy {plain * 1e3:.2f}, dvm {own * 1e3:.2f}, C++ {hand * 1e3:.2f}")
    print(f"dvm takes {own / hand:.2f} times what the loop nest takes")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--only", default="")
    parser.add_argument("--size", type=int, default=64)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--repeats", type=int, default=9)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    print(f"{'':24} {'Python us':>10} {'dvm us':>10} {'ratio':>7} {'first ms':>8}")
    for title, programs in (("arrays", PROGRAMS), ("numbers", NUMBERS)):
        chosen = {name: each for name, each in programs.items() if options.only in name}
        sizes = options.size, options.count, options.repeats
        ratios = [ratio_of(name, program, *sizes) for name, program in chosen.items()]
        if ratios:
            print(f"{title}: geometric mean {statistics.geometric_mean(ratios):.2f}")
    if options.only in "stencil":
        stencil(options.repeats)


if __name__ == "__main__":
    main()
