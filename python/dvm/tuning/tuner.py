"""Fills a pool: one search for each size of product that it is to serve."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from functools import partial

from dvm.tuning.measuring import Kind, Measurer
from dvm.tuning.pool import Pool, Workload, predicted
from dvm.tuning.search import Search
from dvm.tuning.space import Space, Tile

KINDS = tuple(Kind(dtype, columns) for dtype in ("f16", "f32") for columns in (False, True))
#: sizes of which each search looks for the best tile: large products want large tiles, and of small
#: ones these would leave cores idle
REPLAYS = tuple(
    Workload(m, n, k)
    for m, n in ((64, 256), (256, 1024), (768, 768), (2048, 3072), (16, 4096), (8192, 8192))
    for k in (256, 4096)
)


def tune(
    target: str,
    *,
    kinds: Iterable[Kind] = KINDS,
    trials: int = 48,
    minutes: float | None = None,
    seed: int = 0,
    tell: Callable[[str], object] | None = None,
) -> Pool:
    """Return the pool of a simulated target: `pool.use()` lets calls choose from it.

    trials: of tiles in each of the searches, of which there is one for each size (REPLAYS) and
    kind; what one has measured the others know. minutes: after which no more is tried; None: no
    limit. tell: is given a line for each search. UnsupportedError for a target that is not
    simulated, ImportError without scikit-learn.
    """
    begun = time.monotonic()

    def is_over() -> bool:
        return minutes is not None and time.monotonic() - begun > 60 * minutes

    pool = Pool(target)
    for kind in kinds:
        measurer, space = Measurer(target, kind), Space(target, kind.dtype)
        for number, workload in enumerate(REPLAYS):
            if is_over() and measurer.known:
                break

            search = Search(space, partial(cost, measurer, workload), seed + number)
            best = search.run(trials, is_over)
            if tell is not None:
                tell(
                    f"{kind}, {workload.m} x {workload.k} by {workload.k} x {workload.n}: tiles of "
                    f"{best.tile}, {best.cycles:,.0f} cycles ({measurer.trials} tiles measured)"
                )
        pool.add(kind, measurer.known)
    return pool


def cost(measurer: Measurer, workload: Workload, tile: Tile) -> float:
    """Return the cycles of the product in that tile, by the waves that were measured."""
    return predicted(tile, measurer.waves(tile), workload, measurer.cubes)


__all__ = ["KINDS", "REPLAYS", "cost", "tune"]
