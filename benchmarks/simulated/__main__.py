"""Print how fused suites compare, and what the tiler's choices cost beyond the best tiles.

.venv/bin/python -m benchmarks.simulated --shapes 60 --tiles 100
"""

from __future__ import annotations

import argparse

from benchmarks.simulated import suites, tiles

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--shapes", type=int, default=60, help="of each suite; 0: no suites")
    parser.add_argument("--divide", type=int, default=1, help="rows of the paper's shapes by this")
    parser.add_argument("--tiles", type=int, default=100, help="shapes; 0: none")
    parser.add_argument("--verbose", action="store_true", help="a line for each shape of --tiles")
    options = parser.parse_args()
    if options.shapes:
        suites.report(options.shapes, options.divide)
    if options.tiles:
        tiles.report(options.tiles, options.verbose)
