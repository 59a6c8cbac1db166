"""The pool: few tiles of which each is the best for some sizes, in a file and in use."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from dvm import _dvm, errors
from dvm.tuning.measuring import Kind, Waves
from dvm.tuning.space import Tile

FORMAT = 1
#: a tile of the pool: dtype, whether the right factor lies by columns, the tile, and its waves
Row = tuple[str, bool, tuple[int, int, int], tuple[float, float], tuple[float, float]]
#: sizes that a pool is made for: sums of a row and of a column, and what is added up
ROWS = tuple(1 << e for e in range(4, 15))
COLUMNS, DEEP = (64, 256, 768, 1024, 3072, 8192), (64, 256, 1024, 4096)


class Workload(NamedTuple):
    """A product of m by n sums, each of k elements."""

    m: int
    n: int
    k: int


EVERYDAY = tuple(Workload(m, n, k) for m in ROWS for n in COLUMNS for k in DEEP)


def predicted(tile: Tile, waves: Waves, workload: Workload, cubes: int) -> float:
    """Return the cycles of a product in that tile, by its number of waves (section 6)."""
    tiles = math.ceil(workload.m / tile.m) * math.ceil(workload.n / tile.n)
    return waves.cycles(math.ceil(tiles / cubes), workload.k)


@dataclass
class Pool:
    """The tiles of a target by the kind of product, with what their waves take.

    `use` makes Programs that are encoded from then on choose among them; what a function has
    encoded for sizes met before stays.
    """

    target: str
    tiles: dict[Kind, dict[Tile, Waves]] = field(default_factory=dict)

    def add(self, kind: Kind, measured: Mapping[Tile, Waves], most: int = 12) -> None:
        """Keep the tiles of least time for some everyday product each, `most` at most.

        Of more than that those stay with which such products come nearest to their best.
        """
        cubes = int(_dvm.cubes_of(self.target))
        tiles = sorted(measured)
        cost = np.array([[predicted(t, measured[t], w, cubes) for w in EVERYDAY] for t in tiles])
        cost /= cost.min(axis=0)
        kept: list[int] = []
        best = np.full(len(EVERYDAY), math.inf)
        while len(kept) < most:
            together = np.minimum(cost, best)
            place = int(together.sum(axis=1).argmin())
            if np.array_equal(together[place], best):
                break
            kept.append(place)
            best = together[place]
        self.tiles[kind] = {tiles[place]: measured[tiles[place]] for place in sorted(kept)}

    def pick(self, workload: Workload, kind: Kind | None = None) -> Tile:
        """Return the tile of least time, as calls take it.

        UnsupportedError where none was tuned.
        """
        tiles = self.tiles.get(kind := kind or Kind())
        if not tiles:
            raise errors.make("unsupported", f"the pool of {self.target} has no tile for {kind}")
        cubes = int(_dvm.cubes_of(self.target))
        return min(tiles, key=lambda tile: predicted(tile, tiles[tile], workload, cubes))

    def rows(self) -> list[Row]:
        """Return it as the core takes it."""
        return [
            (kind.dtype, kind.by_columns, (tile.m, tile.n, tile.k), waves.first, waves.next)
            for kind, tiles in sorted(self.tiles.items())
            for tile, waves in tiles.items()
        ]

    def use(self) -> None:
        """Let calls choose among these tiles. UnsupportedError for one that exceeds a memory."""
        _dvm.set_tile_pool(self.target, self.rows())

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write it as JSON, a tile a line."""
        rows = [
            {
                "dtype": dtype,
                "by_columns": by_columns,
                "tile": list(tile),
                "first": [round(x, 6) for x in first],
                "next": [round(x, 6) for x in following],
            }
            for dtype, by_columns, tile, first, following in self.rows()
        ]
        lines = ",\n    ".join(json.dumps(row) for row in rows)
        text = (
            f'{{\n  "format": {FORMAT},\n  "target": {json.dumps(self.target)},\n'
            f'  "tiles": [\n    {lines}\n  ]\n}}\n'
        )
        Path(path).write_text(text, encoding="utf-8")

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Pool:
        """Read what `save` wrote. FormatError (DVM-F006) where it is something else."""
        try:
            data = json.loads(Path(path).read_text(encoding="utf-8"))
            if data["format"] != FORMAT:
                raise ValueError(f"its format is {data['format']!r}, not {FORMAT}")
            pool = cls.of_rows(str(data["target"]), map(_row_of, data["tiles"]))
        except (KeyError, TypeError, ValueError) as error:
            raise errors.make(
                "file_header", f"{os.fspath(path)} is no pool of tiles: {error}"
            ) from error
        return pool

    @classmethod
    def of_rows(cls, target: str, rows: Iterable[Row]) -> Pool:
        """Return the pool of what the core has, or a file."""
        pool = cls(target)
        for dtype, by_columns, tile, first, following in rows:
            tiles = pool.tiles.setdefault(Kind(dtype, by_columns), {})
            tiles[Tile(*tile)] = Waves(first, following)
        return pool

    @classmethod
    def in_use(cls, target: str) -> Pool:
        """Return the tiles that calls choose among: those that dvm ships, or what `use` set."""
        return cls.of_rows(target, _dvm.tile_pool(target))


def _row_of(row: Any) -> Row:
    m, n, k = (int(side) for side in row["tile"])
    (a, b), (c, d) = ((float(x) for x in row[name]) for name in ("first", "next"))
    return str(row["dtype"]), bool(row["by_columns"]), (m, n, k), (a, b), (c, d)


__all__ = ["EVERYDAY", "Pool", "Workload", "predicted"]
