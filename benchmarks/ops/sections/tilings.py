"""The cost model's tiles against an exhaustive search (benchmarks/cpp/product_tiles.cpp)."""

from __future__ import annotations

import subprocess

from ..bench import Bench
from ..figures import Figure, Verdict, by_case, ratios, verdict
from ..limits import BUILT

NAME = "tilings"
PROGRAM = BUILT / "product_tiles"
SHAPES = 100
CHOSEN, BEST = "chosen", "best"


def run(bench: Bench) -> None:
    if not PROGRAM.exists():
        bench.left_out["search of tilings"] = "benchmarks/cpp/product_tiles.cpp is not built"
        return
    shapes = bench.products(SHAPES, seed=11, largest=512)
    given = "".join(f"{m} {k} {n}\n" for m, k, n in shapes)
    found = subprocess.run([PROGRAM], input=given, capture_output=True, text=True, check=True)
    for (m, k, n), line in zip(shapes, found.stdout.splitlines(), strict=True):
        chosen, best, *sizes = line.split()
        case = f"{m},{k},{n}"
        bench.keep(NAME, "products", case, CHOSEN, float(chosen))
        bench.keep(NAME, "products", case, BEST, float(best))
        bench.note(NAME, case, "chosen {},{} best {},{}".format(*sizes))


def verdicts(figures: list[Figure]) -> list[Verdict]:
    return [
        found
        for (_, threads), cases in by_case(figures).items()
        for found in verdict(
            NAME, "best over chosen tiles", threads, ratios(cases, CHOSEN, [BEST]), 0.95, 0.8
        )
    ]
