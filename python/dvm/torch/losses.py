"""Lowerings of losses: elementwise, and then one number for all, or none."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dvm.torch.builder import Builder, NotCompiled, Tensor, is_same_shape

NONE, MEAN = 0, 1  # of ATen's enum Reduction; 2 is the sum


def loss(compose: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """A composition of an input, its target and numbers; of halves all in f32."""

    def lower(
        b: Builder, x: Tensor, target: Tensor, reduction: int = MEAN, *numbers: Any
    ) -> Tensor:
        if not is_same_shape(x.shape, target.shape):
            raise NotCompiled("operands of two shapes")
        made = compose(b, *(b.wide(b.cast(t, b.out.dtype)) for t in (x, target)), *numbers)
        axes = list(range(made.rank))
        if reduction != NONE and axes:
            made = b.mean(made, axes) if reduction == MEAN else b.reduce("sum", made, axes)
            made = b.squeeze(made, axes)
        return b.cast(made, b.out.dtype)

    return lower


def squared(b: Builder, x: Tensor, target: Tensor) -> Tensor:
    apart = b.sub(x, target)
    return b.mul(apart, apart)


def smooth(b: Builder, x: Tensor, target: Tensor, beta: Any = 1.0) -> Tensor:
    apart = b.abs(b.sub(x, target))
    near = b.div(b.mul(b.mul(0.5, apart), apart), beta)
    return b.select(b.lt(apart, beta), near, b.sub(apart, 0.5 * beta))


def huber(b: Builder, x: Tensor, target: Tensor, delta: Any = 1.0) -> Tensor:
    apart = b.abs(b.sub(x, target))
    near = b.mul(b.mul(0.5, apart), apart)
    return b.select(b.lt(apart, delta), near, b.mul(delta, b.sub(apart, 0.5 * delta)))
