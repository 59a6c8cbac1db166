"""Fourier transforms, as products with matrices of cosines and sines."""

from __future__ import annotations

import math
from typing import Any

from dvm.building.builder import Size, Tensor
from dvm.onnx.context import Context
from dvm.onnx.ops.moves import joined
from dvm.onnx.ops.products import multiplied
from dvm.onnx.registry import op
from dvm.onnx.values import Refused


def waves(c: Context, steps: Size, length: Size, frequencies: Size) -> tuple[Tensor, Tensor]:
    """Cosines and sines [steps, frequencies] of a transform of some length, in f64."""
    b = c.b
    shape = [steps, frequencies]
    place = b.mul(b.iota("i64", shape, 0), b.iota("i64", shape, 1))
    around = b.remainder(place, b.number(length, "i64", shape))  # angles stay small, and exact
    angle = b.mul(b.cast(around, "f64"), 2 * math.pi)
    angle = b.div(angle, b.number(length, "f64", shape))
    return b.cos(angle), b.sin(angle)


def transform(
    c: Context, x: Tensor, axis: int, length: Size, *, inverse: bool, onesided: bool
) -> Tensor:
    """Of x[.., 1], real, or x[.., 2], complex: [.., 2], along an axis."""
    b = c.b
    parts = c.fixed(x.shape[-1])
    size = x.shape[axis]
    order = [*(k for k in range(x.rank - 1) if k != axis), axis, x.rank - 1]
    turned = b.cast(b.transpose(x, order), "f64")
    given = [b.squeeze(b.narrow(turned, x.rank - 1, k, 1), [x.rank - 1]) for k in range(parts)]
    used = c.least(size, length)
    given = [b.slice(t, [0] * t.rank, [*t.shape[:-1], used]) for t in given]
    count: Size = length // 2 + 1 if onesided and not inverse else length
    cosines, sines = waves(c, used, length, count)
    real = multiplied(c, given[0], cosines)
    other = multiplied(c, given[0], sines)
    imaginary = other if inverse else b.neg(other)
    if parts == 2:
        of_sines, of_cosines = multiplied(c, given[1], sines), multiplied(c, given[1], cosines)
        real = b.sub(real, of_sines) if inverse else b.add(real, of_sines)
        imaginary = b.add(imaginary, of_cosines)
    if inverse:
        total = b.number(length, "f64", real.shape)
        real, imaginary = b.div(real, total), b.div(imaginary, total)
    ends = [real] if inverse and onesided else [real, imaginary]
    made = joined(c, [b.unsqueeze(t, t.rank) for t in ends], x.rank - 1)
    back = [order.index(k) for k in range(x.rank)]
    return b.cast(b.transpose(made, back), x.dtype)


@op("DFT", sizes=["length"], structure=["axis"])
def dft(
    c: Context, x: Tensor, length: Any = None, axis: Any = None, inverse: int = 0,
    onesided: int = 0,
) -> Tensor:  # fmt: skip
    usual = 1 if c.version < 20 else -2
    along = c.axis(usual if axis is None else int(axis.reshape(-1)[0]), x.rank)
    size = x.shape[along] if length is None else length.reshape(-1)[0]
    if inverse and onesided:
        return _of_half(c, x, along, None if length is None else size)
    return transform(c, x, along, size, inverse=bool(inverse), onesided=bool(onesided))


def _of_half(c: Context, x: Tensor, axis: int, length: Size | None) -> Tensor:
    """The real signal whose frequencies from half on are those before, turned around."""
    b = c.b
    x = b.reshape(x, [*x.shape[:-1], 2])
    size = length if length is not None else 2 * (x.shape[axis] - 1)
    known = c.fixed(size)
    half = b.narrow(x, axis, 0, known // 2 + 1)
    rest = (known - 1) // 2
    if rest:
        starts: list[Size] = [0] * x.rank
        steps = [1] * x.rank
        starts[axis], steps[axis] = rest, -1
        shape = [rest if k == axis else s for k, s in enumerate(x.shape)]
        mirrored = b.slice(x, starts, shape, steps)
        signs = joined(c, [b.constant(s, x.dtype, [1] * x.rank) for s in (1, -1)], x.rank - 1)
        mirrored = b.mul(mirrored, b.broadcast(signs, mirrored.shape))
        half = joined(c, [half, mirrored], axis)
    return transform(c, half, axis, known, inverse=True, onesided=True)


@op("STFT", structure=["step", "length"])
def stft(
    c: Context, x: Tensor, step: Any, window: Tensor | None = None, length: Any = None,
    onesided: int = 1,
) -> Tensor:  # fmt: skip
    b = c.b
    if length is None and window is None:
        raise Refused("frames without a length")
    size = int(length.reshape(-1)[0]) if length is not None else c.fixed(window.shape[0])  # type: ignore[union-attr]
    stride = int(step.reshape(-1)[0])
    frames: Size = (x.shape[1] - size) // stride + 1
    places = b.add(
        b.mul(b.iota("i64", [frames, size], 0), stride), b.iota("i64", [frames, size], 1)
    )
    parts = b.along("gather", [x, places], 1)  # [batch, frames, size, 1 or 2]
    if window is not None:
        factor = b.reshape(b.cast(window, x.dtype), [1, 1, size, 1])
        parts = b.mul(parts, b.broadcast(factor, parts.shape))
    return transform(c, parts, 2, size, inverse=False, onesided=bool(onesided))
