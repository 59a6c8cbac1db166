"""What counts as another rounding of the same program, and what does not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch.nn import functional

from torch_native.observing import observe
from torch_native.rounding import Rounded, is_within

FLOATS = torch.linspace(1, 2, 12).reshape(3, 4)


def is_same(found: Callable[..., Any], wanted: Callable[..., Any], x: torch.Tensor) -> bool:
    def again(number: int) -> Any:
        with Rounded(number):
            return observe(wanted, [x.clone()])

    mine, theirs = observe(found, [x.clone()]), observe(wanted, [x.clone()])
    assert mine.difference(theirs)  # beyond what is allowed to any result
    return is_within(mine, theirs, again)


def backwards(x: torch.Tensor) -> torch.Tensor:
    return x.flip(1).sum(1)


def a_little_more(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda x: function(x) * 1.0003


#: what two sums of it, or its order, leave is mostly rounding
CANCELS = torch.tensor([[1e6, 1.2345678, -1e6, 0.1], [3e5, 1.1, 0.3, -3e5]])
HUGE = FLOATS * 1e23


@pytest.mark.parametrize(
    ("found", "wanted", "x"),
    [
        (backwards, lambda x: x.sum(1), CANCELS),
        (lambda x: (x + 3e4).std(0), lambda x: x.std(0), FLOATS * 0.01 + 4e4),
        (lambda x: functional.layer_norm(x / 1e20, (4,)), lambda x: functional.layer_norm(x, (4,)),
         HUGE),
        (lambda x: x.add_(1e8).sub_(1e8 - 8), lambda x: x.add_(1e8).sub_(1e8), FLOATS),
    ],
)  # fmt: skip
def test_another_rounding_is_the_same(found: Any, wanted: Any, x: torch.Tensor) -> None:
    assert is_same(found, wanted, x)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x.sum(1),
        lambda x: torch.cat([x, x.sin()]),
        lambda x: functional.softmax(x, 1),
        lambda x: x.mul_(2),
        lambda x: functional.layer_norm(x, (4,)),
        lambda x: (x > 1.5).float(),
    ],
)
def test_a_little_more_is_not(function: Any) -> None:
    assert not is_same(a_little_more(function), function, FLOATS)


def test_nor_is_another_element() -> None:
    assert not is_same(lambda x: x.flip(1), lambda x: x.clone(), CANCELS)
    assert not is_same(lambda x: x + 1, lambda x: x.clone(), FLOATS.double())


def test_nor_what_is_not_finite_where_all_is() -> None:
    assert not is_same(lambda x: x.sum(1) / 0, lambda x: x.sum(1), FLOATS)
