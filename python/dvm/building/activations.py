"""Activations that mean the same to every door."""

from __future__ import annotations

import math

from dvm.building.builder import Builder, Tensor


def relu(b: Builder, x: Tensor) -> Tensor:
    return b.maximum(x, b.constant(0, x.dtype, x.shape))


def sigmoid(b: Builder, x: Tensor) -> Tensor:
    return b.div(1, b.add(b.exp(b.neg(x)), 1))


def gelu(b: Builder, x: Tensor, approximate: str = "none") -> Tensor:
    """Of Gauss's error function, or by `tanh`."""
    if approximate == "tanh":
        cube = b.mul(b.mul(x, x), x)
        inner = b.mul(b.add(x, b.mul(cube, 0.044715)), math.sqrt(2 / math.pi))
        return b.mul(b.mul(x, 0.5), b.add(b.tanh(inner), 1))
    return b.mul(b.mul(x, 0.5), b.add(b.erf(b.mul(x, math.sqrt(0.5))), 1))
