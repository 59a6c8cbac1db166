"""Tiles of products, tuned: a pool of measured ones, of which calls of any size take the best.

Which tile is best depends on sizes that are known when a call comes, and what a tile takes does
not: a product runs in waves of one tile for each core, and sizes only say how many waves there are.
So tiles are measured beforehand, in few trials (`search`), and a call takes the one of least time
by its number of waves (paper TSCompiler, sections 4.3 and 6; cpp/vm/encode/tile_pool.h).

    python -m dvm tune --target ascend910b3 --output pool.json
"""

from dvm.tuning.measuring import Kind, Measurer, Waves
from dvm.tuning.pool import Pool, Workload
from dvm.tuning.search import Search, Trial
from dvm.tuning.space import Space, Tile
from dvm.tuning.tuner import KINDS, tune

__all__ = [
    "KINDS",
    "Kind",
    "Measurer",
    "Pool",
    "Search",
    "Space",
    "Tile",
    "Trial",
    "Waves",
    "Workload",
    "tune",
]
