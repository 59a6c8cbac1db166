"""Calls of compiled modules that keep gradients: which way they go, and what is told of it."""

from __future__ import annotations

import copy
import warnings
from typing import Any

import pytest
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

import dvm

pytestmark = pytest.mark.filterwarnings("ignore")  # torch warns of what it does itself


class Counted(nn.Module):
    """Counts its calls, by itself and in statistics."""

    def __init__(self) -> None:
        super().__init__()
        self.inner, self.norm = nn.Linear(4, 4), nn.BatchNorm1d(4)
        self.calls = 0

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.calls += 1
        return self.norm(self.inner(x)).relu()


def test_a_call_that_is_explained_is_made_once() -> None:
    made = dvm.compile(Counted())
    report = str(dvm.explain(made)(torch.randn(5, 4)))
    assert (made.calls, int(made.norm.num_batches_tracked)) == (1, 1)
    assert "gradients" in report
    report = dvm.explain(made)(torch.randn(6, 4))
    assert [graph.kind for graph in report.graphs] == ["forward"]
    assert "gradients" in report.why
    assert (made.calls, int(made.norm.num_batches_tracked)) == (2, 2)


class Layers(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(4, 6), nn.Linear(6, 2)
        self.table = nn.Embedding(5, 4)

    def forward(self, x: torch.Tensor, other: torch.Tensor | None = None) -> torch.Tensor:
        x = self.table(x) if x.dtype == torch.int64 else x
        made = self.second(self.first(x).relu())
        return made if other is None else made + other


#: by what is wrong: arguments
WRONG: dict[str, tuple[Any, ...]] = {
    "width": (torch.ones(3, 5),),
    "rank": (torch.ones(2, 3, 4), torch.ones(3, 3)),
    "sizes": (torch.ones(3, 4), torch.ones(4, 2)),
    "dtype": (torch.ones(3, 4, dtype=torch.float64),),
    "place": (torch.tensor([1, 7]),),
    "too many": (torch.ones(3, 4), torch.ones(2), 3),
    "no tensor": (None,),
}


def error_of(module: nn.Module, given: tuple[Any, ...]) -> BaseException:
    try:
        module(*given)
    except (AttributeError, IndexError, RuntimeError, TypeError) as error:
        return error
    raise AssertionError("nothing was raised")


@pytest.mark.parametrize("wrong", WRONG)
@pytest.mark.parametrize("called_before", [0, 2])
def test_errors_are_those_of_the_program(called_before: int, wrong: str) -> None:
    torch._dynamo.reset()
    module = Layers()
    made = dvm.compile(copy.deepcopy(module))
    for rows in range(3, 3 + called_before):
        made(torch.ones(rows, 4), torch.ones(2)).sum().backward()
    wanted, found = (error_of(each, WRONG[wrong]) for each in (module, made))
    assert (type(found), str(found)) == (type(wanted), str(wanted))
    assert found.__context__ is None
    torch.testing.assert_close(made(torch.ones(3, 4)), made.original(torch.ones(3, 4)))


class Refused(nn.Module):
    """What torch's fake tensors refuse, and torch itself does."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return unfaked(x) * 2


@torch.library.custom_op("dvm_tests::unfaked", mutates_args=())
def unfaked(x: torch.Tensor) -> torch.Tensor:
    return x.clone()


unfaked.register_autograd(lambda _, gradient: gradient)


def test_what_torch_compile_refuses_runs_as_it_is_and_is_told() -> None:
    made = dvm.compile(Refused())
    x = torch.ones(3, requires_grad=True)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        for _ in range(3):
            made(x).sum().backward()
    assert x.grad is not None
    assert x.grad.tolist() == [6.0] * 3
    assert any("runs uncompiled" in str(each.message) for each in told)


@pytest.mark.parametrize("reentrant", [False, True])
@pytest.mark.parametrize("warm", [False, True])
def test_a_checkpoint_around_a_compiled_module(reentrant: bool, warm: bool) -> None:
    module = nn.Sequential(nn.Linear(4, 6), nn.Dropout(0.3), nn.GELU(), nn.Linear(6, 4))
    made = dvm.compile(copy.deepcopy(module))
    if warm:
        made(torch.ones(3, 4))
    for rows in (3, 5, 2, 1):
        x = torch.randn(rows, 4, requires_grad=True)
        gradients = []
        for each in (made, module):
            torch.manual_seed(rows)
            each.zero_grad()
            checkpoint(each, x, use_reentrant=reentrant).square().sum().backward()
            gradients.append([p.grad.clone() for p in each.parameters()])
        torch.testing.assert_close(*gradients)


def test_saved_tensors_that_wait_elsewhere() -> None:
    module = nn.Sequential(nn.Linear(4, 6), nn.GELU(), nn.Linear(6, 4))
    made, x = dvm.compile(copy.deepcopy(module)), torch.randn(3, 4)
    for _ in range(2):
        for each in (made, module):
            with torch.autograd.graph.save_on_cpu():
                loss = each(x).square().sum()
            loss.backward()
    for own, wanted in zip(made.parameters(), module.parameters(), strict=True):
        torch.testing.assert_close(own.grad, wanted.grad)


class Noted(nn.Module):
    """Writes buffers in several ways."""

    def __init__(self) -> None:
        super().__init__()
        self.inner, self.norm = nn.Linear(4, 4), nn.BatchNorm1d(4)
        for name in ("total", "behind"):
            self.register_buffer(name, torch.zeros(4))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.norm(self.inner(x))
        self.total.add_(y.detach().sum(0))
        with torch.no_grad():
            self.behind.mul_(0.5)
        return y


def test_writes_count_as_those_of_eager_calls_do() -> None:
    module = Noted()
    made = dvm.compile(copy.deepcopy(module))
    counts: list[list[int]] = [[], []]
    for rows in (3, 5, 4, 6):
        x = torch.randn(rows, 4)
        for each, own in zip((made, module), counts, strict=True):
            before = [buffer._version for buffer in each.buffers()]
            each(x).sum().backward()
            with torch.no_grad():
                each.eval()(x)
                each.train()
            own += [b._version - k for b, k in zip(each.buffers(), before, strict=True)]
    assert counts[0] == counts[1]


def test_a_norm_that_is_called_twice_before_its_backward_pass() -> None:
    """The first call runs as it is, the second is compiled, and writes what the first still has."""
    module = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Linear(8, 1))
    made, fakes = dvm.compile(copy.deepcopy(module)), dvm.compile(nn.Linear(3, 4))
    for rows in (8, 9, 12):
        real, drawn = torch.randn(rows, 4), torch.randn(rows, 3)
        for each in (made, module):
            each.zero_grad()
            (each(real).sigmoid().mean() - each(fakes(drawn).detach()).sigmoid().mean()).backward()
        for own, wanted in zip(made.parameters(), module.parameters(), strict=True):
            torch.testing.assert_close(own.grad, wanted.grad, rtol=1e-4, atol=1e-5)
