"""Results that lie otherwise than they are computed: values, strides, and no copy of them."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from dvm import _dvm  # noqa: E402

SIZES = ((1, 1), (0, 3), (3, 0), (5, 7), (64, 65), (200, 1))


def turned(x, y):
    return x.t() * 2 + y.t()


def turned_and_plain(x, y):
    return x.t() + y.new_ones(y.shape[1], y.shape[0])


def with_what_it_is_of(x, y):
    z = x.t() + y.t()
    return z, z * 2, z.t()


def twice(x, y):
    z = x * y
    return z.t(), z.t() + 1


def three_axes(x, y):
    x, y = x[None].expand(3, -1, -1) * 1.5, y[:, None, :]
    return x.permute(2, 0, 1) * 2, (x.permute(1, 2, 0) + y.permute(0, 2, 1)).sin()


def reduced(x, y):
    z = x.t() * y.t()
    return z.sum(0, keepdim=True), z.amax(1) if z.numel() else z


def of_halves(x, y):
    return (x.t().to(torch.bfloat16) * 2, (x.t() > y.t()), x.t().double() + y.t())


def written(x, y):
    z = x.t() + 1
    z.mul_(2)
    z[:1].add_(y.t()[:1])
    return z


PROGRAMS = (
    turned, turned_and_plain, with_what_it_is_of, twice, three_axes, reduced, of_halves, written,
)  # fmt: skip


def tensors(result: Any) -> tuple[Any, ...]:
    return result if isinstance(result, tuple) else (result,)


def moving_strides(tensor: Any) -> list[int]:
    """Those along which there is another element."""
    if tensor.numel() == 0:
        return []
    sizes = zip(tensor.shape, tensor.stride(), strict=True)
    return [stride for size, stride in sizes if size > 1]


def shared_memory(results: tuple[Any, ...]) -> list[list[bool]]:
    memories = [each.untyped_storage().data_ptr() for each in results if each.numel()]
    return [[a == b for a in memories] for b in memories]


@pytest.fixture(autouse=True)
def nothing_compiled() -> Iterator[None]:
    torch._dynamo.reset()
    yield
    torch._dynamo.reset()


@pytest.mark.parametrize("function", PROGRAMS, ids=lambda function: function.__name__)
def test_they_are_those_of_eager_torch(function: Callable[..., Any]) -> None:
    compiled = torch.compile(function, backend="dvm", dynamic=True)
    for size in SIZES:
        x, y = torch.randn(size), torch.randn(size)
        made, expected = tensors(compiled(x, y)), tensors(function(x, y))
        for one, other in zip(made, expected, strict=True):
            torch.testing.assert_close(one, other)
            assert moving_strides(one) == moving_strides(other)
        assert shared_memory(made) == shared_memory(expected)


def test_a_region_writes_them_as_they_lie() -> None:
    before = graphs()  # kept, so that none has its place
    torch.compile(turned, backend="dvm")(torch.randn(5, 7), torch.randn(5, 7))
    (graph,) = (graph for graph in graphs() if all(graph is not each for each in before))
    lines = [line.strip() for line in graph.plan.splitlines()]
    (result,) = (line for line in lines if line.startswith("ret "))
    made = result.removeprefix("ret [").removesuffix("]")
    assert any(line.startswith(f"{made} = host_alloc f32") for line in lines), graph.plan


def graphs() -> list[Any]:
    return [each for each in gc.get_objects() if type(each) is _dvm.TorchGraph]
