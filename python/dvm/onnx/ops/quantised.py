"""Quantised operators, by decomposition."""

from __future__ import annotations

from typing import Any

import numpy as np

from dvm.building.builder import Tensor, is_same
from dvm.onnx.context import Context
from dvm.onnx.ops.convolution import automatic_pads, conv, less_zero
from dvm.onnx.ops.products import matmul_of
from dvm.onnx.registry import op
from dvm.onnx.values import DTYPES, NUMPY, Refused


def spread(c: Context, t: Tensor, x: Tensor, axis: int, block: int) -> Tensor:
    """A scale or zero point for all, for each element of an axis, or for blocks along it."""
    b = c.b
    if t.rank == 0 or (t.rank == 1 and is_same(t.shape[0], 1)):
        return b.broadcast(b.reshape(t, []), x.shape)
    axis = c.axis(axis, x.rank)
    if block:
        apart = b.unsqueeze(t, axis + 1)
        shape = [*t.shape[: axis + 1], block, *t.shape[axis + 1 :]]
        wide = [*t.shape[:axis], t.shape[axis] * block, *t.shape[axis + 1 :]]
        made = b.reshape(b.broadcast(apart, shape), wide)
        return b.slice(made, [0] * x.rank, x.shape)
    line = b.reshape(t, [*[1] * axis, t.shape[0], *[1] * (x.rank - axis - 1)])
    return b.broadcast(line, x.shape)


def saturated(c: Context, x: Tensor, dtype: str) -> Tensor:
    """Whole floats as integers, those beyond as the nearest one."""
    ends = np.iinfo(NUMPY[dtype])
    b = c.b
    low, high = (b.constant(int(e), x.dtype, x.shape) for e in (ends.min, ends.max))
    return b.cast(b.minimum(b.maximum(x, low), high), dtype)


@op("QuantizeLinear")
def quantize(
    c: Context, x: Tensor, scale: Tensor, zero: Tensor | None = None, axis: int = 1,
    block_size: int = 0, output_dtype: int = 0, precision: int = 0, saturate: int = 1,
) -> Tensor:  # fmt: skip
    b = c.b
    if zero is not None:
        dtype = zero.dtype
    elif output_dtype:
        if output_dtype not in DTYPES:
            raise Refused(f"elements of type {output_dtype}")
        dtype = DTYPES[output_dtype]
    else:
        dtype = "u8"
    wide = b.cast(x, "f32") if x.dtype != "f64" else x
    if not x.is_float or scale.dtype != x.dtype:
        wide = b.cast(x, "f32")
    made = b.rint(b.div(wide, b.cast(spread(c, scale, x, axis, block_size), wide.dtype)))
    if zero is not None:
        made = b.add(made, b.cast(spread(c, zero, x, axis, block_size), wide.dtype))
    return saturated(c, made, dtype)


@op("DequantizeLinear")
def dequantize(
    c: Context, x: Tensor, scale: Tensor, zero: Tensor | None = None, axis: int = 1,
    block_size: int = 0, output_dtype: int = 0,
) -> Tensor:  # fmt: skip
    b = c.b
    wide = b.cast(x, "i32")
    if zero is not None:
        wide = b.sub(wide, b.cast(spread(c, zero, x, axis, block_size), "i32"))
    dtype = DTYPES[output_dtype] if output_dtype else scale.dtype
    factor = spread(c, b.wide(scale), x, axis, block_size)
    return b.cast(b.mul(b.cast(wide, factor.dtype), factor), dtype)


@op("DynamicQuantizeLinear")
def dynamic_quantize(c: Context, x: Tensor) -> tuple[Tensor, ...]:
    b = c.b
    axes = list(range(x.rank))
    zero = b.constant(0, "f32")
    low = b.minimum(b.reshape(b.reduce("min_or_highest", x, axes), []), zero)
    high = b.maximum(b.reshape(b.reduce("max_or_lowest", x, axes), []), zero)
    scale = b.div(b.sub(high, low), 255)
    nothing = b.eq(scale, b.constant(0, "f32"))
    safe = b.select(nothing, b.constant(1, "f32"), scale)
    point = saturated(c, b.rint(b.sub(0, b.div(low, safe))), "u8")
    made = b.rint(b.div(x, b.broadcast(safe, x.shape)))
    made = b.add(made, b.broadcast(b.cast(point, "f32"), x.shape))
    return saturated(c, made, "u8"), scale, point


@op("MatMulInteger")
def matmul_integer(
    c: Context, x: Tensor, y: Tensor, x_zero: Tensor | None = None, y_zero: Tensor | None = None
) -> Tensor:
    if {x.dtype, y.dtype} == {"i8"} and x_zero is None and y_zero is None:
        return matmul_of(c, x, y, "i32")
    left = less_zero(c, x, _of_rows(c, x_zero, x), max(x.rank - 2, 0))
    right = less_zero(c, y, y_zero, max(y.rank - 1, 0))
    return matmul_of(c, left, right)


def _of_rows(c: Context, zero: Tensor | None, x: Tensor) -> Tensor | None:
    return c.b.reshape(zero, [zero.shape[-1]]) if zero is not None and zero.rank > 1 else zero


def _requantised(
    c: Context, whole: Tensor, scales: list[Tensor], zero: Tensor, axis: int
) -> Tensor:
    """Sums of products of integers, by the two scales of their factors over that of the result."""
    b = c.b
    first, second, made_scale = (b.cast(s, "f32") for s in scales)

    def over(t: Tensor) -> Tensor:
        return spread(c, t, whole, axis, 0)

    factor = b.div(b.mul(over(first), over(second)), over(made_scale))
    made = b.rint(b.mul(b.cast(whole, "f32"), factor))
    return saturated(c, b.add(made, b.cast(over(zero), "f32")), zero.dtype)


@op("QLinearMatMul")
def quantised_matmul(
    c: Context, x: Tensor, x_scale: Tensor, x_zero: Tensor, y: Tensor, y_scale: Tensor,
    y_zero: Tensor, made_scale: Tensor, made_zero: Tensor,
) -> Tensor:  # fmt: skip
    whole = matmul_of(
        c, less_zero(c, x, x_zero, max(x.rank - 2, 0)), less_zero(c, y, y_zero, y.rank - 1)
    )
    return _requantised(c, whole, [x_scale, y_scale, made_scale], made_zero, whole.rank - 1)


@op("QLinearConv")
def quantised_conv(
    c: Context, x: Tensor, x_scale: Tensor, x_zero: Tensor, w: Tensor, w_scale: Tensor,
    w_zero: Tensor, made_scale: Tensor, made_zero: Tensor, bias: Tensor | None = None,
    auto_pad: str = "NOTSET", dilations: Any = None, group: int = 1, kernel_shape: Any = None,
    pads: Any = None, strides: Any = None,
) -> Tensor:  # fmt: skip
    rank = x.rank - 2
    strides, dilations = strides or [1] * rank, dilations or [1] * rank
    kernel = [c.fixed(size) for size in w.shape[2:]]
    ends = automatic_pads(c, x.shape[2:], kernel, strides, dilations, auto_pad, pads)
    left, right = less_zero(c, x, x_zero), less_zero(c, w, w_zero)
    whole = conv(c, left, right, strides, dilations, *ends, group)
    if bias is not None:
        column = c.b.reshape(bias, [1, bias.shape[0], *[1] * rank])
        whole = c.b.add(whole, c.b.broadcast(column, whole.shape))
    return _requantised(c, whole, [x_scale, w_scale, made_scale], made_zero, 1)
