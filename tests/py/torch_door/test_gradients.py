"""Gradients of each compiled row, in f64, against differences of what it gives (gradcheck).

A sample here; `make test-long` takes every row.
"""

from typing import Any

import pytest
import torch
from torch.utils import _pytree as pytree

from torch_door.samples import ROWS, Maker
from torch_door.test_aten import op_of, split
from whole import some

#: by row, why differences say nothing of its gradient, or torch has none
WITHOUT = {
    "aten.empty.memory_format": "what it holds is undefined",
    "aten.empty_permuted.default": "what it holds is undefined",
}


#: rows whose numbers stay what they are: torch's own gradient fails where one is a symbol
FIXED_NUMBERS = {"aten.pow.Tensor_Scalar", "aten.pow.Scalar"}


def differentiable(leaves: list[Any]) -> list[int]:
    return [
        k
        for k, leaf in enumerate(leaves)
        if isinstance(leaf, torch.Tensor) and leaf.dtype == torch.float64
    ]


def function_of(op: Any, leaves: list[Any], spec: Any, places: list[int]) -> Any:
    """A call as a function of the tensors that have gradients, to its results that have."""

    def call(*tensors: torch.Tensor) -> tuple[torch.Tensor, ...]:
        given = list(leaves)
        for place, tensor in zip(places, tensors, strict=True):
            given[place] = tensor
        args, kwargs = pytree.tree_unflatten(given, spec)
        made = pytree.tree_leaves(op(*args, **kwargs))
        return tuple(x for x in made if isinstance(x, torch.Tensor) and x.is_floating_point())

    return call


NAMES = some((name for name in ROWS if name not in WITHOUT), 14)


@pytest.mark.parametrize("name", NAMES)
def test_gradient(name):
    torch.manual_seed(0)
    op, samples = op_of(name), ROWS[name]
    if torch.float64 not in samples.dtypes:
        pytest.skip("no row of floats")
    checked = 0
    for call in samples.make(Maker(torch.float64, 3, 4)):
        args, kwargs = split(call)
        leaves, spec = pytree.tree_flatten((args, kwargs))
        places = differentiable(leaves)
        inputs = [leaves[k].clone().requires_grad_() for k in places]
        function = function_of(op, leaves, spec, places)
        try:
            made = function(*inputs)
        except (RuntimeError, NotImplementedError, IndexError, TypeError):
            continue  # not for eager torch either
        if not inputs or not any(x.requires_grad for x in made):
            continue
        try:
            torch.autograd.gradcheck(function, inputs)
        except (RuntimeError, NotImplementedError):
            continue  # eager torch's own gradient is none, or is not near the differences
        torch._dynamo.reset()
        compiled = torch.compile(function, backend="dvm", dynamic=True)
        fixed = name in FIXED_NUMBERS
        with torch._dynamo.config.patch(specialize_int=fixed, specialize_float=fixed):
            assert torch.autograd.gradcheck(compiled, inputs)
        checked += 1
    if not checked:
        pytest.skip("eager torch has no gradient that could be compared")
