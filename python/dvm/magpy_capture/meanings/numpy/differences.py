"""Differences of neighbours, and the trapezoidal rule, which is made of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dvm import reasons
from dvm.magpy_capture.meanings.numpy.expressions import Expression, arrays
from dvm.magpy_capture.meanings.numpy.ufuncs import FALSE, NONE
from dvm.magpy_capture.path.spec import refuse
from dvm.magpy_capture.registry import means
from dvm.magpy_capture.values import Abstract, Literal, Sequence, Tensor, is_none, resolve

if TYPE_CHECKING:
    from dvm.magpy_capture.meanings.numpy.layer import NumpyPart

ONE = Literal(1)
LAST = Literal(-1)


@means(np.diff)
def diff(
    lower: NumpyPart,
    a: Abstract,
    n: Abstract = ONE,
    axis: Abstract = LAST,
    prepend: Abstract = NONE,
    append: Abstract = NONE,
) -> Tensor:
    x = lower.ufuncs.as_array(a)
    place = lower.ufunc_methods.axis(lower.indexing.plain(axis), x.rank)
    order = lower.indexing.integer(n)
    if order < 0:
        raise refuse(reasons.DIFFERENCE_NEGATIVE_ORDER)
    edges = [value for value in (prepend, append) if not is_none(value)]
    if edges:
        pieces: list[Tensor] = [x]
        for value, at_front in ((prepend, True), (append, False)):
            if is_none(value):
                continue
            edge = lower.ufuncs.as_array(value)
            if edge.rank == 0:
                shape = list(x.shape)
                shape[place] = lower.graph.size(1)
                edge = lower.elementwise.broadcast(edge, shape)
            pieces.insert(0 if at_front else len(pieces), edge)
        x = lower.joining.joined(pieces, place)
    before = (slice(None),) * place
    made = Expression(lower, x)
    for _ in range(order):
        later, earlier = made[*before, 1:], made[*before, :-1]
        made = later.differs(earlier) if x.dtype == "bool" else later - earlier
    return made.tensor


@means(np.trapezoid)
def trapezoid(
    lower: NumpyPart, y: Abstract, x: Abstract = NONE, dx: Abstract = ONE, axis: Abstract = LAST
) -> Tensor:
    """The sum of widths by mean heights (numpy/lib/_function_base_impl.py)."""
    (heights,) = arrays(lower, y)
    place = lower.ufunc_methods.axis(lower.indexing.plain(axis), heights.tensor.rank)
    before = (slice(None),) * place
    width = Expression(lower, resolve(dx))
    if not is_none(x):
        line = lower.ufuncs.as_array(x)
        width = Expression(lower, diff(lower, line, ONE, axis if line.rank > 1 else LAST))
        if line.rank == 1:
            width = width[:, *[None] * (heights.tensor.rank - place - 1)]
    area = width * (heights[*before, 1:] + heights[*before, :-1]) / 2.0
    return lower.ufunc_methods.ufunc_reduce(np.add, area.tensor, axis, NONE, NONE, FALSE)


@means(np.ediff1d)
def ediff1d(
    lower: NumpyPart, ary: Abstract, to_end: Abstract = NONE, to_begin: Abstract = NONE
) -> Tensor:
    x = lower.reductions.flat(lower.ufuncs.as_array(ary))
    parts: list[Abstract] = [diff(lower, x)]
    for end, place in ((to_begin, 0), (to_end, 2)):
        if not is_none(end):
            parts.insert(
                place,
                lower.elementwise.cast(lower.reductions.flat(lower.ufuncs.as_array(end)), x.dtype),
            )
    return (
        lower.shapes.concatenate(Sequence(parts))
        if len(parts) > 1
        else lower.shapes.tensor(parts[0])
    )
