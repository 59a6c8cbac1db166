"""Lowerings of reductions, of running totals and of what is computed from them along axes."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

from dvm.torch.builder import Builder, NotCompiled, Tensor, is_same_shape
from dvm.torch.shapes import axes_of, axis_of
from dvm.torch.sizes import Size

EXACT = ("f32", "f64")  # whose products are rounded nowhere else than elementwise ones


def kept(b: Builder, made: Tensor, axes: list[int], keepdim: bool) -> Tensor:
    return made if keepdim else b.squeeze(made, axes)


def reduction(op: str) -> Callable[..., Tensor]:
    """Sum and prod, added up in the dtype of the result."""

    def lower(
        b: Builder, x: Tensor, axes: Any = None, keepdim: bool = False, *, dtype: Any = None
    ) -> Tensor:
        axes = axes_of(axes, x.rank)
        x = b.cast(x, b.out.dtype)
        if not axes:
            return x
        if op == "sum" and (made := weighted_sum(b, x, axes)) is not None:
            return kept(b, made, axes, keepdim)
        # Of halves once, however many reductions it takes.
        made = b.cast(b.reduce(op, b.wide(x), axes), b.out.dtype)
        return kept(b, made, axes, keepdim)

    return lower


def weighted_sum(b: Builder, x: Tensor, axes: list[int]) -> Tensor | None:
    """The sum of rows by weights of their own, `(x * w).sum(-2)`, as a product of matrices.

    That takes half the time or less, as each element of the rows is read, multiplied and added at
    once. None for sums of another form, and of short rows, which a product has no vectors of.
    """
    columns = x.shape[-1]
    is_long = isinstance(columns, int) and columns >= 16
    is_of_rows = x.rank > 2 and axes == [x.rank - 2]
    if not (b.has_exact_products and is_long and is_of_rows and x.dtype in EXACT):
        return None
    for rows, other in itertools.permutations(b.factors(x), 2):
        weights = b.repeated(other)
        if weights is None or b.repeated(rows) is not None:
            continue
        if is_same_shape(weights.shape, (*x.shape[:-1], 1)):
            turned = b.reshape(weights, [*x.shape[:-2], 1, x.shape[-2]])
            return b.matmul(turned, rows)
    return None


def mean(
    b: Builder, x: Tensor, axes: Any = None, keepdim: bool = False, *, dtype: Any = None
) -> Tensor:
    axes = axes_of(axes, x.rank)
    x = b.wide(b.cast(x, b.out.dtype))
    return kept(b, b.cast(b.mean(x, axes) if axes else x, b.out.dtype), axes, keepdim)


def extremum(op: str) -> Callable[..., Tensor]:
    def lower(b: Builder, x: Tensor, axes: Any = None, keepdim: bool = False) -> Tensor:
        axes = axes_of(axes, x.rank)
        return kept(b, b.reduce(op, x, axes), axes, keepdim) if axes else x

    return lower


def truth(op: str) -> Callable[..., Tensor]:
    def lower(b: Builder, x: Tensor, axes: Any = None, keepdim: bool = False) -> Tensor:
        axes = axes_of(axes, x.rank)
        x = b.cast(x, "bool")
        made = kept(b, b.reduce(op, x, axes), axes, keepdim) if axes else x
        return b.cast(made, b.out.dtype)

    return lower


def place_of_extremum(op: str) -> Callable[..., Tensor]:
    def lower(b: Builder, x: Tensor, axis: int | None = None, keepdim: bool = False) -> Tensor:
        if axis is None or x.rank == 0:
            size: Size = 1
            for extent in x.shape:
                size = extent * size
            return b.reshape(b.along(op, [b.reshape(x, [size])], 0), b.out.shape)
        axis = axis_of(axis, x.rank)
        return kept(b, b.along(op, [x], axis), [axis], keepdim)

    return lower


def extremum_and_place(op: str) -> Callable[..., list[Tensor]]:
    def lower(b: Builder, x: Tensor, axis: int, keepdim: bool = False) -> list[Tensor]:
        if x.rank == 0:
            return [x, b.constant(0, "i64")]
        axis = axis_of(axis, x.rank)
        made = b.reduce(op, x, [axis]), b.along(f"arg{op}", [x], axis)
        return [kept(b, t, [axis], keepdim) for t in made]

    return lower


def variance(b: Builder, x: Tensor, axes: list[int], correction: Any) -> tuple[Tensor, Tensor]:
    """Variance and mean, over axes which stay, in two passes."""
    mean = b.mean(x, axes)
    apart = b.sub(x, b.broadcast(mean, x.shape))
    total = b.reduce("sum", b.mul(apart, apart), axes)
    count = b.number(b.count(x, axes), x.dtype, total.shape)
    if correction:
        zero = b.constant(0, x.dtype, total.shape)
        count = b.maximum(b.sub(count, correction), zero)
    return b.div(total, count), mean


def var(
    b: Builder, x: Tensor, axes: Any = None, correction: Any = 1, keepdim: bool = False
) -> Tensor:
    axes = axes_of(axes, x.rank)
    correction = 1 if correction is None else correction
    if not axes:
        raise NotCompiled("the variance of one element")
    made, _ = variance(b, b.wide(x), axes, correction)
    return b.cast(kept(b, made, axes, keepdim), b.out.dtype)


def var_mean(
    b: Builder, x: Tensor, axes: Any = None, correction: Any = 1, keepdim: bool = False
) -> list[Tensor]:
    axes = axes_of(axes, x.rank)
    correction = 1 if correction is None else correction
    if not axes:
        raise NotCompiled("the variance of one element")
    made = variance(b, b.wide(x), axes, correction)
    return [b.cast(kept(b, t, axes, keepdim), b.out.dtype) for t in made]


def vector_norm(
    b: Builder,
    x: Tensor,
    order: float = 2,
    axes: Any = None,
    keepdim: bool = False,
    *,
    dtype: Any = None,
) -> Tensor:
    axes = axes_of(axes, x.rank)
    wide = b.wide(b.cast(x, b.out.dtype))
    if not axes:
        raise NotCompiled("the norm of a number")
    if order == 2:
        made = b.sqrt(b.reduce("sum", b.mul(wide, wide), axes))
    elif order == 1:
        made = b.reduce("sum", b.abs(wide), axes)
    elif order in (math.inf, -math.inf):
        made = b.reduce("max" if order > 0 else "min", b.abs(wide), axes)
    else:
        raise NotCompiled("the norm of another order")
    return kept(b, b.cast(made, b.out.dtype), axes, keepdim)


def running(op: str) -> Callable[..., Tensor]:
    """Of float32 in float64, as torch: from one rounded total to the next errors would add up."""

    def lower(b: Builder, x: Tensor, axis: int, *, dtype: Any = None) -> Tensor:
        x = b.cast(x, b.out.dtype)
        if x.rank == 0:
            return x
        wide = b.cast(x, "f64") if x.dtype == "f32" else b.wide(x)
        return b.cast(b.along("scan", [wide], axis_of(axis, x.rank), op), b.out.dtype)

    return lower


def exponentials(b: Builder, x: Tensor, axis: int) -> tuple[Tensor, Tensor, Tensor]:
    """X less its maximum along an axis, e to that, and the sum of those, of a float."""
    most = b.reduce("max_or_lowest", x, [axis])
    apart = b.sub(x, b.broadcast(most, x.shape))
    powers = b.exp(apart)
    return apart, powers, b.reduce("sum", powers, [axis])


def softmax(b: Builder, x: Tensor, axis: int, half_to_float: bool = False) -> Tensor:
    if x.rank == 0:
        return b.constant(1, b.out.dtype)
    wide = b.wide(x)
    _, powers, total = exponentials(b, wide, axis_of(axis, x.rank))
    return b.cast(b.div(powers, b.broadcast(total, x.shape)), b.out.dtype)


def log_softmax(b: Builder, x: Tensor, axis: int, half_to_float: bool = False) -> Tensor:
    if x.rank == 0:
        return b.constant(0, b.out.dtype)
    wide = b.wide(x)
    apart, _, total = exponentials(b, wide, axis_of(axis, x.rank))
    return b.cast(b.sub(apart, b.broadcast(b.log(total), x.shape)), b.out.dtype)


def logsumexp(b: Builder, x: Tensor, axes: list[int], keepdim: bool = False) -> Tensor:
    """Of the powers less the greatest, which may be infinite and is left where it is then."""
    wide = b.wide(b.cast(x, b.out.dtype))
    if not axes:
        return b.cast(wide, b.out.dtype)
    most = b.reduce("max_or_lowest", wide, axes)
    zero = b.constant(0, wide.dtype, most.shape)
    most = b.select(b.isinf(most), zero, most)
    total = b.reduce("sum", b.exp(b.sub(wide, b.broadcast(most, x.shape))), axes)
    return kept(b, b.cast(b.add(b.log(total), most), b.out.dtype), axes, keepdim)


def softmax_backward(b: Builder, grad: Tensor, output: Tensor, axis: int, dtype: Any) -> Tensor:
    grad, output = b.wide(grad), b.wide(output)
    if grad.rank == 0:
        return b.constant(0, b.out.dtype)
    product = b.mul(grad, output)
    total = b.reduce("sum", product, [axis_of(axis, grad.rank)])
    made = b.sub(product, b.mul(output, b.broadcast(total, grad.shape)))
    return b.cast(made, b.out.dtype)


def log_softmax_backward(b: Builder, grad: Tensor, output: Tensor, axis: int, dtype: Any) -> Tensor:
    grad, output = b.wide(grad), b.wide(output)
    if grad.rank == 0:
        return b.constant(0, b.out.dtype)
    total = b.reduce("sum", grad, [axis_of(axis, grad.rank)])
    made = b.sub(grad, b.mul(b.exp(output), b.broadcast(total, grad.shape)))
    return b.cast(made, b.out.dtype)
