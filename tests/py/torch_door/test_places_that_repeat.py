"""Places of `scatter` that are one for whole slices: these move as slices, to the same end."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

import dvm.torch

ROWS, COLUMNS, PLACES = 40, 6, 5
OPS: dict[str, Callable[[Tensor, int, Tensor, Tensor], Tensor]] = {
    "add": lambda x, axis, places, values: x.scatter_add(axis, places, values),
    "set": lambda x, axis, places, values: x.scatter(axis, places, values),
    "fill": lambda x, axis, places, _: x.scatter(axis, places, 2.0),
    "amax": lambda x, axis, places, values: x.scatter_reduce(axis, places, values, "amax"),
    "prod": lambda x, axis, places, values: x.scatter_reduce(axis, places, values, "prod"),
}


@pytest.fixture(autouse=True)
def _from_nothing() -> None:
    torch._dynamo.reset()
    torch.manual_seed(0)


def moves_slices(compiled: Any, *args: Any) -> bool:
    """Whether the graph of this call scatters slices, and no elements one by one."""
    plans = "".join(graph.plan for graph in dvm.torch.explain(compiled)(*args).graphs)
    return "scatter" in plans and "put_along" not in plans


@pytest.mark.parametrize("name", OPS)
def test_slices_go_where_their_elements_do(name: str) -> None:
    op = OPS[name]
    x, values = torch.rand(PLACES, COLUMNS), torch.rand(ROWS, COLUMNS)
    line = torch.randint(0, PLACES, (ROWS, 1))
    repeated = line.expand(ROWS, COLUMNS)
    functions: list[Callable[[Tensor, Tensor, Tensor], Tensor]] = [
        lambda x, places, values: op(x, 0, places, values),
        lambda x, places, values: op(x.t(), 1, places.t(), values.t()),
        lambda x, places, values: op(x, 0, places[:, :1].expand(places.shape), values),
    ]
    for f in functions[: 1 if name == "fill" else 3]:
        compiled = torch.compile(f, backend="dvm", dynamic=True)
        others = torch.randint(0, PLACES, (ROWS, COLUMNS))
        for places in (repeated, repeated.contiguous(), others, repeated):
            torch.testing.assert_close(compiled(x, places, values), f(x, places, values))
        assert moves_slices(compiled, x, repeated, values)
        for wrong in (line - 1, line + 2):
            places = wrong.expand(ROWS, COLUMNS)
            with pytest.raises(RuntimeError, match="out of bounds"):
                compiled(x, places, values)
