"""Kernels as they are published for NumPy, in the default stance and forced, against plain calls.

    taskset -c 0 python -m benchmarks.kernels [--only TEXT] [--calls 22] [--repeats 5]

Each is one compiled function, called 22 times at each of three sizes in turn. Prints ms of a plain
call and of a forced replay (at the middle size), what the first forced call takes beyond a plain
one; the first call that is replayed in the default stance, and what plain calls have taken before
it, in captures; and what calls take there relative to plain ones made in between: the first 22, the
first 50, the worst 50 in a row, those from 23 on, and the last 11 (warm). Times are the thread's.
"""

from __future__ import annotations

import argparse
import copy
import statistics
import time
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from benchmarks.kernel_programs import KERNELS, Kernel

import dvm

RATIOS = ("first 22", "first 50", "worst 50", "from 23", "warm")


class Row(NamedTuple):
    plain: float  # ms
    replay: float
    capture: float
    at: int  # the first replay; 0: none
    paid: float  # captures
    ratios: tuple[float, ...]

    def is_late(self) -> bool:
        return self.replay < self.plain and self.paid > 2


def seconds(call: Callable[..., Any], args: tuple[Any, ...]) -> float:
    own = copy.deepcopy(args)
    begin = time.thread_time()
    call(*own)
    return time.thread_time() - begin


def measured(kernel: Kernel, calls: int, repeats: int) -> Row:
    sizes = [kernel.make(np.random.default_rng(7), size) for size in kernel.sizes]
    forced, compiled = dvm.compile(kernel.function), dvm.compile(kernel.function)
    with dvm.stance("force_capture"):
        capture = seconds(forced, sizes[0]) - seconds(kernel.function, sizes[0])
        pairs = [[seconds(f, sizes[1]) for f in (kernel.function, forced)] for _ in range(repeats)]
    plain, replay = map(statistics.median, zip(*pairs, strict=True))
    taken, expected, at = [], [], 0
    for args in sizes:
        for _ in range(calls):
            taken.append(seconds(compiled, args))
            expected.append(seconds(kernel.function, args))
            at = at or (len(taken) if compiled.stats.hits else 0)
    before = max(at - 2, 0) if at else len(taken)
    cost = max(taken[before] - expected[before] if at else capture, 1e-6)

    def ratio(begin: int, end: int) -> float:
        return sum(taken[begin:end]) / sum(expected[begin:end])

    worst = max(ratio(begin, begin + 50) for begin in range(max(len(taken) - 50, 0) + 1))
    ratios = (ratio(0, 22), ratio(0, 50), worst, ratio(22, len(taken)), ratio(-11, len(taken)))
    return Row(plain * 1e3, replay * 1e3, capture * 1e3, at, sum(expected[:before]) / cost, ratios)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--only", default="")
    parser.add_argument("--calls", type=int, default=22)
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    print(f"{'':18}plain ms replay first ms  at  paid ", " ".join(f"{each:>8}" for each in RATIOS))
    rows = {}
    for name in filter(lambda name: options.only in name, KERNELS):
        r = rows[name] = measured(KERNELS[name], options.calls, options.repeats)
        times = f"{r.plain:8.2f} {r.replay:6.2f} {r.capture:8.1f} {r.at:3} {r.paid:5.2f} "
        print(f"{name:18}{times}", " ".join(f"{each:8.2f}" for each in r.ratios), flush=True)
    for title, values in zip(
        RATIOS, zip(*(r.ratios for r in rows.values()), strict=True), strict=True
    ):
        print(f"{title}: geomean {statistics.geometric_mean(values):.2f}, worst {max(values):.2f}")
    faster = [name for name, row in rows.items() if row.replay < row.plain]
    late = [name for name, row in rows.items() if row.is_late()]
    print(f"{len(faster)} of {len(rows)} replay faster; of these compiled after 2 captures: {late}")
    print(f"first calls beyond plain: {statistics.median(r.capture for r in rows.values()):.1f} ms")


if __name__ == "__main__":
    main()
