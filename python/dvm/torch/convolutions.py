"""Lowering of convolutions: windows of an array, times weights as a matrix."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from dvm.torch.builder import FLOATS, Builder, NotCompiled, Tensor, wide_dtype
from dvm.torch.sizes import Size


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
    sizes = [*weight.shape[2:], *stride, *padding, *dilation]
    if is_transposed or x.dtype not in FLOATS or not all(isinstance(n, int) for n in sizes):
        raise NotCompiled("a transposed convolution, or one of sizes that a call tells")
    if x.rank != axes + 2 or not b.is_in_order():
        raise NotCompiled("channels last, or no batch")
    channels, *window = weight.shape[1:]
    is_told = not isinstance(channels * weight.shape[0], int) or x.shape[1] != channels * groups
    if groups > 1 and (channels == 1 or is_told):
        raise NotCompiled("groups of one channel, or of a number that a call tells")
    count = math.prod(window) * channels
    matrix = b.reshape(weight, [weight.shape[0], count])
    batch: list[Size] = [x.shape[0]]
    outputs: Size = weight.shape[0]
    if groups > 1:
        outputs = weight.shape[0] // groups
        batch.append(groups)
        x = b.reshape(x, [*batch, channels, *x.shape[2:]])
        matrix = b.reshape(matrix, [groups, outputs, count])
    matrix = b.broadcast(matrix, [*batch, outputs, count])
    wide = b.out.dtype if bias is None else wide_dtype(b.out.dtype)
    made = b.convolve(
        matrix,
        x,
        wide,
        window,
        _of_each(stride, axes),
        _of_each(dilation, axes),
        _of_each(padding, axes) * 2,
    )
    if groups > 1:
        made = b.reshape(made, [batch[0], weight.shape[0], *made.shape[3:]])
    if bias is not None:
        added = b.reshape(b.cast(bias, wide), [bias.shape[0], *[1] * axes])
        made = b.add(made, b.broadcast(added, made.shape))
    return b.cast(made, b.out.dtype)


def _of_each(numbers: Sequence[int], axes: int) -> list[int]:
    """One number stands for those of all axes."""
    return list(numbers) * axes if len(numbers) == 1 else list(numbers)
