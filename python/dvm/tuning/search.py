"""Finds the best tile in few trials: Bayesian optimisation in regions of trust.

One product is good in many neighbouring tiles, and in tiles far apart (local smoothness, paper
TSCompiler, section 4.3): so several small regions are searched at once, each by a surrogate of its
own. A region grows while it finds better tiles, shrinks where it does not, and begins anew
elsewhere when it is too small (TuRBO). Which region the next trials are of is decided as for the
arms of a bandit: each draws what its tiles may take, and the least of all drawn are measured.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from dvm.tuning.space import FRACTAL, Point, Space, Tile
from dvm.tuning.surrogate import Surrogate

#: sides of a region, of a space whose sides are 1: at first, at most and at least
LENGTH, LONGEST, SHORTEST = 0.4, 0.8, 0.05
#: better tiles in a row behind which a region grows; worse ones behind which it shrinks
SUCCESSES, FAILURES = 2, 3
CANDIDATES = 64  # that a region draws of
REGIONS, BATCH = 4, 4
IDLE = 16  # rounds that found no other tile: all are known, or nearly


class Trial(NamedTuple):
    """A tile that was measured. cycles: of what was asked for."""

    tile: Tile
    cycles: float


def starts(space: Space) -> list[Tile]:
    """Tiles that suit the hardware (Roller's): a core is busy and reads little meanwhile.

    A tile reads as many elements as its sides are long and computes as many products as their
    product: those of most sums are the best for large products, and squares among them. For small
    ones, which would leave cores idle, the same of an eighth of the sums.
    """
    begun: dict[Tile, None] = {}
    most = max(m * n for m in space.axes[0] for n in space.axes[1] if _fits(space, m, n))
    for share in (1, 8):
        for aspect in (0.5, 2.0, 1.0):
            m = math.sqrt(most / share * aspect)
            n = most / share / m
            wanted = Tile(*(max(FRACTAL, round(side)) for side in (m, n, space.axes[2][-1])))
            begun[space.nearest(space.point(wanted))] = None
    return list(begun)


def _fits(space: Space, m: int, n: int) -> bool:
    return not space.why_not(Tile(m, n, space.axes[2][0]))


@dataclass
class Region:
    """A box around the best tile that it has found; values are logarithms of times."""

    length: float = LENGTH
    points: list[Point] = field(default_factory=list)
    values: list[float] = field(default_factory=list)
    successes: int = 0
    failures: int = 0

    @property
    def centre(self) -> Point:
        """Where its best tile lies."""
        return self.points[int(np.argmin(self.values))]

    @property
    def is_spent(self) -> bool:
        """Whether it is too small to find anything."""
        return self.length < SHORTEST

    def around(self, random: np.random.Generator) -> Point:
        """Return a point of the box: some of its coordinates are the centre's."""
        moved = random.random(3) < 2 / 3
        moved[random.integers(3)] = True
        shift = (random.random(3) - 0.5) * self.length
        return np.clip(self.centre + np.where(moved, shift, 0.0), 0.0, 1.0)

    def tell(self, point: Point, value: float) -> None:
        """It was measured: the box grows or shrinks by whether it is the best so far."""
        is_better = not self.values or value < min(self.values)
        self.points.append(point)
        self.values.append(value)
        self.successes = self.successes + 1 if is_better else 0
        self.failures = 0 if is_better else self.failures + 1
        if self.successes == SUCCESSES:
            self.length, self.successes = min(LONGEST, 2 * self.length), 0
        elif self.failures == FAILURES:
            self.length, self.failures = self.length / 2, 0


class Search:
    """A search for the tile of least time. `trials`: what was measured, in order.

    cost: cycles of a tile; it is asked once for each. seed: two searches of one seed are the same.
    """

    def __init__(self, space: Space, cost: Callable[[Tile], float], seed: int = 0) -> None:
        self.space, self.cost = space, cost
        self.random = np.random.default_rng(seed)
        self.trials: list[Trial] = []
        self._measured: dict[Tile, float] = {}
        self._waiting = starts(space)
        self.regions: list[Region] = []

    @property
    def best(self) -> Trial:
        """The one of least time so far."""
        return min(self.trials, key=lambda trial: trial.cycles)

    def run(self, trials: int, stop: Callable[[], bool] = lambda: False) -> Trial:
        """Measure so many tiles more, fewer where stop() says so or no others are found.

        Return the best.
        """
        wanted, idle = len(self.trials) + trials, 0
        while len(self.trials) < wanted and idle < IDLE and not (self.trials and stop()):
            known = len(self.trials)
            self._begin_regions()
            for region, tile in self._batch(min(BATCH, wanted - len(self.trials))):
                region.tell(self.space.point(tile), self._measure(tile))
            self.regions = [region for region in self.regions if not region.is_spent]
            idle = 0 if len(self.trials) > known else idle + 1
        return self.best

    def _measure(self, tile: Tile) -> float:
        if tile not in self._measured:
            self._measured[tile] = self.cost(tile)
            self.trials.append(Trial(tile, self._measured[tile]))
        return math.log(self._measured[tile])

    def _begin_regions(self) -> None:
        """Each at a tile that suits the hardware, later anywhere."""
        while len(self.regions) < REGIONS:
            tile = (
                self._waiting.pop(0) if self._waiting else self.space.nearest(self.random.random(3))
            )
            region = Region()
            region.tell(self.space.point(tile), self._measure(tile))
            region.successes = 0
            self.regions.append(region)

    def _batch(self, count: int) -> list[tuple[Region, Tile]]:
        """The tiles to measure next, by Thompson sampling over all regions."""
        drawn: list[tuple[float, Tile, Region]] = []
        for region in self.regions:
            tiles = {self.space.nearest(region.around(self.random)) for _ in range(CANDIDATES)}
            fresh = sorted(tiles - self._measured.keys())
            if not fresh:
                region.length /= 2
                continue
            surrogate = Surrogate(region.points, region.values)
            values = surrogate.draw([self.space.point(tile) for tile in fresh], self.random)
            drawn += [(float(v), t, region) for v, t in zip(values, fresh, strict=True)]
        batch: dict[Tile, Region] = {}
        for _, tile, region in sorted(drawn, key=lambda one: one[:2]):
            batch.setdefault(tile, region)
            if len(batch) == count:
                break
        return [(region, tile) for tile, region in batch.items()]


__all__ = ["Region", "Search", "Trial", "starts"]
