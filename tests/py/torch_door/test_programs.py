"""Drawn programs, compiled, beside themselves in eager torch: all that can be seen of each call."""

import os
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch

from torch_door.observing import observe
from torch_door.programs import SIZES, Program, program

WHOLE = bool(os.environ.get("DVM_TEST_WHOLE"))
SEEDS = range(400 if WHOLE else 12)

LAYOUTS: list[Callable[[int, int], torch.Tensor]] = [
    lambda b, n: torch.rand(b, n) - 0.4,
    lambda b, n: (torch.rand(n, b) - 0.4).t(),
    lambda b, n: (torch.rand(b + 1, 2 * n + 1) - 0.4)[1:, 1::2],
]


@pytest.fixture(autouse=True)
def _from_nothing() -> Iterator[None]:
    torch._dynamo.reset()
    with torch._dynamo.config.patch(recompile_limit=64, accumulated_recompile_limit=1024):
        yield


def compiled(drawn: Program, backend: str) -> Any:
    options = {"numerics": "strict"} if backend == "dvm" and drawn.has_halves else None
    return torch.compile(drawn.function(), backend=backend, dynamic=True, options=options)


def arguments(call: int, size: tuple[int, int]) -> Callable[[], list[torch.Tensor]]:
    def make() -> list[torch.Tensor]:
        torch.manual_seed(call)
        return [LAYOUTS[call // 3 % 3](*size), torch.rand(size[1]) - 0.4]

    return make


@pytest.mark.parametrize("seed", SEEDS)
def test_a_program_is_as_in_eager_torch(seed):
    drawn = program(seed)
    ours, eager = compiled(drawn, "dvm"), drawn.function()
    grads = seed % 2 == 1
    for call, size in enumerate(SIZES):
        case = (arguments(call, size), {"scale": 0.5 + call % 2, "flag": call % 4 == 3}, grads)
        with torch.set_grad_enabled(grads):
            seen = [observe(f, *case) for f in (ours, eager)]
            found = seen[0].differences(seen[1], rtol=1e-3, atol=1e-4)
            if found:
                # What torch's own front makes of the program, whatever the backend, is not ours.
                front = observe(compiled(drawn, "aot_eager_decomp_partition"), *case)
                found = {k: v for k, v in found.items()
                         if k in seen[0].differences(front, rtol=1e-3, atol=1e-4)}  # fmt: skip
        assert not found, f"{drawn.source}\nat {size}, call {call}: {found}"
