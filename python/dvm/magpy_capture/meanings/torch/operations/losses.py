"""Losses of classes, and norms of groups of channels."""

from __future__ import annotations

from typing import Any

import torch

from dvm import reasons
from dvm.magpy_capture.meanings.torch.layer import TorchPart
from dvm.magpy_capture.meanings.torch.operations.lowered import (
    lowered,
    node_of,
    result,
    sized,
    tensor,
)
from dvm.magpy_capture.meanings.torch.operations.products import maybe
from dvm.magpy_capture.path.spec import refuse
from dvm.magpy_capture.registry import means
from dvm.magpy_capture.tensors.fresh import c_order
from dvm.magpy_capture.values import Abstract, Literal, Tensor, is_none
from dvm.torch import indexing, norms, reductions

NONE, IGNORED = Literal(None), Literal(-100)


def of_classes(
    lower: TorchPart,
    input: Abstract,
    target: Abstract,
    weight: Abstract,
    reduction: Abstract,
    ignore_index: Abstract,
    *,
    seen: Any,
    of_scores: bool,
) -> Tensor:
    """A loss of a class for each row, or for each place behind the axis of classes.

    of_scores: whether the logarithms of the input's softmax are meant.
    """
    x, places = tensor(lower, input), tensor(lower, target)
    if x.rank < 2 or places.rank != x.rank - 1 or not places.is_integer:
        raise refuse(reasons.TORCH_FORM, "a loss of classes", "one target, or chances")
    for axis in range(places.rank):
        lower.torch_tensors.equal_sizes(x, axis + (axis > 0), places, axis)
    if not is_none(weight):
        lower.torch_tensors.equal_sizes(x, 1, tensor(lower, weight), 0)
    how, ignored = lower.indexing.plain(reduction), lower.indexing.plain(ignore_index)

    def row(b: Any, x: Any, places: Any, weight: Any) -> Any:
        scores = reductions.log_softmax(b, x, 1) if of_scores else x
        return indexing.nll_loss(b, scores, places, weight, how, ignored)

    given = node_of(lower, x), node_of(lower, places), maybe(lower, weight)
    made, _ = lowered(lower, row, [(seen.dtype, [])], *given)
    return result(lower, made)


@means(torch._C._nn.nll_loss_nd)
def nll_loss(
    lower: TorchPart,
    input: Abstract,
    target: Abstract,
    weight: Abstract,
    reduction: Abstract,
    ignore_index: Abstract = IGNORED,
    *,
    seen: Any,
) -> Tensor:
    given = weight, reduction, ignore_index
    return of_classes(lower, input, target, *given, seen=seen, of_scores=False)


@means(torch._C._nn.cross_entropy_loss)
def cross_entropy(
    lower: TorchPart,
    input: Abstract,
    target: Abstract,
    weight: Abstract,
    reduction: Abstract,
    ignore_index: Abstract = IGNORED,
    label_smoothing: Abstract = Literal(0.0),
    *,
    seen: Any,
) -> Tensor:
    if lower.indexing.plain(label_smoothing):
        raise refuse(reasons.TORCH_FORM, "cross_entropy", "label_smoothing")
    given = weight, reduction, ignore_index
    return of_classes(lower, input, target, *given, seen=seen, of_scores=True)


@means(torch.group_norm)
def group_norm(
    lower: TorchPart,
    input: Abstract,
    num_groups: Abstract,
    weight: Abstract = NONE,
    bias: Abstract = NONE,
    eps: Abstract = Literal(1e-5),
    cudnn_enabled: Abstract = Literal(True),
    *,
    seen: Any,
) -> Tensor:
    x, groups = tensor(lower, input), lower.indexing.integer(num_groups)
    if x.rank < 2 or x.order != c_order(x.rank):
        raise refuse(reasons.TORCH_ORDER, "group_norm")
    affine = [tensor(lower, each) for each in (weight, bias) if not is_none(each)]
    for each in affine:
        lower.torch_tensors.equal_sizes(x, 1, each, 0)
    if any(each.dtype != x.dtype for each in affine):
        raise refuse(reasons.TORCH_FORM, "group_norm", "two dtypes")
    if any(lower.sizes.is_size(size, 0) for size in x.shape):
        raise refuse(reasons.TORCH_FORM, "group_norm", "no elements")
    flat = sized([*x.shape[:2], lower.graph.product(x.shape[2:])])
    sizes = *flat, groups, lower.indexing.plain(eps)
    nodes = node_of(lower, x), maybe(lower, weight), maybe(lower, bias)
    expected: Any = [(seen.dtype, [])] * 3
    return result(lower, lowered(lower, norms.group_norm, expected, *nodes, *sizes)[0])
