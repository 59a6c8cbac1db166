"""Products of f32 matrices against the multiply-add peak, the read bandwidth, and the peers."""

from __future__ import annotations

from functools import partial

from ..bench import Bench
from ..figures import Figure, Verdict, judged
from ..programs import Program, product
from ..shapes import LAYERS, RANDOM_SHAPES, normal

NAME = "matmul"
CUBE_SIZES = (512, 1024, 2048)
HEADS, LENGTHS, DEPTH = (12, 36, 96), (1, 7, 32, 100, 256, 512), 64
PEERS = ("numpy", "torch")
PEAK, READING = "multiply-add peak", "reading"


def cubes(bench: Bench) -> None:
    program, rng = product(), bench.random(1)
    shapes = [(m, k, n) for m in CUBE_SIZES for k in CUBE_SIZES for n in CUBE_SIZES]
    for m, k, n in shapes if not bench.quick else [(64, 64, 64)]:
        a, b = normal(rng, m, k), normal(rng, k, n)
        samples = bench.samples(program, [a, b], ["dvm", "numpy"])
        if bench.limits:
            samples[PEAK] = partial(bench.limits.multiply_add, 2.0 * m * k * n)
        bench.time(NAME, "cubes", f"{m},{k},{n}", samples)


def random(bench: Bench) -> None:
    program, rng = product(), bench.random(2)
    for m, k, n in bench.products(RANDOM_SHAPES, seed=2):
        arrays = [normal(rng, m, k), normal(rng, k, n)]
        samples = bench.samples(program, arrays, ["dvm", *PEERS, "onnxruntime"])
        samples |= bench.frozen_samples(program, arrays)
        bench.time(NAME, "random", f"{m},{k},{n}", samples)


def one_row(bench: Bench) -> None:
    """B is all that moves; the limit is reading it."""
    rng = bench.random(3)
    for right in ("rows", "columns"):
        program = product(right=right)
        for k, n in bench.some([*LAYERS, (4096, 4096)], 1):
            b = normal(rng, n, k) if right == "columns" else normal(rng, k, n)
            samples = bench.samples(program, [normal(rng, 1, k), b], ["dvm", *PEERS])
            if bench.limits:
                samples[READING] = partial(bench.limits.read, b)
            bench.time(NAME, "one row", f"1,{k},{n} {right}", samples)


def batched(bench: Bench) -> None:
    """The two products of attention."""
    rng = bench.random(4)
    scores, mixed = product(batched=True, right="columns"), product(batched=True)
    for heads in bench.some(HEADS, 1):
        for length in bench.some(LENGTHS, 1):
            rows = normal(rng, heads, length, DEPTH)
            cases: list[tuple[str, Program, list]] = [
                ("q k", scores, [rows, normal(rng, heads, length, DEPTH)]),
                ("p v", mixed, [normal(rng, heads, length, length), rows]),
            ]
            for name, program, arrays in cases:
                samples = bench.samples(program, arrays, ["dvm", "torch", "numpy"])
                bench.time(NAME, "batched", f"{name} {heads}x{length}", samples)


def run(bench: Bench) -> None:
    for part in (cubes, random, one_row, batched):
        part(bench)


def verdicts(figures: list[Figure]) -> list[Verdict]:
    of = partial(judged, NAME, figures)
    return [
        *of("cubes", "over the multiply-add peak", "dvm", [PEAK], 0.8, 0.7),
        *of("random", "over the better of NumPy and torch", "dvm", PEERS, 1.0, 0.75),
        *of("random", "over onnxruntime, neither frozen", "dvm", ["onnxruntime"]),
        *of("random", "over onnxruntime, both frozen", "dvm frozen", ["onnxruntime frozen"], 1.0),
        *of("one row", "over reading B", "dvm", [READING], 0.9),
        *of("one row", "over the better of NumPy and torch", "dvm", PEERS),
        *of("batched", "over torch", "dvm", ["torch"], 1.1),
    ]
