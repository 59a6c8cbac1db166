"""Write cpp/vm/encode/tile_pool.def, the tiles that dvm ships, of pools that were tuned.

python -m dvm tune --target ascend910b3 -o pool.json; python tools/tile_pool.py pool.json ...
"""

from __future__ import annotations

import sys
from pathlib import Path

from dvm.tuning import Pool

PATH = Path(__file__).parents[1] / "cpp/vm/encode/tile_pool.def"


def rows(pool: Pool) -> list[str]:
    """Return the rows of a pool's tiles."""
    return [
        f"DVM_MEASURED_TILE({pool.target}, {dtype}, {'by_columns' if by_columns else 'by_rows'}, "
        f"{m}, {n}, {k}, {', '.join(f'{x:.5g}' for x in (*first, *following))})"
        for dtype, by_columns, (m, n, k), first, following in pool.rows()
    ]


def main(files: list[str]) -> None:
    """Keep the head of the table, and put the rows of all pools behind it."""
    head = [line for line in PATH.read_text().splitlines() if line.startswith("//")]
    made = [row for file in files for row in rows(Pool.load(file))]
    PATH.write_text("\n".join([*head, *made]) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
