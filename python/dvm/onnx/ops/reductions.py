"""Reductions, running totals, places of extremes, and softmax."""

from __future__ import annotations

from typing import Any

import numpy as np

from dvm.building.builder import Builder, Tensor
from dvm.onnx.context import Context
from dvm.onnx.registry import op
from dvm.onnx.values import product_of


def summed(b: Builder, x: Tensor, axes: list[int]) -> Tensor:
    return b.cast(b.reduce("sum", b.wide(x), axes), x.dtype) if axes else x


def _mean(b: Builder, x: Tensor, axes: list[int]) -> Tensor:
    if not axes:
        return x
    if x.is_float:
        return b.cast(b.mean(b.wide(x), axes), x.dtype)
    total = b.reduce("sum", x, axes)
    count = b.number(b.count(x, axes), x.dtype, total.shape)
    return b.floor_divide(b.sub(total, b.fmod(total, count)), count)  # towards 0


def log_sum_exp(b: Builder, x: Tensor, axes: list[int]) -> Tensor:
    if not axes:
        return x
    dtype = x.dtype
    x = b.wide(x)
    most = b.reduce("max_or_lowest", x, axes)
    zero = b.constant(0, x.dtype, most.shape)
    most = b.select(b.isfinite(most), most, zero)
    powers = b.exp(b.sub(x, b.broadcast(most, x.shape)))
    return b.cast(b.add(b.log(b.reduce("sum", powers, axes)), most), dtype)


def _extreme(op_name: str) -> Any:
    def reduce(b: Builder, x: Tensor, axes: list[int]) -> Tensor:
        return b.reduce(op_name, x, axes) if axes else x

    return reduce


def _power(b: Builder, x: Tensor) -> Tensor:
    return b.mul(x, x)


REDUCTIONS: dict[str, Any] = {
    "ReduceSum": summed,
    "ReduceMean": _mean,
    "ReduceMax": _extreme("max_or_lowest"),
    "ReduceMin": _extreme("min_or_highest"),
    "ReduceProd": lambda b, x, axes: (
        b.cast(b.reduce("prod", b.wide(x), axes), x.dtype) if axes else x
    ),
    "ReduceSumSquare": lambda b, x, axes: summed(b, _power(b, x), axes),
    "ReduceL1": lambda b, x, axes: summed(b, b.abs(x), axes),
    "ReduceL2": lambda b, x, axes: _root(b, summed(b, _power(b, b.wide(x)), axes), x.dtype),
    "ReduceLogSum": lambda b, x, axes: b.log(summed(b, x, axes)),
    "ReduceLogSumExp": log_sum_exp,
}


def _root(b: Builder, x: Tensor, dtype: str) -> Tensor:
    made = b.sqrt(x if x.is_float else b.cast(x, "f64"))
    return b.cast(made, dtype)


@op(*REDUCTIONS, structure=["axes"])
def reduction(
    c: Context, x: Tensor, axes: Any = None, keepdims: int = 1, noop_with_empty_axes: int = 0
) -> Tensor:
    if axes is not None and np.size(axes) == 0:
        axes = None
    over = [] if axes is None and noop_with_empty_axes else c.axes(axes, x.rank)
    made = REDUCTIONS[c.node.op_type](c.b, x, over)
    return made if keepdims else c.b.squeeze(made, over)


@op("ArgMax", "ArgMin")
def place(
    c: Context, x: Tensor, axis: int = 0, keepdims: int = 1, select_last_index: int = 0
) -> Tensor:
    b = c.b
    axis = c.axis(axis, x.rank)
    name = "argmax" if c.node.op_type == "ArgMax" else "argmin"
    if select_last_index:
        made = b.along(name, [turned_back(c, x, axis)], axis)
        made = b.sub(b.sub(b.number(x.shape[axis], "i64", made.shape), made), 1)
    else:
        made = b.along(name, [x], axis)
    return made if keepdims else b.squeeze(made, [axis])


def turned_back(c: Context, x: Tensor, axis: int) -> Tensor:
    """With one axis in the opposite order."""
    starts: list[Any] = [0] * x.rank
    steps = [1] * x.rank
    if isinstance(x.shape[axis], int) and x.shape[axis] == 0:
        return x
    starts[axis], steps[axis] = x.shape[axis] - 1, -1
    return c.b.slice(x, starts, x.shape, steps)


@op("CumSum", "CumProd", structure=["axis"])
def running(c: Context, x: Tensor, axis: Any, exclusive: int = 0, reverse: int = 0) -> Tensor:
    b = c.b
    along = c.axis(int(axis.reshape(-1)[0]), x.rank)
    name, first = ("add", 0) if c.node.op_type == "CumSum" else ("mul", 1)
    if reverse:
        x = turned_back(c, x, along)
    made = b.cast(b.along("scan", [b.wide(x)], along, name), x.dtype)
    if exclusive:
        size = x.shape[along]
        if isinstance(size, int) and size == 0:
            return x
        shape = [size - 1 if k == along else s for k, s in enumerate(x.shape)]
        starts = [int(k == along) for k in range(x.rank)]
        kept = b.slice(made, [0] * x.rank, shape)
        made = b.update(b.constant(first, x.dtype, x.shape), kept, starts)
    return turned_back(c, made, along) if reverse else made


def softmax_along(b: Builder, x: Tensor, axis: int, logarithm: bool = False) -> Tensor:
    dtype, wide = x.dtype, b.wide(x)
    most = b.reduce("max_or_lowest", wide, [axis])
    apart = b.sub(wide, b.broadcast(most, wide.shape))
    powers = b.exp(apart)
    total = b.reduce("sum", powers, [axis])
    if logarithm:
        return b.cast(b.sub(apart, b.broadcast(b.log(total), wide.shape)), dtype)
    return b.cast(b.div(powers, b.broadcast(total, wide.shape)), dtype)


def hardmax_along(b: Builder, x: Tensor, axis: int) -> Tensor:
    places = b.along("argmax", [x], axis)
    here = b.iota("i64", x.shape, axis)
    return b.cast(b.eq(here, b.broadcast(places, x.shape)), x.dtype)


def _along(c: Context, x: Tensor, axis: int) -> Tensor:
    kind = c.node.op_type
    if kind == "Hardmax":
        return hardmax_along(c.b, x, axis)
    return softmax_along(c.b, x, axis, kind == "LogSoftmax")


@op("Softmax", "LogSoftmax", "Hardmax", since=13)
def softmax(c: Context, x: Tensor, axis: int = -1) -> Tensor:
    return _along(c, x, c.axis(axis, x.rank))


@op("Softmax", "LogSoftmax", "Hardmax")
def softmax_of_rows(c: Context, x: Tensor, axis: int = 1) -> Tensor:
    """Of all axes from one on as a single one."""
    axis = c.axis(axis, x.rank)
    flat = c.b.reshape(x, [product_of(x.shape[:axis]), product_of(x.shape[axis:])])
    return c.b.reshape(_along(c, flat, 1), x.shape)
