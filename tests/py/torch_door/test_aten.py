"""Each row of the table of ops against eager torch: dtypes, sizes 0 and 1, other sizes later."""

from typing import Any

import pytest
import torch
from torch.utils import _pytree as pytree

from dvm.torch import aten
from torch_door.one_op import OneOp
from torch_door.samples import ROWS, Maker
from whole import WHOLE, by_turns

SIZES = [(3, 5), (1, 4), (4, 1), (1, 1), (0, 3), (3, 0)]
#: of these dtypes all sizes are tried
THOROUGH = (torch.float32, torch.int64) if WHOLE else (torch.float32,)
# The same graph serves these, whose sizes are none of 0 and 1.
LATER = [(4, 7), (2, 3)]
COMPILED = [name for name, row in aten.ROWS.items() if row.lower]


def op_of(name: str) -> Any:
    namespace, op, overload = name.split(".")
    return getattr(getattr(getattr(torch.ops, namespace), op), overload)


def split(call: tuple[Any, ...]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    return (call[:-1], call[-1]) if isinstance(call[-1], dict) else (call, {})


def calls(name: str, dtype: Any, m: int, n: int) -> list[Any]:
    torch.manual_seed(m * 31 + n)
    return [split(call) for call in ROWS[name].make(Maker(dtype, m, n))]


def eager(op: Any, args: Any, kwargs: Any) -> Any:
    """What torch gives; None for arguments that it does not take."""
    try:
        return op(*args, **kwargs)
    except (RuntimeError, NotImplementedError, IndexError, TypeError):
        return None


def compare(made: Any, expected: Any, dtype: Any, is_defined: bool = True) -> None:
    pairs = (
        [(made, expected)]
        if isinstance(expected, torch.Tensor)
        else zip(made, expected, strict=True)
    )
    for got, wanted in pairs:
        if not isinstance(wanted, torch.Tensor):
            continue
        assert got.dtype == wanted.dtype
        if not is_defined:
            assert got.shape == wanted.shape
            continue
        is_half = dtype == torch.bfloat16
        near = {"rtol": 2e-2, "atol": 2e-2} if is_half else {"rtol": 2e-5, "atol": 2e-5}
        if wanted.dtype == torch.float64:
            near = {"rtol": 1e-7, "atol": 1e-7}
        torch.testing.assert_close(got, wanted, equal_nan=True, **near)


def numbers(arguments: Any) -> list[Any]:
    leaves, _ = pytree.tree_flatten(arguments)
    return [leaf for leaf in leaves if not isinstance(leaf, torch.Tensor)]


def test_each_row_that_is_compiled_has_samples():
    assert set(ROWS) == set(COMPILED)


def is_tried(number: int, dtype: int, size: tuple[int, int]) -> bool:
    """The first of a row's calls; of the others, dtypes and sizes of 0 and 1 by turns."""
    if WHOLE or number == 0:
        return True
    if size != SIZES[0]:
        return size in by_turns(SIZES[1:], number)
    return dtype == 0 or (number + dtype) % 3 == 0


@pytest.mark.parametrize("name", COMPILED)
def test_row(name):
    op, samples, compared, compiled = op_of(name), ROWS[name], 0, 0
    for dtype in samples.dtypes:
        for m, n in SIZES if dtype in THOROUGH else SIZES[:1]:
            if min(m, n) < samples.least:
                continue
            for k, (args, kwargs) in enumerate(calls(name, dtype, m, n)):
                if not is_tried(k, samples.dtypes.index(dtype), (m, n)):
                    continue
                expected = eager(op, args, kwargs)
                if expected is None:
                    continue
                one = OneOp(op, args, kwargs, samples.shares_sizes)
                compare(one(args, kwargs), expected, dtype, samples.is_defined)
                compared += 1
                compiled += one.ops["compiled"][name]
                if (m, n) != SIZES[0]:
                    continue
                for sizes in LATER:
                    later, named = calls(name, dtype, *sizes)[k]
                    if numbers((later, named)) != numbers((args, kwargs)):
                        continue  # a size is written into the graph
                    compare(one(later, named), op(*later, **named), dtype, samples.is_defined)
                    compared += 1
    assert compared >= 1
    assert compiled >= 1
