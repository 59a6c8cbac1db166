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


@op("NonMaxSuppression", note="host")
def non_max_suppression(
    c: Context, boxes: Tensor, scores: Tensor, most: Tensor | None = None,
    overlap: Tensor | None = None, least: Tensor | None = None, center_point_box: int = 0,
) -> Tensor:  # fmt: skip
    b = c.b
    most = b.constant(0, "i64") if most is None else most
    overlap = b.constant(0, "f32") if overlap is None else overlap
    has_least = least is not None
    least = b.constant(0, "f32") if least is None else least

    def suppress(boxes: Any, scores: Any, most: Any, overlap: Any, least: Any) -> Any:
        count, limit = int(np.reshape(most, -1)[0]), float(np.reshape(overlap, -1)[0])
        floor = float(np.reshape(least, -1)[0])
        found = []
        for n in range(scores.shape[0]):
            corners = _corners(boxes[n], center_point_box)
            for k in range(scores.shape[1]):
                line = scores[n, k]
                order = np.argsort(-line, kind="stable")
                if has_least:
                    order = order[line[order] > floor]
                found += [(n, k, i) for i in _kept(corners, order, count, limit)]
        return np.array(found, np.int64).reshape(-1, 3)

    (made,) = c.host(
        "non_max_suppression", suppress, [boxes, scores, most, overlap, least],
        [("i64", [c.unknown_size(), 3])],
    )  # fmt: skip
    return made


def _corners(boxes: Any, is_centred: int) -> Any:
    if is_centred:
        x, y, w, h = boxes.T
        return np.stack([x - w / 2, y - h / 2, x + w / 2, y + h / 2], 1)
    low = np.minimum(boxes[:, :2], boxes[:, 2:])
    return np.concatenate([low, np.maximum(boxes[:, :2], boxes[:, 2:])], 1)


def _kept(corners: Any, order: Any, count: int, limit: float) -> list[int]:
    kept: list[int] = []
    areas = (corners[:, 2] - corners[:, 0]) * (corners[:, 3] - corners[:, 1])
    while order.size and len(kept) < count:
        best, order = int(order[0]), order[1:]
        kept.append(best)
        low = np.maximum(corners[best, :2], corners[order, :2])
        high = np.minimum(corners[best, 2:], corners[order, 2:])
        shared = np.prod(np.maximum(high - low, 0), axis=1)
        union = areas[best] + areas[order] - shared
        share = np.divide(shared, union, out=np.zeros_like(shared), where=union > 0)
        order = order[share <= limit]
    return kept


@op("BitCast", note="host")
def bit_cast(c: Context, x: Tensor, to: int) -> Tensor:
    from dvm.onnx.values import DTYPES, NUMPY

    if to not in DTYPES or "bf16" in (x.dtype, DTYPES[to]):
        raise Refused(f"the bits of elements as type {to}")
    dtype = NUMPY[DTYPES[to]]
    (made,) = c.host("bit_cast", lambda a: np.array(a).view(dtype), [x], [(DTYPES[to], x.shape)])
    return made
