"""Functions of NumPy that pick or count: by masks, by positions, by value."""

from __future__ import annotations

import numpy as np

from dvm import _dvm, reasons
from dvm.magpy_capture.fancy_indexing import FancyIndexing
from dvm.magpy_capture.numpy_ufuncs import NONE, ZERO
from dvm.magpy_capture.program import describe
from dvm.magpy_capture.tables import numpy_table
from dvm.magpy_capture.values import Abstract, Literal, Sequence, SliceValue, Tensor

numpy_table(
    {name: name for name in ("bincount", "nonzero", "flatnonzero", "compress")},
    {"nonzero": "nonzero", "compress": "compress_method"},
)


class NumpyPicks(FancyIndexing):
    """What is chosen is as many elements as the recorded call saw, or another number."""

    def nonzero(self, a: Abstract) -> Sequence:
        x = self.as_array(a)
        if x.rank != 1:
            raise self.refuse(reasons.NONZERO_AXES, describe(x))
        return Sequence([self._view_of_all(self._positions_of_true(x, self._number_seen()))])

    def flatnonzero(self, a: Abstract) -> Tensor:
        x = self.as_array(a)
        return self._view_of_all(self._positions_of_true(x, self._number_seen()))

    def where(self, condition: Abstract, x: Abstract = NONE, y: Abstract = NONE) -> Abstract:
        if self.is_none(x) and self.is_none(y):
            return self.nonzero(condition)
        return super().where(condition, x, y)

    def _number_seen(self) -> int:
        seen = self.seen_result
        if isinstance(seen, tuple):
            seen = seen[0]
        if not isinstance(seen, np.ndarray):
            raise self.refuse(reasons.INDEXING, describe(NONE))
        return int(seen.size)

    def _positions_of_true(self, x: Tensor, seen: int) -> Tensor:
        mask = self.cast(x, "bool")
        size = self.number_of_true(mask, seen)
        return self.fresh(self.nonzero_value(self.flat_value(mask), size), "int64", [size])

    def _view_of_all(self, x: Tensor) -> Tensor:
        """As NumPy, which gives views of the positions it found."""
        return self.index(x, Sequence([SliceValue(NONE, NONE, NONE)]))

    def compress(
        self, condition: Abstract, a: Abstract, axis: Abstract = NONE, out: Abstract = NONE
    ) -> Tensor:
        mask, x = self.as_array(condition), self.as_array(a)
        if mask.rank != 1 or mask.dtype != "bool" or not self.is_none(out):
            raise self.refuse(reasons.COMPRESS_MASK, describe(mask))
        if self.is_none(axis):
            x, axis = self.flat(x), ZERO
        place = self.axis(self.plain(axis), x.rank)
        if mask.shape[0] != x.shape[place]:
            self._require_equal([mask.shape[0]], [x.shape[place]])
        seen = self.seen_result
        if not isinstance(seen, np.ndarray):
            raise self.refuse(reasons.COMPRESS_MASK, describe(mask))
        size = self.number_of_true(mask, seen.shape[place])
        chosen = self.reshape_value(self.flat_value(mask), [x.shape[place]])
        value = self.compress_value(self.in_c_order(x), chosen, place, size)
        shape = [*x.shape[:place], size, *x.shape[place + 1 :]]
        return self.fresh(value, x.dtype, shape)

    def compress_method(
        self, a: Abstract, condition: Abstract, axis: Abstract = NONE, out: Abstract = NONE
    ) -> Tensor:
        return self.compress(condition, a, axis, out)

    def bincount(self, x: Abstract, weights: Abstract = NONE, minlength: Abstract = ZERO) -> Tensor:
        """Ones, or the weights, added up in order where the values say."""
        values = self.as_array(x)
        seen = self.seen_result
        kind = np.dtype(values.dtype).kind
        if values.rank != 1 or kind not in "biu" or values.dtype == "uint64":
            raise self.refuse(reasons.BINCOUNT_OF, describe(values))
        if not isinstance(seen, np.ndarray):
            raise self.refuse(reasons.BINCOUNT_OF, describe(values))
        place = self.in_c_order(self.cast(values, "int64"))
        least = self._extreme_of(place, "min_or_highest")
        size = self.ufunc(np.add, [self._extreme_of(place, "max_or_lowest"), Literal(1)])
        natural = self.ufunc(np.greater_equal, [least, ZERO])
        self.guard("guard_truth", self.leave(self.value_of(natural), "bool"), True)
        if self.is_negative(self.dim_of(minlength)):
            raise self.refuse(reasons.BINCOUNT_OF, describe(minlength))
        size = self.ufunc(np.maximum, [size, minlength])
        dim = self.size_of_int(self.leave(self.value_of(size), "int"), seen.shape[0])
        if self.is_none(weights):
            dtype, given = (
                "int64",
                self.copy_value(self.constant_value("int64", 1), [self.size(1)]),
            )
        else:
            dtype, given = "float64", self._weights(weights, values.shape[0])
        zeros = self.copy_value(self.constant_value(dtype, 0), [dim])
        return self.fresh(
            self.along_value("scatter", [zeros, place, given], 0, "add"), dtype, [dim]
        )

    def _weights(self, weights: Abstract, size: _dvm.Dim) -> int:
        given = self.as_array(weights)
        if given.rank != 1 or not np.can_cast(given.dtype, np.float64):
            raise self.refuse(reasons.BINCOUNT_OF, describe(given))
        if given.shape[0] != size:
            self._require_equal([given.shape[0]], [size])
        value = self.in_c_order(self.cast(given, "float64"))
        return self.reshape_value(value, [size])

    def _extreme_of(self, line: int, op: str) -> Tensor:
        value = self.reshape_value(self.reduce_value(op, line, [0]), [])
        return self.fresh(value, "int64", [], is_scalar=True)


__all__ = ["NumpyPicks"]
