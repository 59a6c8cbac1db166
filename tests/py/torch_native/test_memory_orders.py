"""Functions of operands in several memory orders: results lie as torch lays them."""

from __future__ import annotations

import random
from typing import Any

import pytest
import torch

import dvm
from torch_native.observing import observe
from whole import how_many

PROGRAMS = how_many(24, 400)


def operands(seed: int, rank: int) -> Any:
    """What makes the operands of one result's shape: permuted, broadcast, expanded."""
    chances = random.Random(seed)
    specs = []
    for _ in range(chances.choice([2, 2, 3])):
        axes = list(range(rank))
        chances.shuffle(axes)
        kind = chances.choice(["full"] * 4 + ["broadcast"] * 2 + ["expanded"])
        single = [kind != "full" and chances.random() < 0.4 for _ in range(rank)]
        specs.append((kind, axes, single))

    def make(shape: list[int]) -> list[torch.Tensor]:
        made = []
        for kind, axes, single in specs:
            sizes = [1 if one else size for one, size in zip(single, shape, strict=True)]
            x = torch.arange(float(torch.Size(sizes).numel())).reshape([sizes[a] for a in axes])
            x = x.permute([axes.index(axis) for axis in range(rank)])
            made.append(x.expand(shape) if kind == "expanded" else x)
        return made

    return make


def total(*given: torch.Tensor) -> torch.Tensor:
    made = given[0]
    for each in given[1:]:
        made = made + each
    return made


FUNCTIONS: dict[str, Any] = {
    "sum": total,
    "masked_fill": lambda x, y, *_: x.masked_fill(y > 3, 0),
    "where": lambda x, y, *_: torch.where(x > 3, x, y),
    "clamp": lambda x, y, *_: x.clamp(y - 2, y + 2),
    "addcmul": lambda x, y, *_: torch.addcmul(x, x, y),
    "lerp": lambda x, y, *_: x.lerp(y, 0.25),
    "maximum": lambda x, y, *_: torch.maximum(x, y),
    "softmax": lambda x, *_: x.softmax(-1),
    "cumsum": lambda x, *_: x.cumsum(0),
    "flip": lambda x, *_: x.flip(-1),
    "roll": lambda x, *_: x.roll(1, 0),
    "tril": lambda x, *_: x.tril(),
    "gelu": lambda x, *_: torch.nn.functional.gelu(x),
    "cat": lambda x, *_: torch.cat([x, x * 2], -1),
    "stack": lambda x, *_: torch.stack([x, x + 1], 1),
    "mean": lambda x, *_: x.mean(0, keepdim=True),
    "amax": lambda x, *_: x.amax(-1),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_results_lie_as_torch_lays_them(name: str) -> None:
    function, hits = FUNCTIONS[name], 0
    programs = PROGRAMS if name == "sum" else PROGRAMS // 4
    for seed in range(programs):
        chances = random.Random(seed)
        rank = chances.choice([2, 3, 4])
        make = operands(seed, rank)
        compiled = dvm.compile(function)
        with torch.no_grad(), dvm.stance("force_capture"):
            for _ in range(4):
                given = make([chances.choice([2, 3, 4, 5]) for _ in range(rank)])
                found = observe(compiled, given).difference(observe(function, given))
                assert not found, f"{seed}: {found}"
        assert not compiled.stats.fallbacks, (seed, compiled.fallback_reasons)
        hits += compiled.stats.hits
    assert hits > 2 * programs


def test_what_torch_has_made_keeps_its_strides_when_it_is_written() -> None:
    """Of tensors without elements, or with axes of one, they do not follow from an order."""

    def program(x: torch.Tensor) -> Any:
        y = x.flip(0)
        y.mul_(0.5)
        return y, y[1:], y + 1

    compiled = dvm.compile(program)
    with torch.no_grad(), dvm.stance("force_capture"):
        for rows, columns in ((3, 4), (2, 4), (0, 4), (1, 4), (3, 1), (3, 0)):
            for make in (sliced, torch.zeros, lambda size: torch.zeros(*size[::-1]).t()):
                found = observe(compiled, [make((rows, columns))])
                wanted = observe(program, [make((rows, columns))])
                assert not (text := found.difference(wanted)), text
    assert compiled.stats.fallbacks == 0


def sliced(size: tuple[int, int]) -> torch.Tensor:
    return torch.zeros(2 * size[0] + 1, 2 * size[1] + 1)[1::2, 1::2]
