"""Numbers of a program that a dtype does not have: torch raises, mostly, and so do replays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

import dvm

FORMS: dict[str, Callable[[torch.Tensor, Any], torch.Tensor]] = {
    "mul": lambda x, s: x * s,
    "add": lambda x, s: x + s,
    "div": lambda x, s: x / s,
    "pow": lambda x, s: x**s,
    "compare": lambda x, s: x > s,
    "clamp": lambda x, s: x.clamp(max=s),
    "where": lambda x, s: torch.where(x > 0, x, s),
    "masked_fill": lambda x, s: x.masked_fill(x > 0, s),
    "fill_": lambda x, s: x.clone().fill_(s),
    "full": lambda x, s: torch.full((len(x),), s),
    "full of dtype": lambda x, s: torch.full((2,), s, dtype=x.dtype),
    "full_like": lambda x, s: torch.full_like(x, s),
    "tensor": lambda x, s: torch.tensor(s, dtype=x.dtype),
}
DTYPES = ["float32", "bfloat16", "float16", "int64", "int32", "uint8"]
NUMBERS = (1e300, -1e300, 70000.0, 3.7, float("inf"), float("nan"), 2**40, 2**63, 300, -1)


def outcome(f: Callable[..., Any], x: torch.Tensor, number: Any) -> Any:
    try:
        return f(x.clone(), number)
    except (RuntimeError, OverflowError, ValueError) as error:
        return type(error), str(error)


@pytest.mark.parametrize("name", FORMS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_what_does_not_fit_is_what_torch_makes_of_it(name: str, dtype: str) -> None:
    form, x = FORMS[name], torch.arange(3).to(getattr(torch, dtype))
    with torch.no_grad():
        for number in NUMBERS:
            compiled = dvm.compile(form)
            for _ in range(2):  # of a number that fits
                outcome(compiled, x, type(number)(2))
            for _ in range(2):
                wanted, found = outcome(form, x, number), outcome(compiled, x, number)
                if isinstance(wanted, tuple):
                    assert found == wanted, number
                else:
                    torch.testing.assert_close(found, wanted, equal_nan=True)
