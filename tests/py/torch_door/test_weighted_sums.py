"""Sums of rows by weights, which become products of matrices, and sums of other forms."""

import itertools
from typing import Any

import pytest
import torch

import dvm.torch


@pytest.fixture(autouse=True)
def _from_nothing() -> None:
    torch._dynamo.reset()
    torch.manual_seed(0)


def sums(x: torch.Tensor) -> list[torch.Tensor]:
    """Over each axis, by weights that are one along each other axis, or along none."""
    made = []
    for axis, along in itertools.product(range(x.dim()), range(-1, x.dim())):
        weights = x.cos() if along < 0 else x.narrow(along, 0, 1).sin()
        made.append((x * weights).sum(axis))
        made.append((weights * x).sum(axis, keepdim=True))
    made.append((x.narrow(-1, 0, 1) * x.new_ones(x.shape)).sum(-2))
    return made


@pytest.mark.parametrize(
    ("dtype", "columns"),
    [
        (torch.float32, 3),
        (torch.float32, 64),
        (torch.float64, 17),
        (torch.bfloat16, 16),
        (torch.int64, 16),
    ],
)
def test_sums_are_as_in_eager_torch(dtype, columns):
    def call(x: torch.Tensor) -> list[torch.Tensor]:
        return sums(x.view(*x.shape[:2], columns))  # a size that the graph knows

    compiled: Any = torch.compile(call, backend="dvm", dynamic=True)
    for rows in [(2, 3), (7, 9), (3, 1)]:
        x = (torch.rand(*rows, columns) * 8 - 4).to(dtype)
        tolerance = {"rtol": 2e-2, "atol": 0.3} if dtype == torch.bfloat16 else {}
        torch.testing.assert_close(compiled(x), sums(x), **tolerance)


def plans(call: Any, *args: torch.Tensor) -> str:
    return "".join(graph.plan for graph in dvm.torch.explain(call)(*args).graphs)


def pooled(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    return (x.view(*x.shape[:2], 32) * w.unsqueeze(-1)).sum(1)


def test_what_is_no_number_stays_none():
    x, w = torch.rand(3, 5, 32), torch.rand(3, 5)
    x[0, 1, 2], x[1, 2, 3], w[1, 0], w[2, 2] = float("inf"), float("nan"), 0, float("-inf")
    compiled = torch.compile(pooled, backend="dvm", dynamic=True)
    torch.testing.assert_close(compiled(x, w), pooled(x, w), equal_nan=True)


@pytest.mark.parametrize(
    ("options", "is_product"),
    [({}, True), ({"precision": "medium"}, False), ({"target": "ascend910b3"}, False)],
)
def test_factors_are_rounded_nowhere(options, is_product):
    x, w = torch.rand(3, 5, 32), torch.rand(3, 5)
    compiled = torch.compile(pooled, backend="dvm", dynamic=True, options=options)
    assert ("matmul" in plans(compiled, x, w)) == is_product
    torch.testing.assert_close(compiled(x, w), pooled(x, w))
