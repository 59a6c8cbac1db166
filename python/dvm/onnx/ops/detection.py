"""What picks among elements by their order: the best boxes, and the first elements of lines."""

from __future__ import annotations

from typing import Any

import numpy as np

from dvm.building.builder import Size, Tensor
from dvm.onnx.context import Context
from dvm.onnx.registry import op


@op("NonMaxSuppression")
def non_max_suppression(
    c: Context, boxes: Tensor, scores: Tensor, most: Tensor | None = None,
    overlap: Tensor | None = None, least: Tensor | None = None, center_point_box: int = 0,
) -> Tensor:  # fmt: skip
    b = c.b
    limits = [
        b.constant(0, "i64") if most is None else most,
        b.constant(0, "f32") if overlap is None else overlap,
        b.constant(0, "f32") if least is None else least,
    ]
    (made,) = c.own(
        "non_max_suppression", [boxes, scores, *limits], [("i64", [c.unknown_size(), 3])],
        [center_point_box, int(least is not None)],
    )  # fmt: skip
    return made


@op("TopK", sizes=["k"])
def top_k(
    c: Context, x: Tensor, k: Any, axis: int = -1, largest: int = 1,
    sorted: int = 1,  # noqa: A002
) -> tuple[Tensor, ...]:  # fmt: skip
    axis = c.axis(axis, x.rank)
    count = k.reshape(-1)[0]
    count = int(count) if isinstance(count, int | np.integer) else c.fixed(count)
    shape: list[Size] = [count if a == axis else s for a, s in enumerate(x.shape)]
    return tuple(c.own("top_k", [x], [(x.dtype, shape), ("i64", shape)], [axis, count, largest]))
