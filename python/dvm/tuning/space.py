"""Which tiles there are: what the hardware has room for, and the steps in which it computes."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from dvm import _dvm

Point = np.ndarray[tuple[int], np.dtype[np.float64]]

#: sums and elements of a side that the cube computes at a time: others leave it idle in part
FRACTAL = 16
LONGEST_SIDE, DEEPEST = 512, 512


class Tile(NamedTuple):
    """m by n sums of a product, in steps of k elements of what is added up."""

    m: int
    n: int
    k: int

    def __str__(self) -> str:
        return f"{self.m} x {self.n} x {self.k}"


class Space:
    """The tiles of products of a dtype on a target.

    Hard constraints are memories: a tile that exceeds one is none (`why_not` says which). Soft ones
    are the steps of each side: whole fractals of the cube, whose other tiles are never better, and
    depths of which each is a half or a third longer than the one before. As a space for a search it
    has an axis for each side, by its logarithm.
    """

    def __init__(self, target: str, dtype: str = "f16") -> None:
        """target: a simulated one that has a cube; DVM-E004 for others."""
        self.target, self.dtype = target, dtype
        _dvm.why_no_tile(target, dtype, (FRACTAL, FRACTAL, FRACTAL))
        sides = tuple(range(FRACTAL, LONGEST_SIDE + 1, FRACTAL))
        depths = tuple(sorted({d for e in range(10) for d in (FRACTAL << e, 24 << e + 1)}))
        self.axes = (sides, sides, tuple(d for d in depths if d <= DEEPEST))

    def why_not(self, tile: Tile) -> str:
        """Return what the tile exceeds; nothing for one that can be computed."""
        return _known(self.target, self.dtype, tile)

    def tiles(self) -> Iterator[Tile]:
        """Every tile, by its sides; some thousands."""
        for sides in itertools.product(*self.axes):
            if not self.why_not(tile := Tile(*sides)):
                yield tile

    def point(self, tile: Tile) -> Point:
        """Return where it lies, each coordinate from 0 to 1."""
        return np.array(
            [
                math.log2(side / axis[0]) / math.log2(axis[-1] / axis[0])
                for side, axis in zip(tile, self.axes, strict=True)
            ]
        )

    def nearest(self, point: Point) -> Tile:
        """Return the nearest tile: that of the nearest steps, cut down as far as there is no room.

        The depth goes first, which costs least, then the longer side.
        """
        wanted = [
            axis[0] * (axis[-1] / axis[0]) ** min(1.0, max(0.0, float(x)))
            for x, axis in zip(point, self.axes, strict=True)
        ]
        places = [
            int(np.abs(np.log(np.array(axis) / side)).argmin())
            for side, axis in zip(wanted, self.axes, strict=True)
        ]
        while self.why_not(tile := Tile(*(a[i] for a, i in zip(self.axes, places, strict=True)))):
            longer = 0 if tile.m >= tile.n else 1
            places[2 if places[2] > 1 else longer] -= 1
        return tile


@functools.cache
def _known(target: str, dtype: str, tile: Tile) -> str:
    return _dvm.why_no_tile(target, dtype, tile)


__all__ = ["FRACTAL", "Point", "Space", "Tile"]
