"""What this machine can do at most: the roofs under which a roofline puts a kernel.

Measured once per process, in some 0.1 s, with NumPy on as many threads as dvm uses: copies of
arrays that no cache holds, and a product of matrices.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np

from dvm import _dvm

#: of the arrays that are copied, together
COPIED_BYTES = 1 << 27
MATRIX = 768


@dataclass(frozen=True)
class Roofs:
    """gigabytes_per_second: read and written, from memory. gigaflops: of f32 products."""

    gigabytes_per_second: float
    gigaflops: float

    def at(self, intensity: float) -> float:
        """Return the most operations per nanosecond, at so many operations per byte."""
        return min(self.gigaflops, intensity * self.gigabytes_per_second)

    def kind_at(self, intensity: float) -> str:
        """Return which roof that is: "memory" or "compute"."""
        return "memory" if intensity * self.gigabytes_per_second < self.gigaflops else "compute"


def _best(run: Callable[[], object], times: int = 5) -> float:
    best = float("inf")
    for _ in range(times):
        begin = time.perf_counter()
        run()
        best = min(best, time.perf_counter() - begin)
    return best


@functools.cache
def roofs() -> Roofs:
    """Return the roofs of this machine."""
    threads = _dvm.thread_count()
    source = np.ones(COPIED_BYTES // 4, np.float32)
    target = np.empty_like(source)
    parts = list(zip(np.array_split(source, threads), np.array_split(target, threads), strict=True))
    with ThreadPoolExecutor(threads) as pool:
        copy = _best(lambda: list(pool.map(lambda part: np.copyto(part[1], part[0]), parts)))
    a = np.ones((MATRIX, MATRIX), np.float32)
    product = _best(lambda: a @ a)
    return Roofs(2 * COPIED_BYTES / copy / 1e9, 2 * MATRIX**3 / product / 1e9)
