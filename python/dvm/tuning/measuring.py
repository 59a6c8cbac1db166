"""What tiles take: cycles of their waves, by the simulated cores."""

from __future__ import annotations

import math
from dataclasses import dataclass

from dvm import _dvm
from dvm.tuning.space import Tile

#: elements of k at which waves are timed, whole steps of most tiles: what they take grows evenly
DEPTHS = (768, 1536)


@dataclass(frozen=True, order=True)
class Kind:
    """Products that are tuned together.

    dtype: of both factors, as "f16". by_columns: the right one lies as the transpose of an array,
    as weights of linear layers do.
    """

    dtype: str = "f16"
    by_columns: bool = False

    def __str__(self) -> str:
        return f"{self.dtype}, right factor by {'columns' if self.by_columns else 'rows'}"


@dataclass(frozen=True)
class Waves:
    """Cycles of a launch in a tile: `first` of one wave, `next` of each further one.

    Each is a number and how much it grows with an element of k.
    """

    first: tuple[float, float]
    next: tuple[float, float]

    def cycles(self, waves: int, k: int) -> float:
        """Return what a product of so many waves takes, that adds up k elements (section 6)."""
        first, following = (fixed + each * k for fixed, each in (self.first, self.next))
        return first + (waves - 1) * following


class Measurer:
    """Times tiles on a target, each once."""

    def __init__(self, target: str, kind: Kind | None = None) -> None:
        self.target, self.kind = target, kind or Kind()
        self.cubes = int(_dvm.cubes_of(target))
        #: a wave as near to a square of tiles as may be, for neighbours share what they read
        self.columns = max(d for d in range(1, math.isqrt(self.cubes) + 1) if self.cubes % d == 0)
        self.rows = self.cubes // self.columns
        self.known: dict[Tile, Waves] = {}

    @property
    def trials(self) -> int:
        """How many tiles were timed."""
        return len(self.known)

    def waves(self, tile: Tile) -> Waves:
        """Return what its waves take; of products so large that each of them is full."""
        if tile not in self.known:
            taken = {
                (waves, k): self.time(self.rows * tile.m * waves, self.columns * tile.n, k, tile)
                for waves in (1, 2)
                for k in DEPTHS
            }
            first = _line([taken[1, k] for k in DEPTHS])
            following = _line([taken[2, k] - taken[1, k] for k in DEPTHS])
            self.known[tile] = Waves(first, following)
        return self.known[tile]

    def time(self, m: int, n: int, k: int, tile: Tile | None = None) -> float:
        """Return the cycles of a product of m by n sums in the tile; None: in that of a call."""
        return self.chosen(m, n, k, tile)[0]

    def chosen(self, m: int, n: int, k: int, tile: Tile | None = None) -> tuple[float, Tile]:
        """Return the same with the tile."""
        kind = self.kind
        cycles, sides = _dvm.time_product(self.target, kind.dtype, (m, n, k), kind.by_columns, tile)
        return cycles, Tile(*sides)


def _line(cycles: list[float]) -> tuple[float, float]:
    """A line through what was measured, which never falls."""
    each = max(0.0, (cycles[1] - cycles[0]) / (DEPTHS[1] - DEPTHS[0]))
    return max(1.0, cycles[1] - each * DEPTHS[1]), each


__all__ = ["Kind", "Measurer", "Waves"]
