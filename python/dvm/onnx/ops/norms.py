"""Normalisations."""

from __future__ import annotations

from typing import Any

import numpy as np

from dvm.building.builder import Builder, Tensor
from dvm.onnx.context import Context
from dvm.onnx.ops.moves import padded
from dvm.onnx.registry import op
from dvm.onnx.values import NUMPY, Known, known, product_of


def mean_and_variance(b: Builder, x: Tensor, axes: list[int]) -> tuple[Tensor, Tensor]:
    mean = b.mean(x, axes)
    apart = b.sub(x, b.broadcast(mean, x.shape))
    return mean, b.mean(b.mul(apart, apart), axes)


def normal(b: Builder, x: Tensor, axes: list[int], eps: float) -> tuple[Tensor, Tensor, Tensor]:
    """X with mean 0 and variance 1 over axes, the mean, and the factor."""
    mean, variance = mean_and_variance(b, x, axes)
    factor = b.div(1, b.sqrt(b.add(variance, eps)))
    centred = b.sub(x, b.broadcast(mean, x.shape))
    return b.mul(centred, b.broadcast(factor, x.shape)), mean, factor


def _channels(b: Builder, vector: Tensor, x: Tensor) -> Tensor:
    column = b.reshape(vector, [1, x.shape[1], *[1] * (x.rank - 2)]) if x.rank > 1 else vector
    return b.broadcast(b.cast(column, x.dtype), x.shape)


@op("BatchNormalization", raw=["scale", "bias", "mean", "variance"])
def batch_norm(
    c: Context, x: Tensor, scale: Any, bias: Any, mean: Any, variance: Any,
    epsilon: float = 1e-5, momentum: float = 0.9, training_mode: int = 0, spatial: int = 1,
    is_test: int = 1, consumed_inputs: Any = None,
) -> Any:  # fmt: skip
    b = c.b
    wide = b.wide(x)
    outputs = []
    given = scale, bias, mean, variance
    if x.rank > 1 and not training_mode and all(isinstance(v, Known) for v in given):
        # Trained: what is computed of constants is computed once.
        scales, shifts, means, spreads = (v.array.astype(np.float64) for v in given)
        factors = scales / np.sqrt(spreads + epsilon)
        dtype = NUMPY[wide.dtype]
        factor = c.tensor(known(factors.astype(dtype)))
        shift = c.tensor(known((shifts - means * factors).astype(dtype)))
        made = b.add(b.mul(wide, _channels(b, factor, wide)), _channels(b, shift, wide))
        return (b.cast(made, x.dtype),)
    scale, bias, mean, variance = map(c.tensor, given)
    scale, bias, mean, variance = (
        b.reshape(t, [x.shape[1]]) if x.rank > 1 else t for t in (scale, bias, mean, variance)
    )
    used = mean, variance
    if training_mode:
        axes = [k for k in range(x.rank) if k != 1]
        now = [b.squeeze(t, axes) for t in mean_and_variance(b, wide, axes)]
        for old, new in zip((mean, variance), now, strict=True):
            kept = b.mul(b.wide(old), momentum)
            mixed = b.add(kept, b.mul(b.cast(new, kept.dtype), 1 - momentum))
            outputs.append(b.cast(mixed, old.dtype))
        used = now[0], now[1]
    factor = b.div(b.cast(scale, wide.dtype), b.sqrt(b.add(b.cast(used[1], wide.dtype), epsilon)))
    shift = b.sub(b.cast(bias, wide.dtype), b.mul(b.cast(used[0], wide.dtype), factor))
    made = b.add(b.mul(wide, _channels(b, factor, wide)), _channels(b, shift, wide))
    return (b.cast(made, x.dtype), *outputs)


@op("InstanceNormalization")
def instance_norm(
    c: Context, x: Tensor, scale: Tensor, bias: Tensor, epsilon: float = 1e-5,
    consumed_inputs: Any = None,
) -> Tensor:  # fmt: skip
    b = c.b
    wide = b.wide(x)
    made, _, _ = normal(b, wide, list(range(2, x.rank)), epsilon)
    made = b.add(b.mul(made, _channels(b, scale, made)), _channels(b, bias, made))
    return b.cast(made, x.dtype)


@op("LayerNormalization")
def layer_norm(
    c: Context, x: Tensor, scale: Tensor, bias: Tensor | None = None, axis: int = -1,
    epsilon: float = 1e-5, stash_type: int = 1,
) -> Any:  # fmt: skip
    b = c.b
    wide = b.wide(x)
    axes = list(range(c.axis(axis, x.rank), x.rank))
    made, mean, factor = normal(b, wide, axes, epsilon)
    made = b.mul(made, b.broadcast(b.cast(scale, wide.dtype), made.shape))
    if bias is not None:
        made = b.add(made, b.broadcast(b.cast(bias, wide.dtype), made.shape))
    return b.cast(made, x.dtype), mean, factor


@op("RMSNormalization")
def rms_norm(
    c: Context, x: Tensor, scale: Tensor, axis: int = -1, epsilon: float = 1e-5,
    stash_type: int = 1,
) -> Tensor:  # fmt: skip
    b = c.b
    wide = b.wide(x)
    axes = list(range(c.axis(axis, x.rank), x.rank))
    root = b.sqrt(b.add(b.mean(b.mul(wide, wide), axes), epsilon))
    made = b.cast(b.div(wide, b.broadcast(root, wide.shape)), scale.dtype)
    return b.mul(made, b.broadcast(scale, made.shape))


@op("LpNormalization")
def lp_norm(c: Context, x: Tensor, axis: int = -1, p: int = 2) -> Tensor:
    b = c.b
    wide = b.wide(x)
    axes = [c.axis(axis, x.rank)]
    if p == 1:
        size = b.reduce("sum", b.abs(wide), axes)
    else:
        size = b.sqrt(b.reduce("sum", b.mul(wide, wide), axes))
    nothing = b.eq(size, b.constant(0, size.dtype, size.shape))
    size = b.select(nothing, b.constant(1, size.dtype, size.shape), size)
    return b.cast(b.div(wide, b.broadcast(size, wide.shape)), x.dtype)


@op("LRN")
def local_response_norm(
    c: Context, x: Tensor, size: int, alpha: float = 1e-4, beta: float = 0.75, bias: float = 1.0
) -> Tensor:
    b = c.b
    wide = b.wide(x)
    low, high = (size - 1) // 2, size - 1 - (size - 1) // 2
    rest = [0] * (x.rank - 2)
    squares = padded(
        c, b.mul(wide, wide), [0, low, *rest], [0, high, *rest], b.constant(0, wide.dtype)
    )
    total = b.narrow(squares, 1, 0, x.shape[1])
    for k in range(1, size):
        total = b.add(total, b.narrow(squares, 1, k, x.shape[1]))
    scale = b.power(b.add(b.mul(total, alpha / size), bias), beta)
    return b.cast(b.div(wide, scale), x.dtype)


@op("MeanVarianceNormalization")
def mean_variance_norm(c: Context, x: Tensor, axes: Any = (0, 2, 3)) -> Tensor:
    b = c.b
    wide = b.wide(x)
    mean, variance = mean_and_variance(b, wide, c.axes(axes, x.rank))
    root = b.add(b.sqrt(variance), 1e-9)
    made = b.div(b.sub(wide, b.broadcast(mean, x.shape)), b.broadcast(root, x.shape))
    return b.cast(made, x.dtype)


@op("GroupNormalization", since=21)
def group_norm(
    c: Context, x: Tensor, scale: Tensor, bias: Tensor, num_groups: int, epsilon: float = 1e-5,
    stash_type: int = 1,
) -> Tensor:  # fmt: skip
    b = c.b
    wide = b.wide(x)
    inner = product_of(x.shape[2:])
    each = c.fixed(x.shape[1]) // num_groups
    grouped = b.reshape(wide, [x.shape[0], num_groups, each, inner])
    made, _, _ = normal(b, grouped, [2, 3], epsilon)
    made = b.reshape(made, x.shape)
    made = b.add(b.mul(made, _channels(b, scale, made)), _channels(b, bias, made))
    return b.cast(made, x.dtype)
