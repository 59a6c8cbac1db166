"""Whether programs are ever slower compiled: `python -m benchmarks.no_slower [name ...]`.

Each program is called over and over with arguments of 30 sizes, plain and compiled in turns, each
on its own copies. Of all runs of 50 calls that follow one another and take at least 10 ms plain,
the worst counts: captures are part of it. The programs are those of `workloads.py` and of
tests/py/programs.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable, Iterator
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.no_slower.workloads import WORKLOADS

import dvm

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests/py"))

from programs.clone import Cloner
from programs.registry import programs

WINDOW, LEAST = 50, 0.01  # calls, seconds of plain work
ROUNDS = 5  # of 30 sizes each
BAR = 1.5

Call = tuple[tuple[Any, ...], dict[str, Any]]


def seconds(function: Callable[..., Any], call: Call) -> float:
    args, kwargs = Cloner().clone(list(call))
    begin = time.perf_counter()
    try:
        function(*args, **kwargs)
    except Exception as error:  # what a program raises is part of it
        del error
    return time.perf_counter() - begin


def everything() -> Iterator[tuple[str, Callable[..., Any], list[Call]]]:
    for name, (function, cases) in WORKLOADS.items():
        yield name, function, [(case, {}) for case in cases(np.random.default_rng(1))]
    for program in programs():
        yield program.name, program.function, list(program.calls())


def worst_window(plain: list[float], compiled: list[float]) -> tuple[float, int]:
    """Return the worst ratio of WINDOW calls and the first of them; 0 if all are too short."""
    sums = [list(accumulate(times, initial=0.0)) for times in (plain, compiled)]
    ratios = [(0.0, 0)]
    for begin in range(len(plain) - WINDOW + 1):
        base, other = (each[begin + WINDOW] - each[begin] for each in sums)
        if base >= LEAST:
            ratios.append((other / base, begin))
    return max(ratios)


def main(*names: str) -> None:
    dvm.compile(lambda x: np.sin(x) * 2 + x.sum())(np.ones(5))  # what is loaded once is
    over, counted = [], 0
    print(f"{'program':36} {'plain ms':>9} {'worst 50':>9} {'at':>4} {'last 50':>8}  counts")
    for name, function, calls in everything():
        if names and not any(each in name for each in names):
            continue
        compiled = dvm.compile(function)
        plain_times, times = [], []
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for call in calls * ROUNDS:
                plain_times.append(seconds(function, call))
                times.append(seconds(compiled, call))
        worst, begin = worst_window(plain_times, times)
        last = sum(times[-WINDOW:]) / sum(plain_times[-WINDOW:])
        stats = compiled.stats
        counts = f"{stats.captures}c {stats.hits}h {stats.drops}d {stats.fallbacks}f"
        average = 1e3 * sum(plain_times) / len(plain_times)
        text = f"{worst:9.2f} {begin:4}" if worst else f"{'short':>9} {'':4}"
        print(f"{name:36} {average:9.3f} {text} {last:8.2f}  {counts}", flush=True)
        counted += worst > 0
        if worst > BAR:
            over.append(name)
    print(f"{counted} programs of at least {1e3 * LEAST:.0f} ms, {len(over)} over {BAR}: {over}")


if __name__ == "__main__":
    main(*sys.argv[1:])
