"""The order in memory of results, of operands whose axes lie in any order and are broadcast."""

from __future__ import annotations

import random

import pytest
import torch

import dvm
from torch_native.observing import observe

PROGRAMS = {
    "sum": "x + y",
    "where": "torch.where(x > 0, y, z)",
    "two": "(x * y) + (z - x)",
    "contiguous": "x.contiguous() * 2, y.is_contiguous(), (x + z).contiguous()",
    "turned": "(x + y).transpose(1, 2).contiguous().flatten(1)",
}
SIZES = (
    (2, 3, 4, 5),
    (3, 2, 5, 4),
    (1, 2, 3, 2),
    (2, 2, 1, 3),
    (2, 1, 2, 2),
    (1, 1, 1, 4),
    (2, 3, 4, 1),
)


def laid_out(sizes: tuple[int, ...], order: list[int], broadcast: set[int]) -> torch.Tensor:
    """A tensor of these sizes whose axes lie in memory in that order; 1 where it is broadcast."""
    own = [1 if axis in broadcast else size for axis, size in enumerate(sizes)]
    made = torch.randn([own[axis] for axis in order])
    return made.permute([order.index(axis) for axis in range(len(order))])


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_result_lies_as_torchs_own(name: str, seed: int) -> None:
    draw = random.Random(seed)
    ways = []
    for place in range(3):
        order = draw.sample(range(4), 4)
        ways.append((order, {axis for axis in range(4) if place and draw.random() < 0.4}))
    program = eval(f"lambda x, y, z: ({PROGRAMS[name]})", {"torch": torch})
    compiled = dvm.compile(program)
    with dvm.stance("force_capture"), torch.no_grad():
        for sizes in SIZES * 2:
            given = [laid_out(sizes, order, broadcast) for order, broadcast in ways]
            found = observe(compiled, given).difference(observe(program, given))
            assert not found, (sizes, ways, found)
    assert compiled.stats.hits >= len(SIZES) // 2, compiled.fallback_reasons
