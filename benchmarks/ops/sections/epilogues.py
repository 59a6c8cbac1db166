"""What follows a product on its tiles: bias, activation, and what they add to the bare product."""

from __future__ import annotations

from ..bench import Bench
from ..figures import Figure, Verdict, judged
from ..programs import addmm, product
from ..shapes import LAYERS, RANDOM_SHAPES, normal

NAME = "epilogues"
ROWS = (32, 128, 512)
BARE, WITH = "bare product", "bias and gelu"
STATIC, DYNAMIC = "torch.compile", "torch.compile dynamic"
STATIC_SHAPES = 8  # it compiles each anew, a second or so
ACTIVATIONS = ("", "relu", "gelu")


def over_bare(bench: Bench) -> None:
    bare, whole, rng = product(), addmm("gelu"), bench.random(6)
    for k, n in bench.some(LAYERS, 1):
        for m in bench.some(ROWS, 1):
            arrays = [normal(rng, m, k), normal(rng, k, n), normal(rng, n)]
            samples = {
                BARE: bench.samples(bare, arrays[:2], ["dvm"])["dvm"],
                WITH: bench.samples(whole, arrays, ["dvm"])["dvm"],
            }
            bench.time(NAME, "over the bare", f"{m},{k},{n}", samples)


def against_peers(bench: Bench) -> None:
    rng = bench.random(7)
    for activation in ACTIVATIONS:
        program = addmm(activation)
        for i, (m, k, n) in enumerate(bench.products(RANDOM_SHAPES, seed=7)):
            arrays = [normal(rng, m, k), normal(rng, k, n), normal(rng, n)]
            names = ["dvm", "torch", DYNAMIC, *[STATIC] * (i < STATIC_SHAPES)]
            samples = bench.samples(program, arrays, names)
            samples |= bench.frozen_samples(program, arrays)
            bench.time(NAME, program.name, f"{m},{k},{n}", samples)


def run(bench: Bench) -> None:
    over_bare(bench)
    against_peers(bench)


def verdicts(figures: list[Figure]) -> list[Verdict]:
    found = judged(
        NAME, figures, "over the bare", "bare product over bias+gelu", WITH, [BARE], 1 / 1.05
    )
    for activation in ACTIVATIONS:
        group = f"addmm {activation}".strip()
        for name, bar in (("torch", 1.2), (STATIC, 1.0), (DYNAMIC, 0.0)):
            found += judged(NAME, figures, group, f"{group} over {name}", "dvm", [name], bar)
        found += judged(
            NAME,
            figures,
            group,
            f"{group}, weights frozen, over onnxruntime",
            "dvm frozen",
            ["onnxruntime frozen"],
            1.0,
        )
    return found
