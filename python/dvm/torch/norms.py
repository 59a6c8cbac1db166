"""Lowerings of normalisations and their gradients: in f32 where they are of halves, as torch's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dvm.torch.builder import Builder, NotCompiled, Number, Tensor
from dvm.torch.reductions import variance
from dvm.torch.sizes import Size


def inverse_root(b: Builder, x: Tensor, eps: float) -> Tensor:
    return b.div(1, b.sqrt(b.add(x, eps)))


def spread(b: Builder, x: Tensor | None, shape: Sequence[Size], axis: int = 1) -> Tensor | None:
    """A vector, one element per channel, as large as the tensor whose channels are along `axis`."""
    if x is None:
        return None
    column = b.reshape(b.wide(x), [x.shape[0], *[1] * (len(shape) - axis - 1)])
    return b.broadcast(column, shape)


def affine(b: Builder, x: Tensor, weight: Tensor | None, bias: Tensor | None) -> Tensor:
    made = x if weight is None else b.mul(x, weight)
    return made if bias is None else b.add(made, bias)


def layer_norm(
    b: Builder, x: Tensor, _shape: Any, weight: Tensor | None, bias: Tensor | None, eps: float
) -> list[Tensor]:
    wide = b.wide(x)
    axes = list(range(x.rank - len(_shape), x.rank))
    spread_variance, mean = variance(b, wide, axes, 0)
    scale = inverse_root(b, spread_variance, eps)
    normal = b.mul(b.sub(wide, b.broadcast(mean, x.shape)), b.broadcast(scale, x.shape))
    weight, bias = (None if p is None else b.broadcast(b.wide(p), x.shape) for p in (weight, bias))
    made = affine(b, normal, weight, bias)
    return [b.cast(t, e.dtype) for t, e in zip((made, mean, scale), b.expected, strict=True)]


def normal_gradient(
    b: Builder, grad: Tensor, normal: Tensor, scale: Tensor, axes: list[int]
) -> Tensor:
    """What a gradient of (x - mean) * scale is for x."""
    of_mean = b.broadcast(b.mean(grad, axes), grad.shape)
    of_scale = b.mul(normal, b.broadcast(b.mean(b.mul(grad, normal), axes), grad.shape))
    return b.mul(b.sub(b.sub(grad, of_mean), of_scale), scale)


def layer_norm_backward(
    b: Builder,
    grad: Tensor,
    x: Tensor,
    shape: Any,
    mean: Tensor,
    scale: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    mask: Sequence[bool],
) -> list[Tensor | None]:
    outer = x.rank - len(shape)
    axes = list(range(outer, x.rank))
    wide, dtype = b.wide(grad), x.dtype
    mean, scale = (b.broadcast(b.wide(t), x.shape) for t in (mean, scale))
    normal = b.mul(b.sub(b.wide(x), mean), scale)
    made: list[Tensor | None] = [None, None, None]
    if mask[0]:
        weighted = wide if weight is None else b.mul(wide, b.broadcast(b.wide(weight), x.shape))
        made[0] = b.cast(normal_gradient(b, weighted, normal, scale, axes), dtype)
    rows = list(range(outer))
    for k, given, parameter in ((1, b.mul(wide, normal), weight), (2, wide, bias)):
        if mask[k] and parameter is not None:
            total = b.squeeze(b.reduce("sum", given, rows), rows) if rows else given
            made[k] = b.cast(total, parameter.dtype)
    return made


def batch_norm_inference(
    b: Builder,
    x: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    mean: Tensor,
    spread_variance: Tensor,
    _momentum: float,
    eps: float,
) -> list[Tensor]:
    scale = inverse_root(b, b.wide(spread_variance), eps)
    centred = b.sub(b.wide(x), _channels(b, mean, x))
    normal = b.mul(centred, _channels(b, scale, x))
    made = b.cast(affine(b, normal, spread(b, weight, x.shape), spread(b, bias, x.shape)), x.dtype)
    nothing = [b.wrap(b.graph.empty(e.dtype, list(e.shape))) for e in b.expected[1:]]
    return [made, *nothing]


def _channels(b: Builder, vector: Tensor, x: Tensor) -> Tensor:
    made = spread(b, vector, x.shape)
    assert made is not None
    return made


def batch_statistics(
    b: Builder, x: Tensor, weight: Tensor | None, bias: Tensor | None, eps: float
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """The normal batch, its mean, the scale that it was given, and its variance."""
    wide = b.wide(x)
    axes = [axis for axis in range(x.rank) if axis != 1]
    spread_variance, mean = (b.squeeze(t, axes) for t in variance(b, wide, axes, 0))
    scale = inverse_root(b, spread_variance, eps)
    normal = b.mul(b.sub(wide, _channels(b, mean, x)), _channels(b, scale, x))
    made = affine(b, normal, spread(b, weight, x.shape), spread(b, bias, x.shape))
    return made, mean, scale, spread_variance


def batch_norm(
    b: Builder,
    x: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    training: bool,
    _momentum: float,
    eps: float,
) -> list[Tensor]:
    """Without running statistics."""
    made = batch_statistics(b, x, weight, bias, eps)[:3]
    return [b.cast(t, e.dtype) for t, e in zip(made, b.expected, strict=True)]


def batch_norm_functional(
    b: Builder,
    x: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor,
    running_variance: Tensor,
    training: bool,
    momentum: float | Number,
    eps: float,
) -> list[Tensor]:
    """Also the running statistics as they are afterwards."""
    if not training:
        raise NotCompiled("batch norm with running statistics in a training graph")
    made, mean, scale, spread_variance = batch_statistics(b, x, weight, bias, eps)
    axes = [axis for axis in range(x.rank) if axis != 1]
    count = b.number(b.count(x, axes), made.dtype, mean.shape)
    unbiased = b.div(b.mul(spread_variance, count), b.sub(count, 1))
    results = [made, mean, scale]
    left = Number(b.sub(1, momentum.tensor)) if isinstance(momentum, Number) else 1 - momentum
    for running, now in ((running_mean, mean), (running_variance, unbiased)):
        results.append(b.add(b.mul(b.wide(running), left), b.mul(now, momentum)))
    return [b.cast(t, e.dtype) for t, e in zip(results, b.expected, strict=True)]


def group_norm(
    b: Builder,
    x: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    batch: Size,
    channels: Size,
    inner: Size,
    groups: int,
    eps: float,
) -> list[Tensor]:
    if not isinstance(channels, int):
        raise NotCompiled("channels of any number")
    grouped = b.reshape(b.wide(x), [batch, groups, channels // groups, inner])
    spread_variance, mean = variance(b, grouped, [2, 3], 0)
    scale = inverse_root(b, spread_variance, eps)
    shape = grouped.shape
    normal = b.mul(b.sub(grouped, b.broadcast(mean, shape)), b.broadcast(scale, shape))
    normal = b.reshape(normal, x.shape)
    made = affine(b, normal, spread(b, weight, x.shape), spread(b, bias, x.shape))
    results = [made, *(b.reshape(t, [batch, groups]) for t in (mean, scale))]
    return [b.cast(t, e.dtype) for t, e in zip(results, b.expected, strict=True)]
