"""Operators on each element: arithmetic, comparisons, bits, casts."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dvm.building.builder import FLOATS, Tensor
from dvm.onnx.context import Context
from dvm.onnx.registry import op
from dvm.onnx.values import DTYPES, NUMPY, UNSIGNED, Known, Refused

SAME = {
    "Neg": "neg", "Abs": "abs", "Sqrt": "sqrt", "Exp": "exp", "Log": "log", "Tanh": "tanh",
    "Floor": "floor", "Ceil": "ceil", "Round": "rint", "Sin": "sin", "Cos": "cos", "Tan": "tan",
    "Asin": "arcsin", "Acos": "arccos", "Atan": "arctan", "Sinh": "sinh", "Cosh": "cosh",
    "Asinh": "arcsinh", "Acosh": "arccosh", "Atanh": "arctanh", "Erf": "erf", "Sign": "sign",
    "Reciprocal": "reciprocal", "IsNaN": "isnan", "Not": "logical_not", "BitwiseNot": "invert",
}  # fmt: skip
BINARY = {
    "Add": "add", "Sub": "sub", "Mul": "mul", "Equal": "eq", "Less": "lt", "Greater": "gt",
    "LessOrEqual": "le", "GreaterOrEqual": "ge", "BitwiseAnd": "bitwise_and",
    "BitwiseOr": "bitwise_or", "BitwiseXor": "bitwise_xor", "And": "logical_and",
    "Or": "logical_or", "Xor": "logical_xor",
}  # fmt: skip


@op(*SAME)
def same(c: Context, x: Tensor, consumed_inputs: Any = None) -> Tensor:
    return c.b.elementwise(SAME[c.node.op_type], x)


@op(*BINARY, since=7)
def binary(c: Context, x: Tensor, y: Tensor) -> Tensor:
    return c.b.elementwise(BINARY[c.node.op_type], *c.together(x, y))


@op(*(set(BINARY) & {"Add", "Sub", "Mul", "Equal", "Less", "Greater", "And", "Or", "Xor"}))
def binary_from_axis(
    c: Context, x: Tensor, y: Tensor, axis: int | None = None, broadcast: int = 0,
    consumed_inputs: Any = None,
) -> Tensor:  # fmt: skip
    return c.b.elementwise(BINARY[c.node.op_type], x, _from_axis(c, x, y, axis))


def _from_axis(c: Context, x: Tensor, y: Tensor, axis: int | None) -> Tensor:
    if axis is not None:
        behind = x.rank - c.axis(axis, x.rank) - y.rank
        y = c.b.reshape(y, [*y.shape, *[1] * behind])
    return c.b.broadcast(y, x.shape)


@op("Div", since=7)
def div(c: Context, x: Tensor, y: Tensor) -> Tensor:
    x, y = c.together(x, y)
    return divided(c, x, y)


def divided(c: Context, x: Tensor, y: Tensor) -> Tensor:
    """Of integers towards 0."""
    b = c.b
    if x.is_float:
        return b.div(x, y)
    quotient = b.floor_divide(x, y)
    if x.dtype in UNSIGNED:
        return quotient
    rest = b.sub(x, b.mul(quotient, y))
    zero = b.constant(0, x.dtype, x.shape)
    is_below = b.logical_and(b.ne(rest, zero), b.lt(quotient, zero))
    return b.add(quotient, b.cast(is_below, x.dtype))


@op("Div")
def div_from_axis(
    c: Context, x: Tensor, y: Tensor, axis: int | None = None, broadcast: int = 0,
    consumed_inputs: Any = None,
) -> Tensor:  # fmt: skip
    return divided(c, x, _from_axis(c, x, y, axis))


@op("Mod")
def mod(c: Context, x: Tensor, y: Tensor, fmod: int = 0) -> Tensor:
    x, y = c.together(x, y)
    return c.b.fmod(x, y) if fmod else c.b.remainder(x, y)


@op("Pow", since=7)
def power(c: Context, x: Tensor, y: Tensor) -> Tensor:
    b = c.b
    dtype = x.dtype
    x, y = c.together(x, y)
    if dtype in FLOATS:
        wide = b.wide(x)
        return b.cast(b.power(wide, b.cast(y, wide.dtype)), dtype)
    if y.dtype in FLOATS:
        return b.cast(b.power(b.cast(x, "f64"), b.cast(y, "f64")), dtype)
    # An integer to a negative power is 0, but for those of 1 and -1.
    exponent = b.cast(y, "i64")
    base = b.cast(x, "i64")
    zero = b.constant(0, "i64", x.shape)
    one = b.constant(1, "i64", x.shape)
    made = b.power(base, b.maximum(exponent, zero))
    inverse = b.select(b.eq(b.abs(base), one), b.power(base, b.abs(exponent)), zero)
    return b.cast(b.select(b.lt(exponent, zero), inverse, made), dtype)


@op("Pow")
def power_from_axis(
    c: Context, x: Tensor, y: Tensor, axis: int | None = None, broadcast: int = 0
) -> Tensor:
    return power(c, x, _from_axis(c, x, y, axis))


@op("BitShift")
def bit_shift(c: Context, x: Tensor, y: Tensor, direction: str = "LEFT") -> Tensor:
    x, y = c.together(x, y)
    bits = 8 * NUMPY[x.dtype].itemsize
    shifted = c.b.elementwise("left_shift" if direction == "LEFT" else "right_shift", x, y)
    over = c.b.ge(y, c.b.constant(bits, y.dtype, y.shape))
    none = c.b.constant(0, x.dtype, x.shape)
    if direction != "LEFT" and x.dtype not in UNSIGNED:  # the sign goes on
        none = c.b.select(c.b.lt(x, none), c.b.constant(-1, x.dtype, x.shape), none)
    return c.b.select(over, none, shifted)


@op("Max", "Min")
def extreme(c: Context, *tensors: Tensor, consumed_inputs: Any = None) -> Tensor:
    made, *others = c.together(*tensors)
    name = "maximum" if c.node.op_type == "Max" else "minimum"
    for other in others:
        made = c.b.elementwise(name, made, other)
    return made


@op("Sum", "Mean")
def total(c: Context, *tensors: Tensor, consumed_inputs: Any = None) -> Tensor:
    made, *others = c.together(*tensors)
    dtype, made = made.dtype, c.b.wide(made)
    for other in others:
        made = c.b.add(made, c.b.wide(other))
    if c.node.op_type == "Mean":
        made = c.b.div(made, len(tensors))
    return c.b.cast(made, dtype)


@op("Where")
def where(c: Context, condition: Tensor, x: Tensor, y: Tensor) -> Tensor:
    return c.b.elementwise("select", *c.together(condition, x, y))


@op("IsInf")
def is_infinite(
    c: Context, x: Tensor, detect_negative: int = 1, detect_positive: int = 1
) -> Tensor:
    b = c.b
    if detect_negative and detect_positive:
        return b.isinf(x)
    if not detect_negative and not detect_positive:
        return b.constant(False, "bool", x.shape)
    end = math.inf if detect_positive else -math.inf
    return b.eq(x, b.constant(end, x.dtype, x.shape))


@op("Clip", since=6)
def clip(c: Context, x: Tensor, min: Any = None, max: Any = None) -> Tensor:  # noqa: A002
    b = c.b
    for bound, name in ((min, "maximum"), (max, "minimum")):
        if bound is not None:
            if not isinstance(bound, Tensor):
                bound = b.constant(bound, x.dtype, x.shape)
            x = b.elementwise(name, x, b.broadcast(b.reshape(bound, []), x.shape))
    return x


@op("Identity", "Dropout", since=1, raw=["x", "ratio", "training_mode"])
def identity(
    c: Context, x: Any, ratio: Any = None, training_mode: Any = None, seed: int = 0,
    is_test: int = 0, consumed_inputs: Any = None,
) -> Any:  # fmt: skip
    """Also a dropout, which drops nothing outside of training."""
    if c.node.op_type == "Identity":
        return x
    if training_mode is not None and bool(c.structure(training_mode).any()):
        share = 0.5 if ratio is None else float(c.structure(ratio))
        if share:
            raise Refused("a dropout in training")
    x = c.tensor(x)
    return x, c.b.constant(True, "bool", x.shape)


@op("Cast", since=6)
def cast(c: Context, x: Tensor, to: int, saturate: int = 1, round_mode: str = "up") -> Tensor:
    return converted(c, x, to)


@op("CastLike", raw=["like"])
def cast_like(
    c: Context, x: Tensor, like: Any, saturate: int = 1, round_mode: str = "up"
) -> Tensor:
    if not like.dtype:
        raise Refused(f"elements of type {like.array.dtype}")
    return c.b.cast(x, like.dtype)


def converted(c: Context, x: Tensor, to: int) -> Tensor:
    if to not in DTYPES:
        raise Refused(f"a cast to element type {to}")
    return c.b.cast(x, DTYPES[to])


@op("Constant", raw=["value"])
def constant(
    c: Context, value: Any = None, value_float: Any = None, value_floats: Any = None,
    value_int: Any = None, value_ints: Any = None, value_string: Any = None,
    value_strings: Any = None, sparse_value: Any = None,
) -> Any:  # fmt: skip
    if value is not None or sparse_value is not None:
        return value if value is not None else sparse_value
    if value_float is not None or value_floats is not None:
        given = value_float if value_float is not None else value_floats
        return Known(np.array(given, np.float32), "f32")
    if value_int is not None or value_ints is not None:
        given = value_int if value_int is not None else value_ints
        return Known(np.array(given, np.int64), "i64")
    return Known(np.array(value_string if value_string is not None else value_strings, object), "")


@op("Bernoulli", "RandomNormal", "RandomUniform", "RandomNormalLike", "RandomUniformLike",
    "Multinomial", raw=["x"], note="refused: random numbers")  # fmt: skip
def random(c: Context, x: Any = None, **_: Any) -> Tensor:
    raise Refused("random numbers")
