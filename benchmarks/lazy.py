"""Lazy arrays beside NumPy: scripts with branches on data, interleaved, at several sizes.

    .venv/bin/python -m benchmarks.lazy [--rounds 31] [--sizes 16 1000 100000 1000000]

The scripts are written for the array API and run on both. The 30 operations of the first are
elementwise ones and reductions, and three of its lines ask the data which way to go. The other
makes 50 steps of a stencil from slices. Printed are medians of calls in turns, and what an
operation costs that is recorded and never needed.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import dvm
import dvm.lazy


def filtered(x: Any, xp: Any) -> float:
    """Thirty operations: one step of a made-up filter that looks at its data."""
    centred = x - xp.mean(x)
    scale = xp.sqrt(xp.mean(centred * centred) + 1e-6)
    z = centred / scale
    z = xp.minimum(xp.maximum(z, -3.0), 3.0)
    if float(xp.max(xp.abs(z))) > 2.5:
        z = z * 0.9 + 0.05
    gate = 1.0 / (1.0 + xp.exp(-z))
    mixed = gate * z + (1.0 - gate) * x
    if bool(xp.any(mixed < -2.0)):
        mixed = xp.where(mixed < -2.0, -2.0, mixed)
    energy = xp.sum(mixed * mixed)
    if energy > 1.0:
        mixed = mixed / xp.sqrt(energy)
    smooth = xp.tanh(mixed * 2.0) - mixed * 0.5
    return float(xp.sum(smooth * gate) + xp.max(smooth))


def diffused(u: Any, xp: Any) -> float:
    """Fifty steps, and now and then a look at how large it has become."""
    for step in range(50):
        u = u[1:-1] + 0.1 * (u[2:] - 2 * u[1:-1] + u[:-2])
        if step % 5 == 4 and float(xp.max(xp.abs(u))) > 2.5:
            u = u * 0.5
    return float(xp.sum(u))


def seconds(call: Callable[[], Any], repeats: int) -> float:
    begin = time.perf_counter()
    for _ in range(repeats):
        call()
    return (time.perf_counter() - begin) / repeats


def recorded() -> float:
    """Seconds that an operation takes when nothing ever needs its value."""
    x = dvm.asarray(np.ones(16))

    def hundred() -> None:
        for _ in range(100):
            _ = x * 2.0

    return min(seconds(hundred, 100) for _ in range(20)) / 100


def compare(script: Callable[[Any, Any], float], size: int, rounds: int) -> tuple[float, float]:
    """Return microseconds of NumPy's call and of the lazy one."""
    data = np.random.default_rng(0).normal(size=size)
    x = dvm.asarray(data)
    calls = (lambda: script(data, np)), (lambda: script(x, dvm.lazy))
    plain, lazy = (call() for call in calls)
    assert abs(plain - lazy) <= 1e-9 * max(1.0, abs(plain)), (plain, lazy)
    repeats = max(1, 200_000 // size) if size > 1000 else 100
    times: tuple[list[float], list[float]] = [], []
    for _ in range(rounds):
        for call, taken in zip(calls, times, strict=True):
            taken.append(seconds(call, repeats))
    return statistics.median(times[0]) * 1e6, statistics.median(times[1]) * 1e6


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=31)
    parser.add_argument("--sizes", type=int, nargs="*", default=[16, 1000, 100_000, 1_000_000])
    chosen = parser.parse_args()
    print(f"an operation recorded and dropped: {recorded() * 1e9:.0f} ns")
    for script in (filtered, diffused):
        print(f"{script.__name__:>10} {'NumPy us':>10} {'lazy us':>10} {'NumPy / lazy':>13}")
        for size in chosen.sizes:
            if script is diffused and size <= 100:
                continue  # each step takes two elements away
            numpy_us, lazy_us = compare(script, size, chosen.rounds)
            print(f"{size:>10} {numpy_us:>10.1f} {lazy_us:>10.1f} {numpy_us / lazy_us:>13.2f}")


if __name__ == "__main__":
    main()
