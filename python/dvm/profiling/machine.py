"""What this machine can do at most: the roofs under which a roofline puts a kernel.

Measured with NumPy on as many threads as dvm uses: copies of arrays that no cache holds, and
products of matrices, in turns. A roof is known once its best three rates agree; on a machine that
is busy they do not, and no roof is better than a wrong one.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np

from dvm import _dvm

#: of the arrays that are copied, together
COPIED_BYTES = 1 << 26
MATRIX = 512
#: how far apart the best three rates of a quiet machine lie at the most, as a share
AGREEMENT = 0.1
#: seconds that looking for a quiet moment may take
PATIENCE = 0.5


@dataclass(frozen=True)
class Roofs:
    """gigabytes_per_second: read and written, from memory. gigaflops: of f32 products.

    Either is None where it is unknown, and `note` says so then.
    """

    gigabytes_per_second: float | None
    gigaflops: float | None

    @property
    def note(self) -> str:
        """What to say of roofs that are unknown; empty where both are known."""
        if None not in (self.gigabytes_per_second, self.gigaflops):
            return ""
        return (
            "The roofs of this machine are unknown: it is busy, and measuring them gave another "
            "answer each time. Profile again when it is quiet."
        )

    def gigaflops_of(self, dtype: str) -> float | None:
        """Return the roof of "f32" or "f64" products; a vector holds half as many of the latter."""
        if self.gigaflops is None:
            return None
        return self.gigaflops / 2 if dtype == "f64" else self.gigaflops


def agreed(rates: list[float]) -> float | None:
    """Return the middle one of the best three rates, if these agree."""
    best = sorted(rates, reverse=True)[:3]
    if len(best) < 3 or best[0] > best[2] * (1 + AGREEMENT):
        return None
    return best[1]


_known: Roofs | None = None


def roofs() -> Roofs:
    """Return the roofs of this machine; measured once per process, but for what was unknown."""
    global _known
    if _known is None or _known.note:
        _known = _measured()
    return _known


def _measured() -> Roofs:
    threads = _dvm.thread_count()
    source = np.ones(COPIED_BYTES // 4, np.float32)
    target = np.empty_like(source)
    parts = list(zip(np.array_split(source, threads), np.array_split(target, threads), strict=True))
    a = np.ones((MATRIX, MATRIX), np.float32)
    copies: list[float] = []
    products: list[float] = []
    deadline = time.perf_counter() + PATIENCE
    with ThreadPoolExecutor(threads) as pool:
        while True:
            taken = _seconds(
                lambda: list(pool.map(lambda part: np.copyto(part[1], part[0]), parts))
            )
            copies.append(2 * COPIED_BYTES / taken / 1e9)
            products.append(2 * MATRIX**3 / _seconds(lambda: a @ a) / 1e9)
            found = Roofs(agreed(copies), agreed(products))
            if not found.note or time.perf_counter() > deadline:
                return found


def _seconds(run: Callable[[], object]) -> float:
    begin = time.perf_counter()
    run()
    return time.perf_counter() - begin
