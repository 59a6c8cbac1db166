"""Convolutions of PyTorch."""

from __future__ import annotations

from typing import Any

import torch

from dvm import reasons
from dvm.magpy_capture.meanings.torch.layer import TorchPart
from dvm.magpy_capture.meanings.torch.operations.lowered import (
    builder_of,
    lowered,
    node_of,
    result,
    tensor,
)
from dvm.magpy_capture.meanings.torch.operations.products import NONE, maybe
from dvm.magpy_capture.path.spec import refuse
from dvm.magpy_capture.registry import means
from dvm.magpy_capture.values import Abstract, Literal, Tensor
from dvm.torch import convolutions as rows

ONE, NOTHING = Literal(1), Literal(0)


@means(torch.conv1d, torch.conv2d, torch.conv3d)
def convolution(
    lower: TorchPart,
    input: Abstract,
    weight: Abstract,
    bias: Abstract = NONE,
    stride: Abstract = ONE,
    padding: Abstract = NOTHING,
    dilation: Abstract = ONE,
    groups: Abstract = ONE,
    *,
    seen: Any,
) -> Tensor:
    parts = lower.indexing.plain(groups)
    places = [_of_each(lower.indexing.plain(each)) for each in (stride, padding, dilation)]
    x, w = tensor(lower, input), tensor(lower, weight)
    require_alike(x, w)
    if parts == 1:
        lower.torch_tensors.equal_sizes(x, 1, w, 1)
    require_fit(lower, x, w, places)
    return _made(lower, x, w, bias, places, False, [], parts, seen)


@means(torch.conv_transpose1d, torch.conv_transpose2d, torch.conv_transpose3d)
def transposed(
    lower: TorchPart,
    input: Abstract,
    weight: Abstract,
    bias: Abstract = NONE,
    stride: Abstract = ONE,
    padding: Abstract = NOTHING,
    output_padding: Abstract = NOTHING,
    groups: Abstract = ONE,
    dilation: Abstract = ONE,
    *,
    seen: Any,
) -> Tensor:
    parts = lower.indexing.plain(groups)
    given = (stride, padding, dilation, output_padding)
    *places, extra = [_of_each(lower.indexing.plain(each)) for each in given]
    x, w = tensor(lower, input), tensor(lower, weight)
    require_alike(x, w)
    lower.torch_tensors.equal_sizes(x, 1, w, 0)
    if any(zeros > 0 for zeros in places[1]):
        window = node_of(lower, w).shape[2:]
        require_left(lower, x, places, extra, window)
    return _made(lower, x, w, bias, places, True, extra, parts, seen)


def require_alike(x: Tensor, w: Tensor) -> None:
    if x.rank != w.rank or x.dtype != w.dtype:
        raise refuse(reasons.TORCH_FORM, "a convolution", "no batch, or two dtypes")


def _made(
    lower: TorchPart,
    x: Tensor,
    w: Tensor,
    bias: Abstract,
    places: list[list[Any]],
    is_transposed: bool,
    extra: list[Any],
    groups: int,
    seen: Any,
) -> Tensor:
    builder_of(lower).is_in_order = seen.is_contiguous
    nodes = node_of(lower, x), node_of(lower, w), maybe(lower, bias)
    form = [*nodes, *places, is_transposed, extra, groups]
    return result(lower, lowered(lower, rows.convolution, [(seen.dtype, [])], *form))


def require_left(
    lower: TorchPart,
    x: Tensor,
    places: list[list[Any]],
    extra: list[Any],
    window: Any,
) -> None:
    """The path is for arrays of which padding leaves something: for others torch has an error."""
    each = [_along(x.rank - 2, numbers) for numbers in (*places, extra)]
    for size, n, s, zeros, apart, more in zip(x.shape[2:], window, *each, strict=True):
        if not isinstance(n, int):
            continue  # which is no convolution of the Graph
        # (size - 1) * s + (n - 1) * apart + more + 1 - 2 * zeros is 1 at least.
        least = lower.graph.size(max(-(-(2 * zeros - more - (n - 1) * apart) // s) + 1, 0))
        if not lower.sizes.is_at_most(least, size):
            raise refuse(reasons.TORCH_FORM, "a convolution", "padding that leaves nothing")


def require_fit(lower: TorchPart, x: Tensor, w: Tensor, places: list[list[Any]]) -> None:
    """The path is for arrays in which a window has room: for others torch has an error."""
    _, padding, dilation = (_along(x.rank - 2, each) for each in places)
    window = node_of(lower, w).shape[2:]
    for size, zeros, n, apart in zip(x.shape[2:], padding, window, dilation, strict=True):
        if not isinstance(n, int):
            continue  # which is no convolution of the Graph
        least = lower.graph.size(max((n - 1) * apart + 1 - 2 * zeros, 0))
        if not lower.sizes.is_at_most(least, size):
            raise refuse(reasons.TORCH_FORM, "a convolution", "a window that does not fit")


def _of_each(numbers: Any) -> list[Any]:
    if isinstance(numbers, str):
        raise refuse(reasons.TORCH_FORM, "a convolution", "padding by name")
    return [numbers] if isinstance(numbers, int) else list(numbers)


def _along(axes: int, numbers: list[Any]) -> list[Any]:
    return numbers * axes if len(numbers) == 1 else numbers
