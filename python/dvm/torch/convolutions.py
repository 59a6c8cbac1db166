"""Lowering of convolutions: windows of an array, times weights as a matrix."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

from dvm.building.convolutions import convolved, fixed, transposed
from dvm.torch.builder import FLOATS, Builder, NotCompiled, Tensor, wide_dtype


def convolution(
    b: Builder,
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    stride: Sequence[Any],
    padding: Sequence[Any],
    dilation: Sequence[Any],
    is_transposed: bool,
    output_padding: Sequence[Any],
    groups: int,
) -> Tensor:
    """Of x [batch, channels, sizes..]; rounded once where they are halves, behind the bias."""
    axes = weight.rank - 2
    places = [_of_each(each, axes) for each in (stride, padding, dilation)]
    told = [*weight.shape, *itertools.chain(*places)]
    if x.dtype not in FLOATS or not all(isinstance(n, int) for n in told[2:]):
        raise NotCompiled("a convolution of sizes that a call tells")
    if x.rank != axes + 2 or not b.is_in_order():
        raise NotCompiled("channels last, or no batch")
    if groups > 1 and not all(isinstance(n, int) for n in [*told[:2], x.shape[1]]):
        raise NotCompiled("groups of a number of channels that a call tells")
    strides, zeros, dilations = places
    wide = b.out.dtype if bias is None else wide_dtype(b.out.dtype)
    if is_transposed:
        extra = _of_each(output_padding, axes)
        made = _transposed(b, x, weight, wide, strides, zeros, dilations, extra, groups)
    else:
        made = convolved(b, x, weight, wide, strides, dilations, zeros * 2, groups)
    if bias is not None:
        added = b.reshape(b.cast(bias, wide), [bias.shape[0], *[1] * axes])
        made = b.add(made, b.broadcast(added, made.shape))
    return b.cast(made, b.out.dtype)


def _transposed(
    b: Builder,
    x: Tensor,
    weight: Tensor,
    dtype: str,
    strides: list[int],
    zeros: list[int],
    dilations: list[int],
    extra: list[int],
    groups: int,
) -> Tensor:
    reach = [
        d * (k - 1) + e + 1 - p
        for k, d, e, p in zip(fixed(weight.shape[2:]), dilations, extra, zeros, strict=True)
    ]
    sizes = [
        (n - 1) * s + r - p for n, s, r, p in zip(x.shape[2:], strides, reach, zeros, strict=True)
    ]
    return transposed(b, x, weight, dtype, strides, dilations, zeros, sizes, reach, groups)


def _of_each(numbers: Sequence[int], axes: int) -> list[int]:
    """One number stands for those of all axes."""
    return list(numbers) * axes if len(numbers) == 1 else list(numbers)
