"""Functions of NumPy that pick or count: by masks, by positions, by value."""

from __future__ import annotations

from typing import Any

import numpy as np

from dvm import _dvm, reasons
from dvm.magpy_capture.meanings.numpy.fresh import fresh
from dvm.magpy_capture.meanings.numpy.layer import NumpyPart
from dvm.magpy_capture.meanings.numpy.ufuncs import NONE, ZERO
from dvm.magpy_capture.path.program import describe
from dvm.magpy_capture.path.spec import refuse
from dvm.magpy_capture.registry import means
from dvm.magpy_capture.values import Abstract, Literal, Sequence, SliceValue, Tensor, is_none


class NumpyPicks(NumpyPart):
    """What is chosen is as many elements as the recorded call saw, or another number."""

    needs = (
        "arrays elementwise fancy graph indexing layouts program promotion reductions sizes "
        "ufunc_methods ufuncs views"
    )

    @means(np.where)
    def where(
        self, condition: Abstract, x: Abstract = NONE, y: Abstract = NONE, *, seen: Any
    ) -> Abstract:
        if is_none(x) and is_none(y):
            return self.nonzero(condition, seen=seen)
        if is_none(x):
            raise refuse(reasons.WHERE_ARGUMENT)
        test = self.elementwise.cast(self.ufuncs.as_array(condition), "bool")
        kinds = [self.promotion.kind(value) for value in (x, y)]
        examples = [kind if isinstance(kind, np.dtype) else kind(0) for kind in kinds]
        dtype = np.result_type(*examples).name
        chosen = [self.promotion.operand(value, dtype) for value in (x, y)]
        result = self.elementwise.apply("select", [test, *chosen], dtype)
        result.is_scalar = False
        return result

    @means(np.nonzero, np.ndarray.nonzero)
    def nonzero(self, a: Abstract, *, seen: Any) -> Sequence:
        x = self.ufuncs.as_array(a)
        if x.rank != 1:
            raise refuse(reasons.NONZERO_AXES, describe(x))
        return Sequence([self._view_of_all(self._positions_of_true(x, self._number_seen(seen)))])

    @means(np.flatnonzero)
    def flatnonzero(self, a: Abstract, *, seen: Any) -> Tensor:
        x = self.ufuncs.as_array(a)
        return self._view_of_all(self._positions_of_true(x, self._number_seen(seen)))

    def _number_seen(self, seen: Any) -> int:
        if isinstance(seen, tuple):
            seen = seen[0]
        if not isinstance(seen, np.ndarray):
            raise refuse(reasons.INDEXING, describe(NONE))
        return int(seen.size)

    def _positions_of_true(self, x: Tensor, seen: int) -> Tensor:
        mask = self.elementwise.cast(x, "bool")
        size = self.fancy.number_of_true(mask, seen)
        return fresh(self.graph.nonzero_value(self.fancy.flat_value(mask), size), "int64", [size])

    def _view_of_all(self, x: Tensor) -> Tensor:
        """As NumPy, which gives views of the positions it found."""
        return self.indexing.index(x, Sequence([SliceValue(NONE, NONE, NONE)]))

    @means(np.compress)
    def compress(
        self,
        condition: Abstract,
        a: Abstract,
        axis: Abstract = NONE,
        out: Abstract = NONE,
        *,
        seen: Any,
    ) -> Tensor:
        mask, x = self.ufuncs.as_array(condition), self.ufuncs.as_array(a)
        if mask.rank != 1 or mask.dtype != "bool" or not is_none(out):
            raise refuse(reasons.COMPRESS_MASK, describe(mask))
        if is_none(axis):
            x, axis = self.reductions.flat(x), ZERO
        place = self.ufunc_methods.axis(self.indexing.plain(axis), x.rank)
        if mask.shape[0] != x.shape[place]:
            if self.sizes.observed(mask.shape[0]) != self.sizes.observed(x.shape[place]):
                raise refuse(reasons.COMPRESS_MASK, describe(mask))
            self.program.require_all_equal([mask.shape[0]], [x.shape[place]])
        if not isinstance(seen, np.ndarray):
            raise refuse(reasons.COMPRESS_MASK, describe(mask))
        size = self.fancy.number_of_true(mask, seen.shape[place])
        chosen = self.views.reshape_value(self.fancy.flat_value(mask), [x.shape[place]])
        value = self.graph.compress_value(self.layouts.in_c_order(x), chosen, place, size)
        shape = [*x.shape[:place], size, *x.shape[place + 1 :]]
        return fresh(value, x.dtype, shape)

    @means(np.ndarray.compress)
    def compress_method(
        self,
        a: Abstract,
        condition: Abstract,
        axis: Abstract = NONE,
        out: Abstract = NONE,
        *,
        seen: Any,
    ) -> Tensor:
        return self.compress(condition, a, axis, out, seen=seen)

    @means(np.bincount)
    def bincount(
        self, x: Abstract, weights: Abstract = NONE, minlength: Abstract = ZERO, *, seen: Any
    ) -> Tensor:
        """Ones, or the weights, added up in order where the values say."""
        values = self.ufuncs.as_array(x)
        kind = np.dtype(values.dtype).kind
        if values.rank != 1 or kind not in "biu" or values.dtype == "uint64":
            raise refuse(reasons.BINCOUNT_OF, describe(values))
        if not isinstance(seen, np.ndarray):
            raise refuse(reasons.BINCOUNT_OF, describe(values))
        place = self.layouts.in_c_order(self.elementwise.cast(values, "int64"))
        least = self._extreme_of(place, "min_or_highest")
        size = self.ufuncs.apply(np.add, [self._extreme_of(place, "max_or_lowest"), Literal(1)])
        natural = self.ufuncs.apply(np.greater_equal, [least, ZERO])
        self.program.guard(
            "guard_truth", self.graph.leave(self.arrays.value_of(natural), "bool"), True
        )
        if self.sizes.is_negative(self.indexing.dim_of(minlength)):
            raise refuse(reasons.BINCOUNT_OF, describe(minlength))
        size = self.ufuncs.apply(np.maximum, [size, minlength])
        dim = self.sizes.size_of_int(
            self.graph.leave(self.arrays.value_of(size), "int"), seen.shape[0]
        )
        if is_none(weights) or self._is_empty(values):
            dtype, given = (
                "int64",
                self.graph.copy_value(self.graph.constant_value("int64", 1), [self.graph.size(1)]),
            )
        else:
            dtype, given = "float64", self._weights(weights, values.shape[0])
        zeros = self.graph.copy_value(self.graph.constant_value(dtype, 0), [dim])
        return fresh(
            self.graph.along_value("scatter", [zeros, place, given], 0, "add"), dtype, [dim]
        )

    def _is_empty(self, values: Tensor) -> bool:
        """Whether there is none, for which NumPy's result is of integers."""
        (size,) = values.shape
        if self.sizes.observed(size) == 0:
            self.program.require_all_equal([size], [self.graph.size(0)])
            return True
        self.program.require_positive(size)
        return False

    def _weights(self, weights: Abstract, size: _dvm.Dim) -> int:
        given = self.ufuncs.as_array(weights)
        if given.rank != 1 or not np.can_cast(given.dtype, np.float64):
            raise refuse(reasons.BINCOUNT_OF, describe(given))
        if given.shape[0] != size:
            self.program.require_all_equal([given.shape[0]], [size])
        value = self.layouts.in_c_order(self.elementwise.cast(given, "float64"))
        return self.views.reshape_value(value, [size])

    def _extreme_of(self, line: int, op: str) -> Tensor:
        value = self.views.reshape_value(self.graph.reduce_value(op, line, [0]), [])
        return fresh(value, "int64", [], is_scalar=True)


__all__ = ["NumpyPicks"]
