"""What the host computes, for the Graph has no composition of it; each use is counted."""

from __future__ import annotations

from typing import Any

import numpy as np

from dvm.building.builder import Size, Tensor
from dvm.onnx.context import Context
from dvm.onnx.registry import op
from dvm.onnx.values import Refused, product_of


@op("NonZero", note="host")
def nonzero(c: Context, x: Tensor) -> Tensor:
    shape: list[Size] = [max(x.rank, 1), c.unknown_size()]
    (made,) = c.host(
        "nonzero", lambda a: np.array(np.nonzero(np.atleast_1d(a)), np.int64), [x],
        [("i64", shape)],
    )  # fmt: skip
    return made


@op("Compress", note="host")
def compress(c: Context, x: Tensor, mask: Tensor, axis: int | None = None) -> Tensor:
    over = None if axis is None else c.axis(axis, x.rank)
    size = c.unknown_size()
    shape = [size] if over is None else [size if k == over else s for k, s in enumerate(x.shape)]
    (made,) = c.host(
        "compress", lambda a, m: np.ascontiguousarray(np.compress(m, a, over)), [x, mask],
        [(x.dtype, shape)],
    )  # fmt: skip
    return made


@op("Unique", note="host")
def unique(c: Context, x: Tensor, axis: int | None = None, sorted: int = 1) -> Any:  # noqa: A002
    over = None if axis is None else c.axis(axis, x.rank)

    def find(a: Any) -> Any:
        values, first, inverse, counts = np.unique(
            a, return_index=True, return_inverse=True, return_counts=True, axis=over
        )
        inverse = inverse.reshape(-1)
        if not sorted:
            order = np.argsort(first)
            values = np.take(values, order, axis=over or 0)
            rank = np.empty_like(order)
            rank[order] = np.arange(order.size)
            first, inverse, counts = first[order], rank[inverse], counts[order]
        return (
            np.ascontiguousarray(values),
            *(np.array(t, np.int64) for t in (first, inverse, counts)),
        )

    size = c.unknown_size()
    shape = [size] if over is None else [size if k == over else s for k, s in enumerate(x.shape)]
    length = product_of(x.shape) if over is None else x.shape[over]
    results = [(x.dtype, shape), ("i64", [size]), ("i64", [length]), ("i64", [size])]
    return tuple(c.host("unique", find, [x], results))


@op("BitCast", note="host")
def bit_cast(c: Context, x: Tensor, to: int) -> Tensor:
    from dvm.onnx.values import DTYPES, NUMPY

    if to not in DTYPES or "bf16" in (x.dtype, DTYPES[to]):
        raise Refused(f"the bits of elements as type {to}")
    dtype = NUMPY[DTYPES[to]]
    (made,) = c.host("bit_cast", lambda a: np.array(a).view(dtype), [x], [(DTYPES[to], x.shape)])
    return made
