"""dvm.annotate(op=...) of a function over tensors."""

from __future__ import annotations

from typing import Any

import torch

import dvm
from dvm.passes import ops


def norm(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    return x * torch.rsqrt((x * x).mean(-1, keepdim=True) + 1e-6) * weight


def norm_op(x: Any, weight: Any) -> Any:
    return x * (1 / ops.sqrt(ops.mean(x * x) + 1e-6)) * weight


def test_an_op_takes_the_place_of_calls_over_tensors() -> None:
    dvm.annotate(norm, op=norm_op)

    class Layer(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = torch.nn.Parameter(torch.rand(8))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return norm(x * 2, self.weight) + 1

    module = Layer()
    compiled: Any = dvm.compile(module)
    with torch.no_grad():
        for rows in (3, 5, 2):
            x = torch.rand(rows, 8)
            torch.testing.assert_close(compiled(x), module(x))
    assert (compiled.stats.captures, compiled.stats.hits, compiled.stats.opaque) == (1, 2, 0)
    graph = compiled.call.compiled.inspect("graph")
    assert " sqrt(" in graph
    assert "rsqrt" not in graph


def exponential(x: torch.Tensor) -> torch.Tensor:
    return torch.exp(x)


def test_an_op_takes_each_dtype_of_tensors() -> None:
    dvm.annotate(exponential, op=lambda x: ops.exp(x))
    for dtype in (torch.float16, torch.bfloat16, torch.float32, torch.float64):
        compiled: Any = dvm.compile(lambda x: exponential(x))
        x = torch.rand(5).to(dtype)
        with torch.no_grad(), dvm.stance("force_capture"):
            for _ in range(2):
                torch.testing.assert_close(compiled(x), torch.exp(x))
        assert compiled.stats.hits == 1
