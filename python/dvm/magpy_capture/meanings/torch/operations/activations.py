"""Activations that take their operands from along an axis: of channels, and of halves."""

from __future__ import annotations

from typing import Any

import torch

from dvm import reasons
from dvm.building.activations import sigmoid
from dvm.magpy_capture.meanings.torch.layer import TorchPart
from dvm.magpy_capture.meanings.torch.operations.lowered import pointwise, tensor
from dvm.magpy_capture.meanings.torch.operations.shapes import parts_of
from dvm.magpy_capture.path.spec import refuse
from dvm.magpy_capture.registry import means
from dvm.magpy_capture.values import Abstract, Literal, Tensor
from dvm.torch import pointwise as rows
from dvm.torch.builder import wide_dtype


@means(torch.prelu, torch.Tensor.prelu)
def prelu(lower: TorchPart, input: Abstract, weight: Abstract, *, seen: Any) -> Tensor:
    """One slope for all, or one for each channel, along the second axis."""
    x, slopes = tensor(lower, input), tensor(lower, weight)
    if slopes.rank != 1 or x.rank == 0:
        raise refuse(reasons.TORCH_FORM, "prelu", "a number")
    if lower.sizes.observed(slopes.shape[0]) != 1:
        lower.torch_tensors.equal_sizes(x, min(1, x.rank - 1), slopes, 0)
    one = lower.graph.size(1)
    shape = [slopes.shape[0] if axis == min(1, x.rank - 1) else one for axis in range(x.rank)]

    def row(b: Any, x: Any, slopes: Any) -> Any:
        x, slopes = (rows.operand(b, each, wide_dtype(b.out.dtype)) for each in (x, slopes))
        zero = b.constant(0, x.dtype, x.shape)
        return b.cast(b.select(b.gt(x, zero), x, b.mul(x, slopes)), b.out.dtype)

    return pointwise(lower, row, seen, x, lower.views.reshaped(slopes, shape))


@means(torch._C._nn.glu)
def glu(lower: TorchPart, input: Abstract, dim: Abstract = Literal(-1), *, seen: Any) -> Tensor:
    x = tensor(lower, input)
    axis = lower.torch_tensors.axis(dim, x.rank)
    half = x.shape[axis] // 2
    lower.sizes.require_equal(half * 2, x.shape[axis])
    value, gate = parts_of(lower, x, axis, [half]).elements

    def row(b: Any, value: Any, gate: Any) -> Any:
        value, gate = (rows.operand(b, each, wide_dtype(b.out.dtype)) for each in (value, gate))
        return b.cast(b.mul(value, sigmoid(b, gate)), b.out.dtype)

    return pointwise(lower, row, seen, value, gate)
