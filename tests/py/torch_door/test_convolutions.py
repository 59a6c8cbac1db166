"""Convolutions of PyTorch, through torch.compile and by dvm's own capture, as eager ones."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn
from torch.nn import functional

import dvm

CASES: dict[str, dict[str, Any]] = {
    "1d": {"rank": 1, "channels": 5, "rows": 7, "window": 3, "padding": 1},
    "2d": {"rank": 2, "channels": 3, "rows": 8, "window": 3, "padding": 1},
    "strided": {"rank": 2, "channels": 4, "rows": 9, "window": 5, "stride": 2, "padding": 2},
    "dilated": {"rank": 2, "channels": 4, "rows": 6, "window": 3, "dilation": 2},
    "of one element": {"rank": 2, "channels": 6, "rows": 5, "window": 1},
    "one element, strided": {"rank": 2, "channels": 6, "rows": 5, "window": 1, "stride": 2},
    "groups": {"rank": 2, "channels": 6, "rows": 9, "window": 3, "padding": 1, "groups": 3},
    "without a bias": {"rank": 2, "channels": 3, "rows": 4, "window": 3, "bias": False},
    "3d": {"rank": 3, "channels": 2, "rows": 5, "window": 3, "padding": 1, "stride": 2},
    "3d, groups": {"rank": 3, "channels": 4, "rows": 6, "window": 2, "groups": 2},
    "each channel": {"rank": 2, "channels": 6, "rows": 6, "window": 3, "groups": 6},
    "some of each channel": {
        "rank": 2, "channels": 3, "rows": 6, "window": 3, "groups": 3, "stride": 2
    },
}  # fmt: skip
TRANSPOSED: dict[str, dict[str, Any]] = {
    "1d": {"rank": 1, "channels": 5, "rows": 7, "window": 3},
    "side by side": {"rank": 2, "channels": 6, "rows": 4, "window": 2, "stride": 2},
    "overlapping": {
        "rank": 2, "channels": 4, "rows": 5, "window": 4, "stride": 2, "padding": 1
    },
    "more behind": {
        "rank": 2, "channels": 4, "rows": 5, "window": 3, "stride": 2, "padding": 1,
        "output_padding": 1
    },
    "with gaps": {"rank": 1, "channels": 3, "rows": 4, "window": 2, "stride": 3},
    "dilated": {
        "rank": 2, "channels": 4, "rows": 6, "window": 3, "stride": 2, "dilation": 2,
        "groups": 2
    },
    "dilated apart": {
        "rank": 1, "channels": 4, "rows": 3, "window": 3, "stride": 2, "dilation": 3,
        "padding": 4, "bias": False
    },
    "each channel": {"rank": 2, "channels": 6, "rows": 6, "window": 3, "groups": 6},
    "3d": {"rank": 3, "channels": 2, "rows": 5, "window": 3, "padding": 2, "stride": 2},
}  # fmt: skip
CASES.update({f"transposed, {name}": case for name, case in TRANSPOSED.items()})


def module_of(case: dict[str, Any]) -> nn.Module:
    options = dict(case)
    rank, channels, rows, window = (
        options.pop(name) for name in ("rank", "channels", "rows", "window")
    )
    kinds: dict[int, Any] = {1: nn.Conv1d, 2: nn.Conv2d, 3: nn.Conv3d}
    if case in TRANSPOSED.values():
        kinds = {1: nn.ConvTranspose1d, 2: nn.ConvTranspose2d, 3: nn.ConvTranspose3d}
    norms = {1: nn.BatchNorm1d, 2: nn.BatchNorm2d, 3: nn.BatchNorm3d}
    made = nn.Sequential(
        kinds[rank](channels, rows, window, **options), norms[rank](rows), nn.ReLU()
    )
    torch.nn.init.normal_(made[1].running_mean)
    return made.eval()


def inputs_of(case: dict[str, Any]) -> list[torch.Tensor]:
    sizes = [(2, 9), (1, 14), (3, 11)]
    return [
        torch.randn(batch, case["channels"], *(size + k for k in range(case["rank"])))
        for batch, size in sizes
    ]


def compare(compiled: Any, module: nn.Module, x: torch.Tensor) -> None:
    wanted, got = module(x), compiled(x)
    torch.testing.assert_close(got, wanted, rtol=1e-4, atol=1e-4)
    assert got.stride() == wanted.stride()


DOORS = [("dvm.compile", name) for name in CASES] + [
    ("torch.compile", name)
    for name in ("2d", "groups", "3d", "each channel", "transposed, more behind")
]


@pytest.mark.parametrize(("door", "name"), DOORS)
def test_convolutions_are_eager_ones(door: str, name: str) -> None:
    torch.manual_seed(0)
    torch._dynamo.reset()
    module = module_of(CASES[name])
    compiled: Any = (
        torch.compile(module, backend="dvm", dynamic=True)
        if door == "torch.compile"
        else dvm.compile(lambda x: module(x))
    )
    with torch.no_grad():
        for x in inputs_of(CASES[name]):
            compare(compiled, module, x)
            if x.dim() == 4:
                compare(compiled, module, x.contiguous(memory_format=torch.channels_last))
    if door == "dvm.compile":
        assert compiled.stats.fallbacks == 0


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16, torch.float16])
def test_other_dtypes(dtype: torch.dtype) -> None:
    torch.manual_seed(0)
    module = nn.Conv2d(8, 12, 3, padding=1).to(dtype)
    compiled = dvm.compile(lambda x: functional.relu(module(x)))
    with torch.no_grad():
        for size in (6, 9):
            x = torch.randn(2, 8, size, size, dtype=dtype)
            wanted = functional.relu(module.double()(x.double()))
            module.to(dtype)
            epsilon = torch.finfo(dtype).eps
            torch.testing.assert_close(
                compiled(x).double(), wanted, rtol=8 * epsilon, atol=16 * epsilon
            )


def test_gradients_are_those_of_eager_convolutions() -> None:
    torch.manual_seed(0)
    module = nn.Sequential(
        nn.Conv2d(3, 8, 3, padding=1), nn.ReLU(), nn.Conv2d(8, 4, 3, stride=2), nn.ReLU()
    )
    compiled = torch.compile(module, backend="dvm", dynamic=True)
    for size in (8, 11):
        x = torch.randn(2, 3, size, size, requires_grad=True)
        weight = torch.randn_like(module(x))
        wanted = torch.autograd.grad((module(x) * weight).sum(), [x, *module.parameters()])
        got = torch.autograd.grad((compiled(x) * weight).sum(), [x, *module.parameters()])
        for one, other in zip(got, wanted, strict=True):
            torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-4)


def test_a_window_that_does_not_fit_is_torchs_error() -> None:
    module = nn.Conv1d(2, 3, 3, stride=2)
    compiled = dvm.compile(lambda x: module(x))
    with torch.no_grad():
        for size in (7, 5, 3, 2, 1, 9, 2):
            x = torch.randn(1, 2, size)
            if size < 3:
                with pytest.raises(RuntimeError, match="Kernel size"):
                    compiled(x)
            else:
                compare(compiled, module, x)
    assert compiled.stats.captures <= 2
