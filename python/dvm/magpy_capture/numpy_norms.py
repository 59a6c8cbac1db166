"""np.linalg's norms of vectors, and its names for products, transposes and diagonals.

As numpy/linalg/_linalg.py has them; norms that are singular values stay NumPy's own.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dvm import reasons
from dvm.magpy_capture.numpy_einsum import NumpyEinsum
from dvm.magpy_capture.numpy_ufuncs import FALSE, NONE, ZERO
from dvm.magpy_capture.program import describe
from dvm.magpy_capture.tables import FUNCTIONS, numpy_table
from dvm.magpy_capture.values import Abstract, Literal, Tensor

TWO = Literal(2)
LAST, SECOND_LAST = Literal(-1), Literal(-2)

numpy_table(
    {"matrix_transpose": "matrix_transpose"},
    {"conj": "conjugated", "conjugate": "conjugated"},
)
FUNCTIONS.update(
    {
        getattr(np.linalg, name): handler
        for name, handler in (
            ("norm", "norm"),
            ("vector_norm", "vector_norm"),
            ("matmul", "matmul"),
            ("tensordot", "tensordot"),
            ("outer", "outer_of_vectors"),
            ("vecdot", "vecdot"),
            ("cross", "cross"),
            ("matrix_transpose", "matrix_transpose"),
            ("trace", "trace_of_matrix"),
            ("diagonal", "diagonal_of_matrix"),
        )
        if hasattr(np.linalg, name)
    }
)


class NumpyNorms(NumpyEinsum):
    """What np.linalg adds to functions that have a meaning."""

    # ---- norms

    def norm(
        self, x: Abstract, ord: Abstract = NONE, axis: Abstract = NONE, keepdims: Abstract = FALSE
    ) -> Tensor:
        array, power = self.as_array(x), self.plain(ord)
        if not array.dtype.startswith("float"):
            array = self.in_dtype(array, "float64")
        rank = array.rank
        if self.is_none(axis) and (
            power is None or (power in ("f", "fro") and rank == 2) or (power == 2 and rank == 1)
        ):
            return self._root_of_squares(array, bool(self.plain(keepdims)))
        axes = list(range(rank)) if self.is_none(axis) else self.axes(axis, rank)
        if len(axes) != 1:
            raise self.refuse(reasons.NORM, power, describe(array))
        return self._norm_along(array, power, Literal(axes[0]), keepdims)

    def _root_of_squares(self, x: Tensor, keeps: bool) -> Tensor:
        """Of all elements, in whatever order they lie."""
        names = "".join(chr(ord("a") + axis) for axis in range(x.rank))
        factor = self.factor(x, names, self.sizes_of([x], [names]))
        square = self.contracted(factor, factor, (), names, x.dtype)
        root = self.ufunc(np.sqrt, [self.fresh(square.value, x.dtype, [], is_scalar=True)])
        if not keeps:
            return root
        shape = [self.size(1)] * x.rank
        return self.fresh(self.reshape_value(self.value_of(root), shape), x.dtype, shape)

    def _norm_along(self, x: Tensor, power: Any, axis: Abstract, keepdims: Abstract) -> Tensor:
        size = self.ufunc(np.absolute, [x])
        if power == math.inf:
            return self.max_of(size, axis, NONE, keepdims, ZERO)
        if power == -math.inf:
            return self.min_of(size, axis, NONE, keepdims)
        if power == 0:
            some = self.in_dtype(self.ufunc(np.not_equal, [x, ZERO]), x.dtype)
            return self.sum_of(some, axis, NONE, NONE, keepdims)
        if power == 1:
            return self.sum_of(size, axis, NONE, NONE, keepdims)
        if power is None or power == 2:
            square = self.ufunc(np.multiply, [x, x])
            return self.ufunc(np.sqrt, [self.sum_of(square, axis, NONE, NONE, keepdims)])
        raise self.refuse(reasons.NORM, power, describe(x))

    def vector_norm(
        self, x: Abstract, *, axis: Abstract = NONE, keepdims: Abstract = FALSE, ord: Abstract = TWO
    ) -> Tensor:
        array = self.as_array(x)
        if self.is_none(axis) and self.plain(keepdims):
            raise self.refuse(reasons.NORM, self.plain(ord), describe(array))
        if self.is_none(axis):
            return self.norm(self.flat(array), ord, ZERO)
        return self.norm(array, ord, Literal(self.axis(self.plain(axis), array.rank)), keepdims)

    # ---- other names

    def conjugated(self, a: Tensor) -> Tensor:
        """An array of no complex numbers is its own conjugate."""
        if a.is_scalar:
            raise self.refuse(reasons.NEEDS_ARRAY, describe(a))
        return a

    def matmul(self, x1: Abstract, x2: Abstract) -> Tensor:
        return self.ufunc(np.matmul, [self.as_array(x1), self.as_array(x2)])

    def outer_of_vectors(self, x1: Abstract, x2: Abstract) -> Abstract:
        x, y = self.as_array(x1), self.as_array(x2)
        if x.rank != 1 or y.rank != 1:
            raise self.refuse(reasons.PRODUCT_OF, describe(x), describe(y))
        return self.outer(x, y)

    def vecdot(self, x1: Abstract, x2: Abstract, *, axis: Abstract = LAST) -> Tensor:
        x, y = self.as_array(x1), self.as_array(x2)
        if self.plain(axis) != -1:
            raise self.refuse(reasons.PRODUCT_OF, describe(x), describe(y))
        return self.ufunc(np.vecdot, [x, y])

    def matrix_transpose(self, x: Abstract) -> Tensor:
        return self.swapaxes(x, LAST, SECOND_LAST)

    def trace_of_matrix(
        self, x: Abstract, *, offset: Abstract = ZERO, dtype: Abstract = NONE
    ) -> Abstract:
        return self.trace(x, offset, SECOND_LAST, LAST, dtype)

    def diagonal_of_matrix(self, x: Abstract, *, offset: Abstract = ZERO) -> Tensor:
        return self.diagonal(x, offset, SECOND_LAST, LAST)


__all__ = ["NumpyNorms"]
