"""np.linalg's norms of vectors, and its names for products, transposes and diagonals.

As numpy/linalg/_linalg.py has them; norms that are singular values stay NumPy's own.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from dvm import reasons
from dvm.magpy_capture.meanings.numpy import joins as numpy_joins
from dvm.magpy_capture.meanings.numpy import ranges as numpy_ranges
from dvm.magpy_capture.meanings.numpy import reductions
from dvm.magpy_capture.meanings.numpy.fresh import fresh
from dvm.magpy_capture.meanings.numpy.ufuncs import FALSE, NONE, ZERO
from dvm.magpy_capture.path.program import describe
from dvm.magpy_capture.path.spec import refuse
from dvm.magpy_capture.registry import means
from dvm.magpy_capture.values import Abstract, Literal, Tensor, is_none

if TYPE_CHECKING:
    from dvm.magpy_capture.meanings.numpy.layer import NumpyPart


TWO = Literal(2)
LAST, SECOND_LAST = Literal(-1), Literal(-2)


# ---- norms


@means(np.linalg.norm)
def norm(
    lower: NumpyPart,
    x: Abstract,
    ord: Abstract = NONE,
    axis: Abstract = NONE,
    keepdims: Abstract = FALSE,
) -> Tensor:
    array, power = lower.ufuncs.as_array(x), lower.indexing.plain(ord)
    if not array.dtype.startswith("float"):
        array = lower.conversions.in_dtype(array, "float64")
    rank = array.rank
    if is_none(axis) and (
        power is None or (power in ("f", "fro") and rank == 2) or (power == 2 and rank == 1)
    ):
        return _root_of_squares(lower, array, bool(lower.indexing.plain(keepdims)))
    axes = list(range(rank)) if is_none(axis) else lower.ufunc_methods.axes(axis, rank)
    if len(axes) != 1:
        raise refuse(reasons.NORM, power, describe(array))
    return _norm_along(lower, array, power, Literal(axes[0]), keepdims)


def _root_of_squares(lower: NumpyPart, x: Tensor, keeps: bool) -> Tensor:
    """Of all elements, in whatever order they lie."""
    names = "".join(chr(ord("a") + axis) for axis in range(x.rank))
    factor = lower.contractions.factor(x, names, lower.contractions.sizes_of([x], [names]))
    square = lower.contractions.contracted(factor, factor, (), names, x.dtype)
    root = lower.ufuncs.apply(np.sqrt, [fresh(square.value, x.dtype, [], is_scalar=True)])
    if not keeps:
        return root
    shape = [lower.graph.size(1)] * x.rank
    return fresh(lower.views.reshape_value(lower.arrays.value_of(root), shape), x.dtype, shape)


def _norm_along(
    lower: NumpyPart, x: Tensor, power: Any, axis: Abstract, keepdims: Abstract
) -> Tensor:
    size = lower.ufuncs.apply(np.absolute, [x])
    if power == math.inf:
        return reductions.max_of(lower, size, axis, NONE, keepdims, ZERO)
    if power == -math.inf:
        return reductions.min_of(lower, size, axis, NONE, keepdims)
    if power == 0:
        some = lower.conversions.in_dtype(lower.ufuncs.apply(np.not_equal, [x, ZERO]), x.dtype)
        return reductions.sum_of(lower, some, axis, NONE, NONE, keepdims)
    if power == 1:
        return reductions.sum_of(lower, size, axis, NONE, NONE, keepdims)
    if power is None or power == 2:
        square = lower.ufuncs.apply(np.multiply, [x, x])
        return lower.ufuncs.apply(
            np.sqrt, [reductions.sum_of(lower, square, axis, NONE, NONE, keepdims)]
        )
    raise refuse(reasons.NORM, power, describe(x))


@means(np.linalg.vector_norm)
def vector_norm(
    lower: NumpyPart,
    x: Abstract,
    *,
    axis: Abstract = NONE,
    keepdims: Abstract = FALSE,
    ord: Abstract = TWO,
) -> Tensor:
    array = lower.ufuncs.as_array(x)
    if is_none(axis) and lower.indexing.plain(keepdims):
        raise refuse(reasons.NORM, lower.indexing.plain(ord), describe(array))
    if is_none(axis):
        return norm(lower, lower.reductions.flat(array), ord, ZERO)
    return norm(
        lower,
        array,
        ord,
        Literal(lower.ufunc_methods.axis(lower.indexing.plain(axis), array.rank)),
        keepdims,
    )


# ---- other names


@means(np.ndarray.conj, np.ndarray.conjugate)
def conjugated(_: NumpyPart, a: Tensor) -> Tensor:
    """An array of no complex numbers is its own conjugate."""
    if a.is_scalar:
        raise refuse(reasons.NEEDS_ARRAY, describe(a))
    return a


@means(np.linalg.matmul)
def matmul(lower: NumpyPart, x1: Abstract, x2: Abstract) -> Tensor:
    return lower.ufuncs.apply(np.matmul, [lower.ufuncs.as_array(x1), lower.ufuncs.as_array(x2)])


@means(np.linalg.outer)
def outer_of_vectors(lower: NumpyPart, x1: Abstract, x2: Abstract) -> Abstract:
    x, y = lower.ufuncs.as_array(x1), lower.ufuncs.as_array(x2)
    if x.rank != 1 or y.rank != 1:
        raise refuse(reasons.PRODUCT_OF, describe(x), describe(y))
    return numpy_joins.outer(lower, x, y)


@means(np.linalg.vecdot)
def vecdot(lower: NumpyPart, x1: Abstract, x2: Abstract, *, axis: Abstract = LAST) -> Tensor:
    x, y = lower.ufuncs.as_array(x1), lower.ufuncs.as_array(x2)
    if lower.indexing.plain(axis) != -1:
        raise refuse(reasons.PRODUCT_OF, describe(x), describe(y))
    return lower.ufuncs.apply(np.vecdot, [x, y])


@means(np.matrix_transpose, np.linalg.matrix_transpose)
def matrix_transpose(lower: NumpyPart, x: Abstract) -> Tensor:
    return lower.shapes.swapaxes(x, LAST, SECOND_LAST)


@means(np.linalg.trace)
def trace_of_matrix(
    lower: NumpyPart, x: Abstract, *, offset: Abstract = ZERO, dtype: Abstract = NONE
) -> Abstract:
    return numpy_ranges.trace(lower, x, offset, SECOND_LAST, LAST, dtype)


@means(np.linalg.diagonal)
def diagonal_of_matrix(lower: NumpyPart, x: Abstract, *, offset: Abstract = ZERO) -> Tensor:
    return numpy_ranges.diagonal(lower, x, offset, SECOND_LAST, LAST)
