"""Errors and warnings: of torch, of the program, half-way, caught and passed on."""

from __future__ import annotations

import contextlib
import warnings
from typing import Any

import torch
from torch import nn

from torch_native.cases import Calls, Made, calls_of, case, changed, each, grid, table

#: sizes and dtypes of two that do not always go together
UNLIKE: Calls = calls_of(
    lambda: (grid(), grid() + 1),
    lambda: (grid(), grid(3)),
    lambda: (grid(), grid(1)),
    lambda: (grid(), grid(3, 2)),
    lambda: (grid(), grid(dtype=torch.int64)),
    lambda: (grid(), grid()[0]),
    lambda: (grid(), torch.tensor(2.0)),
    lambda: (grid(0), grid(0)),
)
TABLE = """
return x + y
return x @ y
return x @ y.t()
return torch.cat([x, y]), torch.cat([x, y], 1)
return torch.stack([x, y])
x.add_(1); x.add_(y); x.add_(2); return x
x.add_(1); x.copy_(y); return x
x[0] = y; return x
x[0] = y[0]; x[1] = 7; return x
x.mul_(y); return x
return x.view(y.shape), x.reshape(y.shape)
return x.expand(y.shape)
return x.expand_as(y) * 2
return torch.where(x > 0, x, y)
return F.linear(x, y)
return F.layer_norm(x, y.shape[-1:] or (3,))
return x.gather(1, y)
return x[y]
return x.index_select(0, y[0])
return torch.bmm(x[None], y[None])
return torch.maximum(x, y), torch.equal(x, y)
return x.squeeze(0), y.t(), x.permute(1, 0)
return x.sum(y.dim()), x.sum(1)
return x.select(0, y.shape[0] - 1) if y.dim() else x
return x.transpose(0, y.dim() - 1)
return x.item()
return float(x), int(x)
return bool(x)
return x.chunk(y.shape[0]) if y.dim() else x
return x.long() // y.shape[0], x.long() % y.shape[0] if y.dim() else x
return x // y.shape[0], torch.remainder(x, y.shape[0]) if y.dim() else x
return x.split([1, y.shape[0] - 1]) if y.dim() else x
try: return x + y :: except RuntimeError as e: return x - 1, str(e)
try: z = x.clone(); z.add_(y) :: except (RuntimeError, TypeError): z = x * 2 :: return z
try: return x @ y :: finally: x.add_(1)
assert x.shape == y.shape, f"{tuple(x.shape)} and {tuple(y.shape)}" :: return x + y
if x.shape != y.shape: raise ValueError(list(y.shape)) :: return x * y
if (y > 1).any(): raise KeyError("large") :: return y
x.add_(1); assert x.sum() < 5; x.add_(1); return x
return x.nothing, y
return torch.nothing(x)
return x + "text"
return x + None
return x + [1, 2, 3]
return torch.add(x)
return torch.sum(x, dim=5)
return x.reshape(-1, -1)
return torch.zeros(-1), x
return x.to("cuda")
return x.to("nothing")
return x.float().numpy().sum() + y.shape[0] if y.dim() else x
return {}[x.shape[0]] if y.dim() == 1 else x
return x.__len__(), len(y) if y.dim() else 0
del y; return y
return 1 / (x.shape[0] - 2) if y.shape == x.shape else x
return torch.ones(3, dtype="float"), x
raise RuntimeError("own") from ValueError("cause")
"""
table("errors", "x, y", UNLIKE, TABLE)


@case
def a_buffer_written_before_an_error() -> Made:
    def program(m: Any, x: Any) -> Any:
        m.seen.add_(x[0])
        m.count = getattr(m, "count", 0) + 1
        y = m(x)
        m.seen.mul_(2)
        return y

    return changed(
        lambda m: setattr(m.second, "weight", nn.Parameter(torch.ones(3, 4))), program=program
    )


@case
def a_list_filled_before_an_error() -> Made:
    kept: list[Any] = []

    def program(x: Any, y: Any) -> Any:
        kept.append(x * 2)
        kept.append(x + y)
        return len(kept)

    return program, calls_of(lambda: (grid(), grid()), lambda: (grid(), grid(3))), lambda: kept


@case
def an_error_after_a_random_number() -> Made:
    def program(x: Any, y: Any) -> Any:
        noise = torch.rand(2)
        return x + y, noise

    return program, calls_of(lambda: (grid(), grid()), lambda: (grid(), grid(3)))


@case
def suppressed() -> Made:
    def program(x: Any, y: Any) -> Any:
        with contextlib.suppress(RuntimeError):
            x.add_(1)
            x.add_(y)
            x.add_(3)
        return x

    return program, calls_of(lambda: (grid(), grid()), lambda: (grid(), grid(3)))


@case
def warnings_of_torch() -> Made:
    """Of variances of too few, and of dividing."""

    def program(x: Any) -> Any:
        return x.var(0), x.std(), torch.nn.functional.softmax(x) if x.shape[0] == 1 else x

    return program, calls_of(lambda: (grid(),), lambda: (grid(1),), lambda: (grid(1, 1),))


@case
def warnings_as_errors() -> Made:
    def program(x: Any) -> Any:
        with warnings.catch_warnings(action="error"):
            x.add_(1)
            return x.var(0)

    return program, calls_of(lambda: (grid(),), lambda: (grid(1),))


@case
def an_error_in_a_layer() -> Made:
    class Picky(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            if x.shape[0] > 2:
                raise ValueError("too many rows")
            return x * 2

    picky = Picky()

    def program(x: Any) -> Any:
        try:
            return picky(x)
        except ValueError as error:
            return str(error), x

    return program, calls_of(lambda: (grid(),), lambda: (grid(3),), lambda: (grid(1),))


@case
def an_error_of_the_second_turn() -> Made:
    def program(parts: Any) -> Any:
        total = torch.zeros(2, 3)
        for part in parts:
            total += part
        return total

    return program, calls_of(
        lambda: ([grid(), grid()],), lambda: ([grid(), grid(3)],), lambda: ([grid()] * 3,)
    )


@case
def raises_half_way() -> Made:
    def program(x: Any, y: Any) -> Any:
        x.add_(1)
        z = x @ y
        x.mul_(2)
        return z

    return program, calls_of(
        lambda: (grid(), grid(3, 2)), lambda: (grid(), grid(2, 2)), lambda: (grid(), grid(3, 4))
    )


@case
def raises_an_own_error() -> Made:
    def program(x: Any) -> Any:
        x.add_(1)
        if x.sum() > 3:
            raise ValueError(f"{x.shape[0]} rows")
        return x * 2

    return program, calls_of(lambda: (grid(),), lambda: (grid(4),), lambda: (grid(1),))


@case
def catches_an_error_of_torch() -> Made:
    def program(x: Any, y: Any) -> Any:
        try:
            return x + y
        except RuntimeError:
            return x - 1

    return program, calls_of(lambda: (grid(), grid()), lambda: (grid(), grid(4)))


@case
def out_of_bounds() -> Made:
    return (lambda x, k: x[k] * 2), calls_of(*[lambda k=k: (grid(), k) for k in (0, 1, -1, 2, -3)])


@case
def places_out_of_bounds() -> Made:
    return (lambda x, k: nn.functional.embedding(k, x)), calls_of(
        *[lambda k=k: (grid(), torch.tensor([0, k])) for k in (1, 0, 2, -1)]
    )


@case
def warns_itself() -> Made:
    def program(x: Any) -> Any:
        warnings.warn("mind the gap", stacklevel=1)
        return x * 2

    return program, each(grid())


@case
def not_broadcastable() -> Made:
    return (lambda x, y: x * y), calls_of(
        lambda: (grid(), grid()), lambda: (grid(), grid(1)), lambda: (grid(), grid(3))
    )


@case
def truth_of_many() -> Made:
    return (lambda x: 1 if x else 2), calls_of(
        lambda: (torch.tensor(1.0),), lambda: (torch.tensor([0.0]),), lambda: (grid(),)
    )
