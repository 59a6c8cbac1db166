"""Convolutions, as products of matrices of windows."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from dvm.building.builder import Size, Tensor, is_same
from dvm.building.convolutions import MOST_WINDOW_AXES, convolved, transposed
from dvm.onnx.context import Context
from dvm.onnx.ops.moves import padded
from dvm.onnx.ops.products import multiplied
from dvm.onnx.registry import op
from dvm.onnx.values import product_of


def automatic_pads(
    c: Context, sizes: Sequence[Size], kernel: Sequence[int], strides: Sequence[int],
    dilations: Sequence[int], auto_pad: str, pads: Sequence[int] | None,
) -> tuple[list[Size], list[Size]]:  # fmt: skip
    """Return how many elements are added before and behind each axis."""
    rank = len(sizes)
    if auto_pad in ("NOTSET", ""):
        given = list(pads) if pads else [0] * (2 * rank)
        return list(given[:rank]), list(given[rank:])
    before: list[Size] = [0] * rank
    after: list[Size] = [0] * rank
    if auto_pad == "VALID":
        return before, after
    for k, size in enumerate(sizes):
        reach = dilations[k] * (kernel[k] - 1) + 1
        count = (size + strides[k] - 1) // strides[k]
        total = c.most((count - 1) * strides[k] + reach - size, 0)
        low = total // 2 if auto_pad == "SAME_UPPER" else (total + 1) // 2
        before[k], after[k] = low, total - low
    return before, after


def extents(
    sizes: Sequence[Size], kernel: Sequence[int], strides: Sequence[int], dilations: Sequence[int]
) -> list[Size]:
    """Return how many windows there are along axes that are padded already."""
    made: list[Size] = []
    for size, k, stride, dilation in zip(sizes, kernel, strides, dilations, strict=True):
        span = size - (dilation * (k - 1) + 1)
        made.append((span if stride == 1 else span // stride) + 1)
    return made


def windows(
    c: Context, x: Tensor, kernel: Sequence[int], strides: Sequence[int],
    dilations: Sequence[int], out: Sequence[Size],
) -> Iterator[Tensor]:  # fmt: skip
    """The elements at each position of a kernel, of x[n, c, ..], in C order of positions."""
    for position in itertools.product(*map(range, kernel)):
        starts = [0, 0, *(p * d for p, d in zip(position, dilations, strict=True))]
        shape = [*x.shape[:2], *out]
        if all(s == 0 for s in starts) and all(map(is_same, shape, x.shape)):
            yield x
        else:
            yield c.b.slice(x, starts, shape, [1, 1, *strides])


def conv(
    c: Context, x: Tensor, w: Tensor, strides: Sequence[int], dilations: Sequence[int],
    before: Sequence[Size], after: Sequence[Size], groups: int, fill: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """x[n, c, ..] with w[m, c / groups, ..]; padded with zeros, or `fill`."""
    b = c.b
    kernel = [c.fixed(size) for size in w.shape[2:]]
    m, each = c.fixed(w.shape[0]), c.fixed(w.shape[1])
    zeros = [p for p in (*before, *after) if isinstance(p, int) and p >= 0]
    if x.is_float and fill is None and len(zeros) == 2 * len(kernel) <= 2 * MOST_WINDOW_AXES:
        return convolved(b, x, w, x.dtype, strides, dilations, zeros, groups)
    fill = b.constant(0, x.dtype) if fill is None else fill
    x = padded(c, x, [0, 0, *before], [0, 0, *after], fill)
    batch = x.shape[0]
    out = extents(x.shape[2:], kernel, strides, dilations)
    places, count = product_of(out), int(np.prod(kernel))
    parts = list(windows(c, x, kernel, strides, dilations, out))
    channels = each * groups
    if count == 1:
        rows = b.reshape(parts[0], [batch, channels, places])
    else:
        rows = b.wrap(b.graph.empty(x.dtype, [batch, channels, count, *out]))
        for k, part in enumerate(parts):
            apart = b.reshape(part, [batch, channels, 1, *out])
            rows = b.update(rows, apart, [0, 0, k, *[0] * len(out)])
    if groups == 1:
        rows = b.reshape(rows, [batch, channels * count, places])
        left = b.reshape(w, [m, each * count])
        made = multiplied(c, b.broadcast(left, [batch, m, each * count]), rows)
    else:
        rows = b.reshape(rows, [batch, groups, each * count, places])
        left = b.reshape(w, [1, groups, m // groups, each * count])
        made = multiplied(c, b.broadcast(left, [batch, *left.shape[1:]]), rows)
    return b.reshape(made, [batch, m, *out])


def _plain_form(
    c: Context, x: Tensor, w: Tensor, strides: Any, dilations: Any, auto_pad: str, pads: Any
) -> tuple[list[int], list[int], list[Size], list[Size]]:
    rank = x.rank - 2
    strides = strides or [1] * rank
    dilations = dilations or [1] * rank
    kernel = [c.fixed(size) for size in w.shape[2:]]
    before, after = automatic_pads(c, x.shape[2:], kernel, strides, dilations, auto_pad, pads)
    return strides, dilations, before, after


def with_bias(c: Context, made: Tensor, bias: Tensor | None) -> Tensor:
    if bias is None:
        return made
    column = c.b.reshape(bias, [1, made.shape[1], *[1] * (made.rank - 2)])
    return c.b.add(made, c.b.broadcast(column, made.shape))


@op("Conv")
def convolution(
    c: Context, x: Tensor, w: Tensor, bias: Tensor | None = None, auto_pad: str = "NOTSET",
    dilations: Any = None, group: int = 1, kernel_shape: Any = None, pads: Any = None,
    strides: Any = None,
) -> Tensor:  # fmt: skip
    form = _plain_form(c, x, w, strides, dilations, auto_pad, pads)
    return with_bias(c, conv(c, x, w, *form, group), bias)


@op("ConvInteger")
def convolution_of_integers(
    c: Context, x: Tensor, w: Tensor, x_zero: Tensor | None = None, w_zero: Tensor | None = None,
    auto_pad: str = "NOTSET", dilations: Any = None, group: int = 1, kernel_shape: Any = None,
    pads: Any = None, strides: Any = None,
) -> Tensor:  # fmt: skip
    form = _plain_form(c, x, w, strides, dilations, auto_pad, pads)
    return conv(c, less_zero(c, x, x_zero), less_zero(c, w, w_zero), *form, group)


def less_zero(c: Context, x: Tensor, zero: Tensor | None, axis: int = 0) -> Tensor:
    """Integers of 8 bits less their zero point, in i32; one for each element of an axis, maybe."""
    b = c.b
    wide = b.cast(x, "i32")
    if zero is None:
        return wide
    zero = b.cast(zero, "i32")
    if zero.rank == 1 and not is_same(zero.shape[0], 1):
        zero = b.reshape(zero, [*[1] * axis, zero.shape[0], *[1] * (x.rank - axis - 1)])
    elif zero.rank == 1:
        zero = b.reshape(zero, [])
    return b.sub(wide, b.broadcast(zero, x.shape))


@op("ConvTranspose")
def transposed_convolution(
    c: Context, x: Tensor, w: Tensor, bias: Tensor | None = None, auto_pad: str = "NOTSET",
    dilations: Any = None, group: int = 1, kernel_shape: Any = None, output_padding: Any = None,
    output_shape: Any = None, pads: Any = None, strides: Any = None,
) -> Tensor:  # fmt: skip
    b = c.b
    rank = x.rank - 2
    strides, dilations = strides or [1] * rank, dilations or [1] * rank
    extra = output_padding or [0] * rank
    kernel = [c.fixed(size) for size in w.shape[2:]]
    reach = [d * (k - 1) for k, d in zip(kernel, dilations, strict=True)]
    full = [s * (n - 1) + r + 1 + e for n, s, r, e in
            zip(x.shape[2:], strides, reach, extra, strict=True)]  # fmt: skip
    low: list[Size]
    high: list[Size]
    if output_shape is not None or auto_pad.startswith("SAME"):
        wanted = output_shape or [n * s for n, s in zip(x.shape[2:], strides, strict=True)]
        wanted = wanted[-rank:]
        low, high = [], []
        for size, want in zip(full, wanted, strict=True):
            total = size - want
            if isinstance(total, int) and total < 0:  # more behind than windows reach
                low.append(0)
                high.append(total)
                continue
            first = (total + 1) // 2 if auto_pad == "SAME_LOWER" else total // 2
            low.append(first)
            high.append(total - first)
    else:
        given = pads or [0] * (2 * rank)
        low, high = list(given[:rank]), list(given[rank:])
    sizes = [n - p - q for n, p, q in zip(full, low, high, strict=True)]
    start = [c.fixed(p) for p in low]
    beyond = [r + 1 + e - c.fixed(p) for r, e, p in zip(reach, extra, high, strict=True)]
    made = transposed(b, x, w, x.dtype, strides, dilations, start, sizes, beyond, group)
    return with_bias(c, made, bias)


@op("Col2Im", structure=["image", "block"])
def columns_to_image(
    c: Context, x: Tensor, image: Any, block: Any, dilations: Any = None, pads: Any = None,
    strides: Any = None,
) -> Tensor:  # fmt: skip
    """Sums of what windows have for each element of the image."""
    b = c.b
    rank = len(image)
    strides, dilations = strides or [1] * rank, dilations or [1] * rank
    pads = pads or [0] * (2 * rank)
    sizes = [int(n) + pads[k] + pads[k + rank] for k, n in enumerate(image)]
    kernel = [int(n) for n in block]
    out = [c.fixed(n) for n in extents(sizes, kernel, strides, dilations)]
    count = int(np.prod(kernel))
    channels = c.fixed(x.shape[1]) // count
    apart = b.reshape(x, [x.shape[0], channels, count, *out])
    made = b.constant(0, x.dtype, [x.shape[0], channels, *sizes])
    for k, position in enumerate(itertools.product(*map(range, kernel))):
        part = b.squeeze(b.narrow(apart, 2, k, 1), [2])
        starts = [0, 0, *(p * d for p, d in zip(position, dilations, strict=True))]
        there = b.slice(made, starts, part.shape, [1, 1, *strides])
        made = b.update(made, b.add(there, part), starts, [1, 1, *strides])
    low = [0, 0, *pads[:rank]]
    return b.slice(made, low, [x.shape[0], channels, *(int(n) for n in image)])
