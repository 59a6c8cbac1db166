"""Activations: functions of each element that are composed of others."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dvm.building.activations import gelu, relu, sigmoid
from dvm.building.builder import Builder, Tensor
from dvm.onnx.context import Context
from dvm.onnx.registry import op


def softplus(b: Builder, x: Tensor) -> Tensor:
    """Without an overflow: log(1 + e**x) is max(x, 0) + log(1 + e**-|x|)."""
    return b.add(relu(b, x), b.log1p(b.exp(b.neg(b.abs(x)))))


def negative(b: Builder, x: Tensor) -> Tensor:
    return b.lt(x, b.constant(0, x.dtype, x.shape))


def between(b: Builder, x: Tensor, lowest: float, highest: float) -> Tensor:
    low, high = (b.constant(end, x.dtype, x.shape) for end in (lowest, highest))
    return b.minimum(b.maximum(x, low), high)


def leaky_relu(b: Builder, x: Tensor, alpha: float = 0.01) -> Tensor:
    return b.select(negative(b, x), b.mul(x, alpha), x)


def elu(b: Builder, x: Tensor, alpha: float = 1.0) -> Tensor:
    return b.select(negative(b, x), b.mul(b.expm1(x), alpha), x)


def selu(
    b: Builder, x: Tensor, alpha: float = 1.67326319217681884765625,
    gamma: float = 1.05070102214813232421875,
) -> Tensor:  # fmt: skip
    return b.mul(elu(b, x, alpha), gamma)


def celu(b: Builder, x: Tensor, alpha: float = 1.0) -> Tensor:
    return b.select(negative(b, x), b.mul(b.expm1(b.div(x, alpha)), alpha), x)


def hard_sigmoid(b: Builder, x: Tensor, alpha: float = 0.2, beta: float = 0.5) -> Tensor:
    return between(b, b.add(b.mul(x, alpha), beta), 0, 1)


def hard_swish(b: Builder, x: Tensor) -> Tensor:
    return b.mul(x, hard_sigmoid(b, x, 1 / 6, 0.5))


def swish(b: Builder, x: Tensor, alpha: float = 1.0) -> Tensor:
    return b.mul(x, sigmoid(b, b.mul(x, alpha) if alpha != 1 else x))


def thresholded_relu(b: Builder, x: Tensor, alpha: float = 1.0) -> Tensor:
    zero = b.constant(0, x.dtype, x.shape)
    return b.select(b.gt(x, b.constant(alpha, x.dtype, x.shape)), x, zero)


def shrink(b: Builder, x: Tensor, bias: float = 0.0, lambd: float = 0.5) -> Tensor:
    zero = b.constant(0, x.dtype, x.shape)
    above = b.gt(x, b.constant(lambd, x.dtype, x.shape))
    below = b.lt(x, b.constant(-lambd, x.dtype, x.shape))
    return b.select(below, b.add(x, bias), b.select(above, b.sub(x, bias), zero))


def scaled_tanh(b: Builder, x: Tensor, alpha: float = 1.0, beta: float = 1.0) -> Tensor:
    return b.mul(b.tanh(b.mul(x, beta)), alpha)


FUNCTIONS: dict[str, Callable[..., Tensor]] = {
    "Relu": relu,
    "Sigmoid": sigmoid,
    "Softplus": softplus,
    "Softsign": lambda b, x: b.div(x, b.add(b.abs(x), 1)),
    "LeakyRelu": leaky_relu,
    "Elu": elu,
    "Selu": selu,
    "Celu": celu,
    "HardSigmoid": hard_sigmoid,
    "HardSwish": hard_swish,
    "Gelu": gelu,
    "Swish": swish,
    "Mish": lambda b, x: b.mul(x, b.tanh(softplus(b, x))),
    "ThresholdedRelu": thresholded_relu,
    "Shrink": shrink,
    "ScaledTanh": scaled_tanh,
    "Affine": lambda b, x, alpha=1.0, beta=0.0: b.add(b.mul(x, alpha), beta),
    "Tanh": lambda b, x: b.tanh(x),
}


@op(*(name for name in FUNCTIONS if name not in ("Tanh", "Affine", "ScaledTanh")))
def activation(
    c: Context, x: Tensor, alpha: Any = None, beta: Any = None, gamma: Any = None,
    bias: Any = None, lambd: Any = None, approximate: Any = None, consumed_inputs: Any = None,
) -> Tensor:  # fmt: skip
    given = {"alpha": alpha, "beta": beta, "gamma": gamma, "bias": bias, "lambd": lambd,
             "approximate": approximate}  # fmt: skip
    given = {name: value for name, value in given.items() if value is not None}
    b = c.b
    if not x.is_float:
        inner = x if c.node.op_type == "Relu" else b.cast(x, "f32")
        return b.cast(FUNCTIONS[c.node.op_type](b, inner, **given), x.dtype)
    return b.cast(FUNCTIONS[c.node.op_type](b, b.wide(x), **given), x.dtype)


@op("PRelu")
def prelu(c: Context, x: Tensor, slope: Tensor, consumed_inputs: Any = None) -> Tensor:
    if c.version < 7 and slope.rank == 1:
        slope = c.b.reshape(slope, [*slope.shape, *[1] * (x.rank - 2)])
    slope = c.b.broadcast(slope, x.shape)
    return c.b.select(negative(c.b, x), c.b.mul(x, slope), x)
