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
    x, w = tensor(lower, input), tensor(lower, weight)
    if x.rank != w.rank or x.dtype != w.dtype:
        raise refuse(reasons.TORCH_FORM, "a convolution", "no batch, or two dtypes")
    parts = lower.indexing.plain(groups)
    if parts == 1:
        lower.torch_tensors.equal_sizes(x, 1, w, 1)
    places = [_of_each(lower.indexing.plain(each)) for each in (stride, padding, dilation)]
    require_fit(lower, x, w, places)
    builder_of(lower).is_in_order = seen.is_contiguous
    nodes = node_of(lower, x), node_of(lower, w), maybe(lower, bias)
    made = lowered(lower, rows.convolution, [(seen.dtype, [])], *nodes, *places, False, [], parts)
    return result(lower, made)


def require_fit(lower: TorchPart, x: Tensor, w: Tensor, places: list[list[Any]]) -> None:
    """The path is for arrays in which a window has room: for others torch has an error."""
    axes = x.rank - 2
    _, padding, dilation = (each * axes if len(each) == 1 else each for each in places)
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
