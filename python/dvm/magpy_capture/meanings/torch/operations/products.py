"""Products of matrices, attention, normalisations and embeddings of PyTorch."""

from __future__ import annotations

from typing import Any

import torch
from torch.nn import functional

from dvm import _dvm, reasons
from dvm.magpy_capture.meanings.torch.layer import TorchPart
from dvm.magpy_capture.meanings.torch.operations.lowered import (
    arranged,
    builder_of,
    lowered,
    node_of,
    number_of,
    result,
    sized,
    tensor,
)
from dvm.magpy_capture.meanings.torch.rules import OPERATORS
from dvm.magpy_capture.path.spec import refuse
from dvm.magpy_capture.registry import means
from dvm.magpy_capture.tensors.fresh import c_order
from dvm.magpy_capture.values import Abstract, Literal, Tensor, is_none
from dvm.torch import indexing, norms
from dvm.torch import products as rows

NONE, FALSE, ZERO = Literal(None), Literal(False), Literal(0.0)


def maybe(lower: TorchPart, value: Abstract) -> Any:
    return None if is_none(value) else node_of(lower, tensor(lower, value))


@means(functional.linear)
def linear(
    lower: TorchPart, input: Abstract, weight: Abstract, bias: Abstract = NONE, *, seen: Any
) -> Tensor:
    x, w = tensor(lower, input), tensor(lower, weight)
    if w.rank != 2 or x.rank == 0 or x.dtype != w.dtype:
        raise refuse(reasons.TORCH_FORM, "linear", "a weight that is no matrix")
    lower.torch_tensors.equal_sizes(x, -1, w, 1)
    shape = [*x.shape[:-1], w.shape[0]]
    nodes = node_of(lower, x), node_of(lower, w), maybe(lower, bias)
    return result(lower, lowered(lower, rows.linear, [(seen.dtype, shape)], *nodes))


@means(torch.matmul, torch.Tensor.matmul, torch.mm, torch.Tensor.mm, torch.bmm, torch.Tensor.bmm)
@means(torch.mv, torch.Tensor.mv)
def matmul(lower: TorchPart, input: Abstract, other: Abstract, *, seen: Any) -> Tensor:
    """Matrices, stacks of them that are broadcast, and vectors."""
    x, y = tensor(lower, input), tensor(lower, other)
    if 0 in (x.rank, y.rank) or x.dtype != y.dtype:
        raise refuse(reasons.TORCH_FORM, "matmul", "a number, or two dtypes")
    lower.torch_tensors.equal_sizes(x, -1, y, -2 if y.rank > 1 else 0)
    b = builder_of(lower)
    one, two = node_of(lower, x), node_of(lower, y)
    left = b.unsqueeze(one, 0) if x.rank == 1 else one
    right = b.unsqueeze(two, 1) if y.rank == 1 else two
    if left.rank > 2 and right.rank == 2:  # rows of all matrices at once
        shape = [*x.shape[:-1], y.shape[1] if y.rank > 1 else lower.graph.size(1)]
        turned = b.transpose(right, [1, 0])
        made = lowered(lower, rows.linear, [(seen.dtype, shape)], left, turned)
    else:
        stacks = [[lower.graph.size(n) for n in each.shape[:-2]] for each in (left, right)]
        batch = lower.elementwise.broadcast_shape(stacks) if any(stacks) else []
        given = [b.broadcast(each, [*batch, *each.shape[-2:]]) for each in (left, right)]
        made = lowered(lower, rows.product, [(seen.dtype, [])], *given)
    gone = [made.rank - 2] * (x.rank == 1) + [made.rank - 1] * (y.rank == 1)
    return result(lower, b.squeeze(made, gone) if gone else made)


OPERATORS["binary", "@"] = matmul


@means(torch.baddbmm, torch.Tensor.baddbmm, torch.addmm, torch.Tensor.addmm)
def addmm(
    lower: TorchPart,
    input: Abstract,
    mat1: Abstract,
    mat2: Abstract,
    *,
    beta: Abstract = Literal(1),
    alpha: Abstract = Literal(1),
    seen: Any,
) -> Tensor:
    a, x, y = (tensor(lower, each) for each in (input, mat1, mat2))
    lower.torch_tensors.equal_sizes(x, -1, y, -2)
    shape = [*x.shape[:-1], y.shape[-1]]
    made = lowered(
        lower,
        rows.addmm,
        [(seen.dtype, shape)],
        *(node_of(lower, each) for each in (a, x, y)),
        beta=lower.indexing.plain(beta),
        alpha=lower.indexing.plain(alpha),
    )
    return result(lower, made)


@means(functional.scaled_dot_product_attention)
def attention(
    lower: TorchPart,
    query: Abstract,
    key: Abstract,
    value: Abstract,
    attn_mask: Abstract = NONE,
    dropout_p: Abstract = ZERO,
    is_causal: Abstract = FALSE,
    scale: Abstract = NONE,
    enable_gqa: Abstract = FALSE,
) -> Tensor:
    q, k, v = (tensor(lower, each) for each in (query, key, value))
    if any(t.rank != 4 for t in (q, k, v)) or lower.indexing.plain(dropout_p):
        raise refuse(reasons.TORCH_FORM, "attention", "dropout, or other than four axes")
    if not q.dtype.startswith(("float", "bfloat")):
        raise refuse(reasons.TORCH_FORM, "attention", q.dtype)
    shared = lower.indexing.plain(enable_gqa)
    if shared and not has_shared_heads(q, k):
        raise refuse(reasons.TORCH_FORM, "attention", "heads of any number")
    for axis in (0, 3) if shared else (0, 1, 3):
        lower.torch_tensors.equal_sizes(q, axis, k, axis)
    for axis in (0, 1, 2):
        lower.torch_tensors.equal_sizes(k, axis, v, axis)
    b = builder_of(lower)
    mask = maybe(lower, attn_mask)
    if mask is not None:
        if mask.dtype == "bool":
            dtype = node_of(lower, q).dtype
            zero = b.constant(0, dtype, mask.shape)
            mask = b.select(mask, zero, b.constant(float("-inf"), dtype, mask.shape))
    made, _ = lowered(
        lower,
        rows.attention,
        [],
        *(node_of(lower, each) for each in (q, k, v)),
        0,
        lower.indexing.plain(is_causal),
        attn_mask=mask,
        scale=lower.indexing.plain(scale),
    )
    return arranged(lower, made, lower.torch_rules.copied_order(q))


def has_shared_heads(q: Tensor, k: Tensor) -> bool:
    """Whether as many heads of the query, on each call, share one of the keys."""
    heads, of_keys = q.shape[1].constant, k.shape[1].constant
    return heads is not None and of_keys is not None and of_keys > 0 and heads % of_keys == 0


# ---- normalisations


def normalised(lower: TorchPart, x: Tensor, shape: Abstract, *affine: Abstract) -> list[_dvm.Dim]:
    """The last sizes of `x`, which are these."""
    sizes = lower.torch_tensors.dims([shape])
    for axis, wanted in zip(range(x.rank - len(sizes), x.rank), sizes, strict=True):
        if x.shape[axis] != wanted:
            lower.sizes.require_equal(x.shape[axis], wanted)
            if wanted.constant is not None:
                lower.torch_tensors.tell(x, axis, wanted)
    for each in affine:
        if not is_none(each):
            own = tensor(lower, each)
            for axis in range(own.rank):
                lower.torch_tensors.equal_sizes(x, axis - own.rank, own, axis)
    return x.shape[x.rank - len(sizes) :]


@means(functional.layer_norm)
def layer_norm(
    lower: TorchPart,
    input: Abstract,
    normalized_shape: Abstract,
    weight: Abstract = NONE,
    bias: Abstract = NONE,
    eps: Abstract = Literal(1e-5),
    *,
    seen: Any,
) -> Tensor:
    x = tensor(lower, input)
    sizes = normalised(lower, x, normalized_shape, weight, bias)
    expected: Any = [(seen.dtype, [])] * 3
    made = lowered(
        lower,
        norms.layer_norm,
        expected,
        node_of(lower, x),
        sizes,
        maybe(lower, weight),
        maybe(lower, bias),
        lower.indexing.plain(eps),
    )
    return result(lower, made[0])


@means(functional.rms_norm)
def rms_norm(
    lower: TorchPart,
    input: Abstract,
    normalized_shape: Abstract,
    weight: Abstract = NONE,
    eps: Abstract = NONE,
    *,
    seen: Any,
) -> Tensor:
    x = tensor(lower, input)
    sizes = normalised(lower, x, normalized_shape, weight)
    given = lower.indexing.plain(eps)
    least = torch.finfo(seen.dtype).eps if given is None else given

    def row(b: Any, x: Any, weight: Any) -> Any:
        wide = b.wide(x)
        axes = list(range(x.rank - len(sizes), x.rank))
        scale = norms.inverse_root(b, b.mean(b.mul(wide, wide), axes), least)
        normal = b.mul(wide, b.broadcast(scale, x.shape))
        if weight is not None:
            normal = b.mul(normal, b.broadcast(b.wide(weight), x.shape))
        return b.cast(normal, x.dtype)

    made = result(
        lower, lowered(lower, row, [(seen.dtype, [])], node_of(lower, x), maybe(lower, weight))
    )
    made.strides = x.strides.seen_through(turned=False)  # its last step is a product
    return made


# ---- embeddings, dropout


@means(functional.embedding)
def embedding(
    lower: TorchPart,
    input: Abstract,
    weight: Abstract,
    padding_idx: Abstract = NONE,
    max_norm: Abstract = NONE,
    norm_type: Abstract = Literal(2.0),
    scale_grad_by_freq: Abstract = FALSE,
    sparse: Abstract = FALSE,
    *,
    seen: Any,
) -> Tensor:
    if not is_none(max_norm):
        raise refuse(reasons.TORCH_FORM, "embedding", "max_norm")
    places, table = tensor(lower, input), tensor(lower, weight)
    if (padding := lower.indexing.plain(padding_idx)) is not None:
        least = lower.graph.size(padding + 1 if padding >= 0 else -padding)
        if not lower.sizes.is_at_most(least, table.shape[0]):
            raise refuse(reasons.TORCH_FORM, "embedding", "a padding_idx that is no row")
    made = lowered(
        lower,
        indexing.embedding,
        [(seen.dtype, [])],
        node_of(lower, table),
        node_of(lower, places),
    )
    return result(lower, made)


@means(functional.dropout)
def dropout(
    lower: TorchPart,
    input: Abstract,
    p: Abstract = Literal(0.5),
    training: Abstract = Literal(True),
    inplace: Abstract = FALSE,
    *,
    seen: Any,
) -> Abstract:
    """Out of training: the very tensor that it was given."""
    if lower.indexing.plain(training) and lower.indexing.plain(p):
        if lower.indexing.plain(inplace):
            raise refuse(reasons.TORCH_WRITE)
        return lower.opaque.call(torch.dropout, [input, p, training], {}, seen)
    return tensor(lower, input)


@means(torch.batch_norm)
def batch_norm(
    lower: TorchPart,
    input: Abstract,
    weight: Abstract,
    bias: Abstract,
    running_mean: Abstract,
    running_var: Abstract,
    training: Abstract,
    momentum: Abstract,
    eps: Abstract,
    cudnn_enabled: Abstract,
    *,
    seen: Any,
) -> Tensor:
    """By the statistics that were kept, or by those of the batch, which it keeps then."""
    x = tensor(lower, input)
    if x.rank < 2:
        raise refuse(reasons.TORCH_FORM, "batch_norm", "no axis of channels")
    if x.order != c_order(x.rank):
        raise refuse(reasons.TORCH_ORDER, "batch_norm")
    kept = [tensor(lower, each) for each in (running_mean, running_var) if not is_none(each)]
    if len(kept) == 1:
        raise refuse(reasons.TORCH_FORM, "batch_norm", "one of two statistics")
    for each in (running_mean, running_var, weight, bias):
        if not is_none(each):
            lower.torch_tensors.equal_sizes(x, 1, tensor(lower, each), 0)
    nodes, level = [maybe(lower, each) for each in (x, weight, bias)], lower.indexing.plain(eps)
    channels = sized(x.shape[1:2])
    kept_nodes = [builder_of(lower).broadcast(node_of(lower, each), channels) for each in kept]
    expected: list[tuple[Any, list[_dvm.Dim]]] = [(seen.dtype, [])]
    if kept and not lower.indexing.plain(training):
        args = [*nodes, *kept_nodes, 0.0, level]
        return result(lower, lowered(lower, norms.batch_norm_inference, expected, *args)[0])
    if any(lower.sizes.is_size(size, 0) for size in x.shape):
        raise refuse(reasons.TORCH_FORM, "batch_norm", "no elements")
    expected += [(torch.float32, [])] * 2
    if not kept:
        args = [*nodes, True, 0.0, level]
        return result(lower, lowered(lower, norms.batch_norm, expected, *args)[0])
    expected += [(getattr(torch, each.dtype), []) for each in kept]
    args = [*nodes, *kept_nodes, True, number_of(lower, momentum), level]
    made, _, _, *now = lowered(lower, norms.batch_norm_functional, expected, *args)
    for statistic, node in zip(kept, now, strict=True):
        lower.writes.write(statistic, result(lower, node), counted=False)
    return result(lower, made)
