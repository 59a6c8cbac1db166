"""What follows an op of torch's is written over its result, where nothing else needs that."""

import pytest
import torch

import dvm.torch


class Block(torch.nn.Module):
    """Two ops that torch computes, with epilogues, and the input added to the second."""

    def __init__(self) -> None:
        super().__init__()
        self.first = torch.nn.AvgPool2d(3, 1, padding=1)
        self.norm = torch.nn.BatchNorm2d(3)
        self.second = torch.nn.AvgPool2d(1)

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        y = self.norm(self.first(x)).relu()
        z = self.second(y)
        return x + z.sigmoid(), y


def plan_of_the_last_call() -> str:
    return dvm.torch.report().graphs[-1].plan


@pytest.fixture(autouse=True)
def _from_nothing() -> None:
    torch._dynamo.reset()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_epilogues_of_ops_that_torch_computes(dtype):
    torch.manual_seed(0)
    module = Block().to(dtype).eval()
    compiled = dvm.torch.compile(module)
    for batch, size in [(2, 5), (1, 8), (3, 1), (0, 4), (2, 16)]:
        x = torch.rand(batch, 3, size, size, dtype=dtype)
        before = x.clone()
        with torch.no_grad():
            made, wanted = compiled(x), module(x)
        torch.testing.assert_close(made, wanted)
        torch.testing.assert_close(x, before, rtol=0, atol=0)
    assert "alloc" not in plan_of_the_last_call()


def test_layouts_that_torch_chooses():
    torch.manual_seed(0)
    module = Block().eval().to(memory_format=torch.channels_last)
    compiled = dvm.torch.compile(module)
    for size in (4, 7):
        for layout in (torch.channels_last, torch.contiguous_format):
            x = torch.rand(2, 3, size, size).contiguous(memory_format=layout)
            with torch.no_grad():
                made, wanted = compiled(x), module(x)
            torch.testing.assert_close(made, wanted)
            assert [m.stride() for m in made] == [w.stride() for w in wanted]


def test_results_that_are_needed_again():
    def f(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        sorted_, places = x.sort(-1)
        return sorted_ * 2, sorted_, places + 1

    compiled = dvm.torch.compile(f)
    for rows in (2, 3, 0):
        x = torch.rand(rows, 4)
        torch.testing.assert_close(compiled(x), f(x))
    # The places are written over, what is sorted is a result itself.
    assert plan_of_the_last_call().count("alloc") == 1


def test_draws_are_the_same_as_in_eager_torch():
    def f(x: torch.Tensor) -> torch.Tensor:
        return (torch.rand_like(x) - 0.5).abs() + torch.nn.functional.dropout(x, 0.5)

    compiled = dvm.torch.compile(f)
    for shape in [(3, 4), (5, 2), (0, 3)]:
        x = torch.rand(shape)
        results = []
        for call in (compiled, f):
            torch.manual_seed(7)
            results.append(call(x))
        torch.testing.assert_close(*results)
