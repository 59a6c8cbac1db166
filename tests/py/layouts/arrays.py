"""Arrays of a given shape and dtype, in layouts drawn by chance."""

from __future__ import annotations

import math
import random
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

DTYPES = ("float64", "float32", "float16", "int64", "int32", "int16", "int8", "uint8", "bool")
SPECIAL = (math.nan, math.inf, -math.inf, -0.0, 0.0)

Array = np.ndarray[Any, Any]
Shape = tuple[int, ...]


def elements(rng: random.Random, count: int, dtype: str) -> Array:
    """Return numbers whose sums are exact in any order; at times among special ones."""
    numbers = np.random.default_rng(rng.getrandbits(32)).integers(-8, 9, count)
    if np.dtype(dtype).kind != "f":
        return (numbers % 2 if dtype == "bool" else abs(numbers)).astype(dtype)
    made = (numbers / 4).astype(dtype)
    if rng.random() < 0.3:
        for _ in range(min(count, 4)):
            made[rng.randrange(count)] = rng.choice(SPECIAL)
    return made


def dense(rng: random.Random, shape: Shape, dtype: str) -> Array:
    return elements(rng, math.prod(shape), dtype).reshape(shape)


def fortran(rng: random.Random, shape: Shape, dtype: str) -> Array:
    return np.array(dense(rng, shape, dtype), order="F")


def transposed(rng: random.Random, shape: Shape, dtype: str) -> Array:
    axes = rng.sample(range(len(shape)), len(shape))
    places = [axes.index(axis) for axis in range(len(shape))]
    return dense(rng, tuple(shape[axis] for axis in axes), dtype).transpose(places)


def sliced(rng: random.Random, shape: Shape, dtype: str) -> Array:
    """Return every k-th element of a larger array, along some axes backwards."""
    inner = rng.choice((dense, transposed))
    steps = [rng.choice((1, 1, 2, 3, -1, -2)) for _ in shape]
    begins = [rng.randrange(3) for _ in shape]
    sizes = zip(shape, steps, begins, strict=True)
    whole = inner(rng, tuple(size * abs(step) + begin for size, step, begin in sizes), dtype)
    within = [
        slice(begin, begin + size * abs(step))
        for size, step, begin in zip(shape, steps, begins, strict=True)
    ]
    turned = [slice(None, None, step) for step in steps]
    return whole[(*within, ...)][(*turned, ...)]


def broadcast(rng: random.Random, shape: Shape, dtype: str) -> Array:
    """Return a read-only view in which some axes repeat."""
    inner = rng.choice((dense, transposed, sliced))
    own = tuple(1 if rng.random() < 0.5 else size for size in shape)
    return np.broadcast_to(inner(rng, own, dtype), shape)


def overlapping(rng: random.Random, shape: Shape, dtype: str) -> Array:
    """Return a view whose rows share elements, as windows do; strides may be equal, 0, negative."""
    strides = [rng.choice((0, 1, 1, 2, 3, -1)) for _ in shape]
    reach = [(max(size, 1) - 1) * stride for size, stride in zip(shape, strides, strict=True)]
    first = -sum(step for step in reach if step < 0)
    base = elements(rng, first + sum(step for step in reach if step > 0) + 1, dtype)
    return as_strided(base[first:], shape, [stride * base.itemsize for stride in strides])


def unaligned(rng: random.Random, shape: Shape, dtype: str) -> Array:
    source = dense(rng, shape, dtype)
    buffer = np.zeros(source.nbytes + 1, np.uint8)
    buffer[1:] = source.reshape(-1).view(np.uint8)
    return buffer[1:].view(dtype).reshape(shape)


def retyped(rng: random.Random, shape: Shape, dtype: str) -> Array:
    """Return a field of records, or a view of bytes: strides that other dtypes would not have."""
    if rng.random() < 0.5:
        return dense(rng, shape, dtype).view(f"V{np.dtype(dtype).itemsize}").view(dtype)
    records = np.zeros(shape, [("before", dtype), ("field", dtype), ("behind", dtype)])
    records["field"] = dense(rng, shape, dtype)
    return records["field"]


LAYOUTS = (
    dense, fortran, transposed, sliced, broadcast, overlapping, unaligned, retyped
)  # fmt: skip


def array(rng: random.Random, shape: Shape, dtype: str) -> Array:
    made = rng.choice(LAYOUTS)(rng, shape, dtype)
    assert made.shape == shape
    assert made.dtype == dtype
    if rng.random() < 0.1:
        made.flags.writeable = False
    return made
