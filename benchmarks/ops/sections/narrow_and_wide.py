"""Products of bf16 and of f64 matrices."""

from __future__ import annotations

from ..bench import Bench
from ..figures import Figure, Verdict, judged
from ..programs import product
from ..shapes import normal

NAME = "dtypes"
SHAPES = 20


def run(bench: Bench) -> None:
    rng = bench.random(5)
    for dtype, peer in (("bf16", "torch"), ("f64", "numpy")):
        program = product(dtype)
        for m, k, n in bench.products(SHAPES, seed=5):
            arrays = [normal(rng, m, k, dtype=dtype), normal(rng, k, n, dtype=dtype)]
            samples = bench.samples(program, arrays, ["dvm", peer])
            bench.time(NAME, dtype, f"{m},{k},{n}", samples)


def verdicts(figures: list[Figure]) -> list[Verdict]:
    return [
        *judged(NAME, figures, "bf16", "over torch", "dvm", ["torch"], 0.9),
        *judged(NAME, figures, "f64", "over NumPy", "dvm", ["numpy"], 0.9),
    ]
