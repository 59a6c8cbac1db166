"""What tuning gives: products in the tiles that calls take beside the best of all, and trials.

    python -m benchmarks.tuning [--lengths 62]

Products are the two dense layers of the paper TSCompiler (section 7, Figure 11), (32 L, 1024) by
(1024, 3072) and (32 L, 4096) by (4096, 1024), over lengths from 1 to 512, in cycles of simulated
cores. The best is of all tiles in steps of 32 sums, and of those of the pool. Then how many trials
a search takes until 95 % of the best, beside drawing tiles (the paper's Table 4).
"""

from __future__ import annotations

import argparse
import itertools
import statistics
from functools import partial

import numpy as np

from dvm.tuning import Kind, Measurer, Pool, Search, Space, Tile, Workload
from dvm.tuning.tuner import cost

TARGET = "ascend910b3"
LAYERS = {"32 L x 1024 by 1024 x 3072": (3072, 1024), "32 L x 4096 by 4096 x 1024": (1024, 4096)}
OPERATORS = {"NN": Kind("f16"), "NT": Kind("f16", by_columns=True), "f32 NN": Kind("f32")}


def grid(space: Space, pool: Pool, kind: Kind) -> list[Tile]:
    """Tiles that an exhaustive search tries."""
    sides = range(32, 257, 32)
    tiles = {Tile(m, n, k) for m, n, k in itertools.product(sides, sides, (64, 128))}
    return sorted(t for t in tiles | set(pool.tiles[kind]) if not space.why_not(t))


def shares(lengths: int) -> None:
    """Print how near to the best the tile that a call takes is, with the pool and by the model."""
    shipped, kind = Pool.in_use(TARGET), Kind("f16")
    measurer = Measurer(TARGET, kind)
    tiles = grid(Space(TARGET), shipped, kind)
    drawn = sorted(np.random.default_rng(0).choice(np.arange(1, 513), lengths, replace=False))
    for name, (n, k) in LAYERS.items():
        of_pool, of_model = [], []
        for length in drawn:
            m = 32 * int(length)
            best = min(measurer.time(m, n, k, tile) for tile in tiles)
            of_pool.append(best / measurer.time(m, n, k))
            Pool(TARGET).use()
            of_model.append(best / measurer.time(m, n, k))
            shipped.use()
        for what, each in (("pool", of_pool), ("model alone", of_model)):
            print(f"{name}, {what}: mean {statistics.mean(each):.3f}, worst {min(each):.3f}")


def is_enough(search: Search, cycles: float) -> bool:
    """Whether the best of a search takes no more."""
    return search.best.cycles <= cycles


def trials(seeds: int) -> None:
    """Print how many trials come to 95 % of the best, by a search and by drawing."""
    for name, kind in OPERATORS.items():
        measurer, space = Measurer(TARGET, kind), Space(TARGET, kind.dtype)
        of = partial(cost, measurer, Workload(4096, 3072, 1024))
        tiles = list(space.tiles())
        enough = min(map(of, tiles)) / 0.95
        searched, drawn = [], []
        for seed in range(seeds):
            search = Search(space, of, seed)
            search.run(len(tiles), stop=partial(is_enough, search, enough))
            searched.append(len(search.trials))
            order = np.random.default_rng(seed).permutation(len(tiles))
            drawn.append(next(k + 1 for k, i in enumerate(order) if of(tiles[i]) <= enough))
        print(
            f"{name}: {statistics.median(searched):.0f} trials of {len(tiles)} tiles, drawn "
            f"{statistics.median(drawn):.0f} (medians of {seeds} seeds)"
        )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--lengths", type=int, default=12)
    parser.add_argument("--seeds", type=int, default=11)
    options = parser.parse_args()
    shares(options.lengths)
    trials(options.seeds)
