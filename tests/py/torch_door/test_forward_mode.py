"""Forward-mode differentiation: tangents come through what is compiled, or there is an error."""

from typing import Any

import pytest
import torch
import torch.autograd.forward_ad as forward

import dvm


@pytest.fixture(autouse=True)
def _from_nothing() -> None:
    torch._dynamo.reset()
    torch.manual_seed(0)


def f(x: torch.Tensor, y: torch.Tensor) -> Any:
    return (x * 2 + y).sin().sum(0), x @ y.t(), x.t()


def tangents(function: Any, *args: torch.Tensor) -> list[Any]:
    with forward.dual_level():
        duals = [forward.make_dual(a, torch.ones_like(a)) for a in args[:1]]
        results = function(*duals, *args[1:])
        return [forward.unpack_dual(result).tangent for result in results]


def test_tangents_come_through():
    compiled = torch.compile(f, backend="dvm", dynamic=True)
    x, y = torch.rand(3, 4), torch.rand(3, 4)
    compiled(x, y)
    for _ in range(2):
        torch.testing.assert_close(tangents(compiled, x, y), tangents(f, x, y))
    (graph,) = dvm.torch.explain(lambda: tangents(compiled, x, y))().graphs
    assert any("tangent" in reason for reason in graph.given_up)
    before = sum(graph.given_up.values())
    torch.testing.assert_close(compiled(x, y), f(x, y))
    with forward.dual_level():  # of others
        torch.testing.assert_close(compiled(x, y), f(x, y))
    assert sum(graph.given_up.values()) == before


def test_functions_of_torch_func():
    compiled = torch.compile(f, backend="dvm", dynamic=True)
    x, y = torch.rand(3, 4), torch.rand(3, 4)
    for call in (
        lambda g: torch.func.jvp(lambda x: g(x, y), (x,), (torch.ones_like(x),)),
        lambda g: torch.func.jacfwd(g)(x, y),
        lambda g: torch.func.jacrev(g)(x, y),
    ):
        torch.testing.assert_close(call(compiled), call(f))


def test_what_cannot_be_is_an_error():
    x, y = torch.rand(3, 4, requires_grad=True), torch.rand(3, 4)
    with pytest.raises(NotImplementedError, match="forward mode AD"):
        tangents(torch.compile(f, backend="dvm", dynamic=True), x, y)
    strict = torch.compile(f, backend="dvm", dynamic=True, options={"fallback": "error"})
    strict(x.detach(), y)
    with pytest.raises(dvm.Error, match="tangent of forward-mode"):
        tangents(strict, x.detach(), y)
