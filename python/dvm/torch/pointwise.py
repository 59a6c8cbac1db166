"""Lowerings of elementwise ops, which compute in the dtypes that torch computes in."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from dvm import _dvm
from dvm.torch.builder import (
    DTYPES,
    FLOATS,
    HALVES,
    TORCH_DTYPES,
    Builder,
    NotCompiled,
    Number,
    Tensor,
    wide_dtype,
)
from dvm.torch.sizes import Size

Lowering = Callable[..., Tensor]


def operand(b: Builder, value: Any, dtype: str) -> Tensor:
    """A tensor or a number in `dtype`, broadcast to the shape of the op's result."""
    if isinstance(value, Tensor):
        return b.broadcast(b.cast(value, dtype), b.out.shape)
    return b.number(value, dtype, b.out.shape)


def computing_dtype(_b: Builder, x: Any, y: Any) -> str:
    """What torch promotes two operands to; of a half with a number, f32: it computes so."""
    dtype = DTYPES[torch.result_type(stand_in(x), stand_in(y))]
    has_number = not (isinstance(x, Tensor) and isinstance(y, Tensor))
    return "f32" if dtype in HALVES and has_number else dtype


def stand_in(value: Any) -> Any:
    """What torch promotes as it does the value."""
    if isinstance(value, Tensor):
        return torch.empty((1,) * min(value.rank, 1), dtype=TORCH_DTYPES[value.dtype])
    if isinstance(value, _dvm.Dim | Number):
        return 1 if isinstance(value, _dvm.Dim) else 1.0
    return value


def unary(op: str) -> Lowering:
    """An op of the Graph; of integers, in the floating dtype that torch gives."""

    def lower(b: Builder, x: Tensor) -> Tensor:
        return b.elementwise(op, b.cast(x, b.out.dtype))

    return lower


def test(op: str) -> Lowering:
    """A question about each element, which it is asked as it is."""

    def lower(b: Builder, x: Tensor) -> Tensor:
        return b.elementwise(op, x)

    return lower


def composed(compose: Callable[[Builder, Tensor], Tensor]) -> Lowering:
    """A composition, of halves in f32."""

    def lower(b: Builder, x: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        wide = b.wide(b.cast(x, b.out.dtype))
        return b.cast(compose(b, wide, *args, **kwargs), b.out.dtype)

    return lower


def binary(op: str) -> Lowering:
    def lower(b: Builder, x: Any, y: Any) -> Tensor:
        dtype = computing_dtype(b, x, y)
        if b.out.dtype in FLOATS and dtype not in FLOATS:
            dtype = b.out.dtype
        return b.cast(b.elementwise(op, operand(b, x, dtype), operand(b, y, dtype)), b.out.dtype)

    return lower


def scaled(op: str) -> Lowering:
    """Lower x + alpha * y, or with `sub`."""

    def lower(b: Builder, x: Any, y: Any, alpha: Any = 1) -> Tensor:
        if alpha == 1:
            return binary(op)(b, x, y)
        dtype = computing_dtype(b, x, y)
        if dtype in HALVES:
            dtype = "f32"
        product = b.mul(operand(b, y, dtype), alpha)
        return b.cast(b.elementwise(op, operand(b, x, dtype), product), b.out.dtype)

    return lower


def adding(op: str) -> Lowering:
    """Lower x + value * first * second, or first divided by second."""

    def lower(b: Builder, x: Tensor, first: Tensor, second: Tensor, *, value: Any = 1) -> Tensor:
        if b.out.dtype not in FLOATS:
            raise NotCompiled("a factor that torch makes a whole number of")
        dtype = wide_dtype(b.out.dtype)
        made = b.mul(operand(b, first, dtype), value) if value != 1 else operand(b, first, dtype)
        made = b.elementwise(op, made, operand(b, second, dtype))
        return b.cast(b.add(operand(b, x, dtype), made), b.out.dtype)

    return lower


addcmul, addcdiv = adding("mul"), adding("div")


def lerp(b: Builder, start: Tensor, end: Tensor, weight: Any) -> Tensor:
    """From the nearer of both ends on, as torch."""
    dtype, shape = wide_dtype(b.out.dtype), b.out.shape
    x, y, share = (operand(b, each, dtype) for each in (start, end, weight))
    apart = b.sub(y, x)
    is_nearer = b.lt(b.abs(share), b.constant(0.5, dtype, shape))
    below = b.add(x, b.mul(share, apart))
    above = b.sub(y, b.mul(apart, b.sub(b.constant(1, dtype, shape), share)))
    return b.cast(b.select(is_nearer, below, above), b.out.dtype)


def reversed_sub(b: Builder, x: Tensor, y: Any, alpha: Any = 1) -> Tensor:
    if alpha != 1:
        raise NotCompiled("alpha")
    return binary("sub")(b, y, x)


def logical(op: str) -> Lowering:
    def lower(b: Builder, x: Tensor, y: Tensor) -> Tensor:
        return b.elementwise(op, operand(b, x, "bool"), operand(b, y, "bool"))

    return lower


def compare(op: str) -> Lowering:
    def lower(b: Builder, x: Any, y: Any) -> Tensor:
        dtype = computing_dtype(b, x, y)
        return b.elementwise(op, operand(b, x, dtype), operand(b, y, dtype))

    return lower


def integer_division(op: str, *, by_sizes: bool = False) -> Lowering:
    """Of integers by a number, for where a tensor divides torch raises an error of a zero.

    by_sizes: or by a size, which somebody has made sure is none.
    These are the ops to which torch gives numbers as halves where the other operand is of halves.
    """

    def lower(b: Builder, x: Any, y: Any) -> Tensor:
        dtype = b.out.dtype if b.out.dtype in HALVES else computing_dtype(b, x, y)
        of_calls = Tensor if by_sizes else Tensor | _dvm.Dim
        if dtype not in FLOATS and (isinstance(y, of_calls) or y == 0):
            raise NotCompiled("integers divided by what may be 0")
        return b.cast(b.elementwise(op, operand(b, x, dtype), operand(b, y, dtype)), b.out.dtype)

    return lower


def div(b: Builder, x: Any, y: Any, rounding_mode: str | None = None) -> Tensor:
    if rounding_mode == "floor":
        return integer_division("floor_divide")(b, x, y)
    dtype = computing_dtype(b, x, y)
    if rounding_mode == "trunc":
        if dtype not in FLOATS:
            raise NotCompiled("integers divided towards 0")
        wide = wide_dtype(dtype)
        return b.cast(b.trunc(b.div(operand(b, x, wide), operand(b, y, wide))), b.out.dtype)
    wide = dtype if dtype in FLOATS else b.out.dtype
    return b.cast(b.div(operand(b, x, wide), operand(b, y, wide)), b.out.dtype)


def where(b: Builder, condition: Tensor, x: Any, y: Any) -> Tensor:
    return b.elementwise(
        "select",
        b.broadcast(b.cast(condition, "bool"), b.out.shape),
        operand(b, x, b.out.dtype),
        operand(b, y, b.out.dtype),
    )


def cast(b: Builder, x: Tensor, *_args: Any, **_kwargs: Any) -> Tensor:
    return b.cast(x, b.out.dtype)


def identity(_b: Builder, x: Tensor, *_args: Any, **_kwargs: Any) -> Tensor:
    return x


def copy(b: Builder, x: Tensor, source: Tensor, *_args: Any) -> Tensor:
    return b.broadcast(b.cast(source, x.dtype), x.shape)


def clamp(b: Builder, x: Tensor, lowest: Any = None, highest: Any = None) -> Tensor:
    given = [bound for bound in (x, lowest, highest) if bound is not None]
    dtype = b.out.dtype
    if dtype in HALVES and any(not isinstance(bound, Tensor) for bound in given):
        dtype = "f32"
    made = operand(b, x, dtype)
    if lowest is not None:
        made = b.maximum(made, operand(b, lowest, dtype))
    if highest is not None:
        made = b.minimum(made, operand(b, highest, dtype))
    return b.cast(made, b.out.dtype)


def power(b: Builder, x: Any, y: Any) -> Tensor:
    dtype = b.out.dtype
    if dtype not in FLOATS:
        if (
            not isinstance(x, Tensor)
            or isinstance(y, Tensor | _dvm.Dim)
            or y < 0
            or dtype == "bool"
        ):
            raise NotCompiled("a power of integers that may be negative")
        return b.power(operand(b, x, dtype), operand(b, y, dtype))
    wide = wide_dtype(dtype)
    base = operand(b, x, wide)
    exact: dict[float, Callable[[], Tensor]] = {
        0.5: lambda: b.sqrt(base),
        1.0: lambda: base,
        2.0: lambda: b.mul(base, base),
        3.0: lambda: b.mul(b.mul(base, base), base),
        -0.5: lambda: b.div(1, b.sqrt(base)),
        -1.0: lambda: b.div(1, base),
        -2.0: lambda: b.div(1, b.mul(base, base)),
    }
    special = exact.get(float(y)) if isinstance(y, int | float) else None
    return b.cast(special() if special else b.power(base, operand(b, y, wide)), dtype)


def rounded(b: Builder, x: Tensor, decimals: int = 0) -> Tensor:
    if decimals:
        raise NotCompiled("decimals")
    return b.rint(x) if x.is_float else x


def sign_of(b: Builder, x: Tensor) -> Tensor:
    if x.dtype == "bool":
        return x
    if not x.is_float:
        return b.sign(x)
    zero = b.constant(0, x.dtype, x.shape)  # torch has the sign of NaN as 0
    above, below = b.cast(b.gt(x, zero), x.dtype), b.cast(b.lt(x, zero), x.dtype)
    return b.sub(above, below)


# Activations


def hardtanh(b: Builder, x: Tensor, lowest: float = -1, highest: float = 1) -> Tensor:
    return b.minimum(
        b.maximum(x, b.number(lowest, x.dtype, x.shape)), b.number(highest, x.dtype, x.shape)
    )


def hardsigmoid(b: Builder, x: Tensor) -> Tensor:
    return b.div(hardtanh(b, b.add(x, 3), 0, 6), 6)


def hardswish(b: Builder, x: Tensor) -> Tensor:
    return b.div(b.mul(x, hardtanh(b, b.add(x, 3), 0, 6)), 6)


def softplus(b: Builder, x: Tensor, beta: float = 1, threshold: float = 20) -> Tensor:
    scaled = b.mul(x, beta) if beta != 1 else x
    made = b.log1p(b.exp(scaled))
    made = b.div(made, beta) if beta != 1 else made
    return b.select(b.gt(scaled, b.number(threshold, x.dtype, x.shape)), x, made)


def mish(b: Builder, x: Tensor) -> Tensor:
    return b.mul(x, b.tanh(softplus(b, x)))


def leaky_relu(b: Builder, x: Tensor, slope: float = 0.01) -> Tensor:
    return b.select(b.gt(x, b.constant(0, x.dtype, x.shape)), x, b.mul(x, slope))


def elu(
    b: Builder, x: Tensor, alpha: float = 1, scale: float = 1, input_scale: float = 1
) -> Tensor:
    below = b.mul(b.expm1(b.mul(x, input_scale)), alpha * scale)
    return b.select(b.gt(x, b.constant(0, x.dtype, x.shape)), b.mul(x, scale), below)


def fma(b: Builder, x: Tensor, y: Tensor, z: Tensor) -> Tensor:
    dtype = wide_dtype(b.out.dtype)
    product = b.mul(operand(b, x, dtype), operand(b, y, dtype))
    return b.cast(b.add(product, operand(b, z, dtype)), b.out.dtype)


# Sources


def full(b: Builder, _shape: Any, value: Any, **_kwargs: Any) -> Tensor:
    return b.number(value, b.out.dtype, b.out.shape)


def full_like(b: Builder, _x: Tensor, value: Any, **_kwargs: Any) -> Tensor:
    return b.number(value, b.out.dtype, b.out.shape)


def empty(b: Builder, *_args: Any, **_kwargs: Any) -> Tensor:
    return b.wrap(b.graph.empty(b.out.dtype, list(b.out.shape)))


def filled(value: int) -> Lowering:
    def lower(b: Builder, *_args: Any, **_kwargs: Any) -> Tensor:
        return b.constant(value, b.out.dtype, b.out.shape)

    return lower


def fill(b: Builder, _x: Tensor, value: Any) -> Tensor:
    return operand(b, value, b.out.dtype)


def scalar_tensor(b: Builder, value: Any, **_kwargs: Any) -> Tensor:
    return b.number(value, b.out.dtype)


def arange(b: Builder, start: Any, _end: Any, step: Any = 1, **_kwargs: Any) -> Tensor:
    return iota(b, b.out.shape[0], start=start, step=step)


def iota(b: Builder, length: Size, *, start: Any, step: Any, **_kwargs: Any) -> Tensor:
    dtype = b.out.dtype
    if dtype in HALVES or (dtype in FLOATS and dtype != "f64"):
        # torch counts in f64 or i64 and rounds once
        whole = isinstance(start, int | _dvm.Dim) and isinstance(step, int | _dvm.Dim)
        inner = "i64" if whole else "f64"
    else:
        inner = dtype
    counted = b.iota(inner, [length])
    return b.cast(b.add(b.mul(counted, step), start), dtype)
