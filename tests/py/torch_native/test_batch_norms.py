"""Norms that keep statistics, in training: what they write, and what torch counts of that."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn

import dvm

SIZES = (5, 3, 8, 1, 0, 2)


def draws(*sizes: int) -> list[torch.Tensor]:
    return [torch.randn(count, *sizes) for count in SIZES]


def last(x: torch.Tensor) -> torch.Tensor:
    return x.to(memory_format=torch.channels_last)


class Twice(nn.Module):
    """Reads between two calls what the first has written."""

    def __init__(self) -> None:
        super().__init__()
        self.norm = nn.BatchNorm1d(4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.norm(x)
        between = self.norm.running_mean + 0
        return self.norm(y * 2) + y + between + self.norm.num_batches_tracked


class Turns(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norm = nn.BatchNorm1d(4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        total = torch.zeros(4, 3)
        for turn in range(x.shape[0]):
            total = total + self.norm(x[turn].unsqueeze(0)).sum(0)
        return total


def convolutions() -> nn.Module:
    return nn.Sequential(
        *(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(inplace=True)),
        *(nn.Conv2d(4, 4, 3), nn.BatchNorm2d(4)),
    )


#: by name: the module, and inputs
MODULES: dict[str, tuple[Callable[[], nn.Module], Callable[[], list[torch.Tensor]]]] = {
    "images": (lambda: nn.BatchNorm2d(4), lambda: draws(4, 6, 5)),
    "rows": (lambda: nn.BatchNorm1d(4), lambda: draws(4)),
    "volumes": (lambda: nn.BatchNorm3d(4), lambda: draws(4, 2, 3, 2)),
    "double": (lambda: nn.BatchNorm1d(4).double(), lambda: [x.double() for x in draws(4)]),
    "halves": (lambda: nn.BatchNorm1d(4).bfloat16(), lambda: [x.bfloat16() for x in draws(4)]),
    "means of all": (lambda: nn.BatchNorm1d(4, momentum=None), lambda: draws(4, 3)),
    "without weights": (lambda: nn.BatchNorm1d(4, affine=False), lambda: draws(4, 3)),
    "of each batch": (
        lambda: nn.BatchNorm1d(4, track_running_stats=False),
        lambda: draws(4, 3),
    ),
    "channels last": (lambda: nn.BatchNorm2d(4), lambda: [last(x) for x in draws(4, 3, 2)]),
    "of each instance": (
        lambda: nn.InstanceNorm1d(4, affine=True, track_running_stats=True),
        lambda: draws(4, 6),
    ),
    "convolutions": (convolutions, lambda: draws(3, 7, 8)),
    "twice": (Twice, lambda: draws(4)),
    "turns": (Turns, lambda: draws(4, 3)),
}


def state(module: nn.Module) -> dict[str, tuple[torch.Tensor, int]]:
    kept = module.state_dict(keep_vars=True)
    return {name: (value.detach().clone(), value._version) for name, value in kept.items()}


def outcome(call: Any, x: torch.Tensor) -> Any:
    try:
        return call(x)
    except (IndexError, RuntimeError, ValueError) as error:
        return type(error), str(error)


@pytest.mark.parametrize("name", MODULES)
def test_statistics_are_written_and_counted_as_torch_does(name: str) -> None:
    torch.manual_seed(0)
    make, inputs = MODULES[name]
    module = make().train()
    compiled = dvm.compile(copy.deepcopy(module))
    half = {"rtol": 2e-2, "atol": 2e-2} if name == "halves" else {}
    with torch.no_grad(), dvm.stance("force_capture"):
        for number, x in enumerate(inputs() * 3):
            for each in (module, compiled):
                each.train(number % 5 != 4)
            before, own_before = state(module), state(compiled)
            wanted, found = outcome(module, x), outcome(compiled, x)
            if isinstance(wanted, tuple):
                assert found == wanted
            else:
                torch.testing.assert_close(found, wanted, equal_nan=True, **half)
                assert found.stride() == wanted.stride()
            after, own_after = state(module), state(compiled)
            for each, (value, count) in after.items():
                own, own_count = own_after[each]
                torch.testing.assert_close(own, value, equal_nan=True, **half)
                assert own_count - own_before[each][1] == count - before[each][1], each
    stats = compiled.call.compiled.stats
    assert stats.fallbacks + stats.drops <= 3  # what raises runs as it is
    assert stats.hits >= 8


def test_an_eager_backward_behind_a_captured_step() -> None:
    """Statistics that a gradient is computed with may be written, as torch lets its own be."""
    module = nn.BatchNorm1d(4).eval()
    compiled = dvm.compile(module)
    x = torch.randn(6, 4, requires_grad=True)
    with torch.no_grad(), dvm.stance("force_capture"):
        module.train()
        compiled(x.detach())
        module.eval()
        with torch.enable_grad():
            loss = module(x).sum()
        module.train()
        compiled(x.detach()[:5])
    loss.backward()
    assert compiled.call.compiled.stats.hits == 1
