"""Pools: extremes, means and norms of windows."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

from dvm.building.builder import Size, Tensor
from dvm.onnx.context import Context
from dvm.onnx.ops.convolution import automatic_pads, extents, windows
from dvm.onnx.ops.moves import padded
from dvm.onnx.registry import op
from dvm.onnx.values import NUMPY


class Form:
    """Where the windows of a pool lie."""

    def __init__(
        self, c: Context, x: Tensor, kernel: Sequence[int], strides: Any, dilations: Any,
        auto_pad: str, pads: Any, ceil_mode: int,
    ) -> None:  # fmt: skip
        rank = x.rank - 2
        self.c = c
        self.kernel = list(kernel)
        self.strides = strides or [1] * rank
        self.dilations = dilations or [1] * rank
        sizes = x.shape[2:]
        self.before, self.after = automatic_pads(
            c, sizes, self.kernel, self.strides, self.dilations, auto_pad, pads
        )
        whole = [n + p + q for n, p, q in zip(sizes, self.before, self.after, strict=True)]
        self.out = extents(whole, self.kernel, self.strides, self.dilations)
        self.beyond: list[Size] = [0] * rank
        if ceil_mode:
            for k, size in enumerate(whole):
                stride = self.strides[k]
                reach = self.dilations[k] * (self.kernel[k] - 1) + 1
                count = (size - reach + stride - 1) // stride + 1
                # A window that begins behind the elements and the padding before them is none.
                begun = (sizes[k] + self.before[k] - 1) // stride + 1
                self.out[k] = c.least(count, begun)
                self.beyond[k] = c.most((self.out[k] - 1) * stride + reach - size, 0)

    def padded(self, x: Tensor, fill: Any) -> Tensor:
        more = [a + q for a, q in zip(self.after, self.beyond, strict=True)]
        b = self.c.b
        return padded(self.c, x, [0, 0, *self.before], [0, 0, *more], b.constant(fill, x.dtype))

    def windows(self, x: Tensor) -> Iterator[Tensor]:
        return windows(self.c, x, self.kernel, self.strides, self.dilations, self.out)

    def combined(self, op_name: str, x: Tensor) -> Tensor:
        return functools.reduce(partial(self.c.b.elementwise, op_name), self.windows(x))

    def greatest(self, x: Tensor) -> Tensor:
        """Maxima axis by axis: less than for each element of a window, and whole lines first."""
        for k, size in enumerate(self.kernel):
            axes = range(len(self.kernel))
            kernel = [size if a == k else 1 for a in axes]
            strides = [self.strides[k] if a == k else 1 for a in axes]
            out = [self.out[k] if a == k else x.shape[a + 2] for a in axes]
            parts = windows(self.c, x, kernel, strides, self.dilations, out)
            x = functools.reduce(partial(self.c.b.elementwise, "maximum"), parts)
        return x


def lowest(dtype: str) -> Any:
    if dtype in ("f16", "f32", "f64", "bf16"):
        return -np.inf
    return 0 if dtype == "bool" else int(np.iinfo(NUMPY[dtype]).min)


@op("MaxPool")
def max_pool(
    c: Context, x: Tensor, auto_pad: str = "NOTSET", ceil_mode: int = 0, dilations: Any = None,
    kernel_shape: Any = None, pads: Any = None, storage_order: int = 0, strides: Any = None,
) -> Any:  # fmt: skip
    b = c.b
    form = Form(c, x, kernel_shape, strides, dilations, auto_pad, pads, ceil_mode)
    full = form.padded(x, lowest(x.dtype))
    if not c.wants(1):
        return form.greatest(full)
    # Of each window the element and its place, the first of equals.
    line = b.constant(0, "i64", x.shape)
    axes = list(range(x.rank))
    if storage_order:  # columns first
        axes = [*axes[:2], *axes[2:][::-1]]
    for axis in axes:
        step = b.number(x.shape[axis], "i64", x.shape)
        line = b.add(b.mul(line, step), b.iota("i64", x.shape, axis))
    places = form.padded(line, -1)
    made = at = None
    for part, place in zip(form.windows(full), form.windows(places), strict=True):
        if made is None or at is None:
            made, at = part, place
            continue
        is_more = b.logical_or(b.gt(part, made), b.lt(at, b.constant(0, "i64", at.shape)))
        made, at = b.select(is_more, part, made), b.select(is_more, place, at)
    return made, at


@op("AveragePool")
def average_pool(
    c: Context, x: Tensor, auto_pad: str = "NOTSET", ceil_mode: int = 0,
    count_include_pad: int = 0, dilations: Any = None, kernel_shape: Any = None, pads: Any = None,
    strides: Any = None,
) -> Tensor:  # fmt: skip
    b = c.b
    form = Form(c, x, kernel_shape, strides, dilations, auto_pad, pads, ceil_mode)
    wide = b.wide(x)
    total = form.combined("add", form.padded(wide, 0))
    is_whole = all(isinstance(p, int) and p == 0 for p in (*form.before, *form.after, *form.beyond))
    if is_whole:
        return b.cast(b.div(total, int(np.prod(form.kernel))), x.dtype)
    ones = b.constant(1, wide.dtype, [1, 1, *x.shape[2:]])
    if count_include_pad:
        ones = padded(c, ones, [0, 0, *form.before], [0, 0, *form.after], b.constant(1, wide.dtype))
        ones = padded(c, ones, [0] * x.rank, [0, 0, *form.beyond], b.constant(0, wide.dtype))
    else:
        ones = form.padded(ones, 0)
    count = form.combined("add", ones)
    return b.cast(b.div(total, b.broadcast(count, total.shape)), x.dtype)


@op("LpPool")
def norm_pool(
    c: Context, x: Tensor, auto_pad: str = "NOTSET", ceil_mode: int = 0, dilations: Any = None,
    kernel_shape: Any = None, p: float = 2, pads: Any = None, strides: Any = None,
) -> Tensor:  # fmt: skip
    b = c.b
    form = Form(c, x, kernel_shape, strides, dilations, auto_pad, pads, ceil_mode)
    powers = b.power(b.abs(b.wide(x)), p)
    total = form.combined("add", form.padded(powers, 0))
    return b.cast(b.power(total, 1 / p), x.dtype)


@op("GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool")
def global_pool(c: Context, x: Tensor, p: float = 2) -> Tensor:
    b = c.b
    axes = list(range(2, x.rank))
    kind = c.node.op_type
    if kind == "GlobalMaxPool":
        return b.reduce("max_or_lowest", x, axes)
    if kind == "GlobalAveragePool":
        return b.cast(b.mean(b.wide(x), axes), x.dtype)
    total = b.reduce("sum", b.power(b.abs(b.wide(x)), p), axes)
    return b.cast(b.power(total, 1 / p), x.dtype)


@op("MaxUnpool", structure=["shape"])
def max_unpool(
    c: Context, x: Tensor, places: Tensor, shape: Any = None, kernel_shape: Any = None,
    pads: Any = None, strides: Any = None,
) -> Tensor:  # fmt: skip
    b = c.b
    rank = x.rank - 2
    strides, pads = strides or [1] * rank, pads or [0] * (2 * rank)
    sizes: list[Size] = [
        (n - 1) * strides[k] + kernel_shape[k] - pads[k] - pads[k + rank]
        for k, n in enumerate(x.shape[2:])
    ]
    own: list[Size] = [*x.shape[:2], *sizes]
    from dvm.onnx.values import product_of

    line = b.constant(0, x.dtype, [product_of(own)])
    count = product_of(x.shape)
    if shape is not None:
        # Places are those of the smaller array, which lies in the corner of the other.
        wanted = [int(n) for n in shape]
        inner = _unpooled(c, x, places, own, line, count)
        return b.update(b.constant(0, x.dtype, wanted), inner, [0] * x.rank)
    return _unpooled(c, x, places, own, line, count)


def _unpooled(
    c: Context, x: Tensor, places: Tensor, shape: Sequence[Size], line: Tensor, count: Size
) -> Tensor:
    b = c.b
    operands = [line, b.reshape(places, [count]), b.reshape(x, [count])]
    return b.reshape(b.along("put_along", operands, 0), shape)
