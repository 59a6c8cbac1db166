"""Times contenders in turns, so that what disturbs the machine disturbs them all alike."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

import dvm

from .contenders import CONTENDERS
from .workloads import Workload

ROUNDS = 9
BLOCK_SECONDS = 0.01
# Worker threads of other libraries spin for a while after a call, and would disturb the next one.
PAUSE_SECONDS = 0.03
# Relative to the largest magnitude of a double-precision result.
TOLERANCE = 1e-4
SWEEP_SHAPES = 50


@dataclass(frozen=True)
class Timing:
    workload: str
    n: int
    threads: int
    contender: str
    microseconds: float  # a call, the median of blocks


def seconds_per_call(call: Callable[..., Any], arrays: list[Any], seconds: float) -> float:
    """Return the mean over as many calls as take so long."""
    calls = 0
    start = time.perf_counter()
    while True:
        call(*arrays)
        calls += 1
        spent = time.perf_counter() - start
        if spent >= seconds:
            return spent / calls


def block(call: Callable[..., Any], arrays: list[Any], pause: float = PAUSE_SECONDS) -> float:
    """Return seconds per call over a block of calls, after two calls that do not count."""
    time.sleep(pause)
    call(*arrays)
    call(*arrays)
    return seconds_per_call(call, arrays, BLOCK_SECONDS)


def interleaved(samples: dict[str, Callable[[], float]], rounds: int = ROUNDS) -> dict[str, float]:
    """Return the median of each over so many rounds, in which they take turns."""
    values: dict[str, list[float]] = {name: [] for name in samples}
    for _ in range(rounds):
        for name, sample in samples.items():
            values[name].append(sample())
    return {name: statistics.median(found) for name, found in values.items()}


def check(workload: Workload, n: int, name: str, result: Any) -> None:
    """Compare a result with the same program in double precision."""
    wide = [array.astype(np.float64) for array in workload.inputs(n)]
    expected = workload.function(np, *wide)
    error = np.max(np.abs(np.asarray(result) - expected)) / np.max(np.abs(expected))
    if not error <= TOLERANCE:
        raise AssertionError(f"{name} computes {workload.name} with an error of {error:.1e}")


def warm(workload: Workload, n: int, threads: int, names: list[str]) -> list[Timing]:
    """Time calls of one shape after it has been met."""
    calls: dict[str, tuple[Callable[..., Any], list[Any]]] = {}
    for name in names:
        try:
            call, convert = CONTENDERS[name][1](workload)
        except (AttributeError, TypeError):
            continue  # it has no such function
        arrays = [convert(array) for array in workload.inputs(n)]
        with dvm.stance("force_capture"):  # dvm would wait for calls to have taken as long
            check(workload, n, name, call(*arrays))
            check(workload, n, name, call(*arrays))
        calls[name] = (call, arrays)
    medians = interleaved({name: partial(block, *made) for name, made in calls.items()})
    return [
        Timing(workload.name, n, threads, name, seconds * 1e6) for name, seconds in medians.items()
    ]


def sweep(workload: Workload, threads: int, names: list[str]) -> list[Timing]:
    """Time each of 50 shapes once, none of them met before: compilation included.

    The first call of all, which captures the program, is one of them.
    """
    rng = np.random.default_rng(1)
    largest = workload.sizes()[-2]
    sizes = rng.choice(np.arange(largest // 100, largest), SWEEP_SHAPES, replace=False)
    timings = []
    for name in names:
        call, convert = CONTENDERS[name][1](workload)
        total = 0.0
        for n in sizes:
            arrays = [convert(array) for array in workload.inputs(int(n))]
            start = time.perf_counter()
            call(*arrays)
            total += time.perf_counter() - start
        timings.append(Timing(workload.name, 0, threads, name, total * 1e6))
    return timings
