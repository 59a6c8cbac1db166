"""Functions of NumPy that write into an array they are given."""

from __future__ import annotations

import numpy as np

from dvm import reasons
from dvm.magpy_capture.numpy_joins import NumpyJoins
from dvm.magpy_capture.numpy_ranges import every_element
from dvm.magpy_capture.numpy_ufuncs import FALSE, TRUE
from dvm.magpy_capture.program import describe
from dvm.magpy_capture.tables import numpy_table
from dvm.magpy_capture.values import Abstract, Literal, Sequence, Tensor

numpy_table(
    {"copyto": "copyto", "putmask": "put_mask", "place": "place", "fill_diagonal": "fill_diagonal"}
)

NOTHING = Literal(None)


class NumpyWrites(NumpyJoins):
    """What is written becomes a selection between the old elements and the new."""

    def copyto(
        self,
        dst: Abstract,
        src: Abstract,
        casting: Abstract = Literal("same_kind"),
        where: Abstract = TRUE,
    ) -> Abstract:
        target = self._target(dst)
        source = self.as_array(src, target.dtype)
        if not np.can_cast(source.dtype, target.dtype, self.plain(casting)):
            raise self.refuse(reasons.COPYTO, describe(source), describe(target))
        if self.is_literal(where, True):
            self.write(target, source)
            return NOTHING
        test = self.as_array(where, "bool")
        if test.dtype != "bool" or test.rank > target.rank:
            raise self.refuse(reasons.COPYTO_WHERE, describe(test))
        return self._write_where(target, test, source)

    def put_mask(self, a: Abstract, mask: Abstract, values: Abstract) -> Abstract:
        """Values that are not as many as elements are taken round and round."""
        target = self._target(a)
        source = self.as_array(values)
        if source.rank or not np.can_cast(source.dtype, target.dtype, "same_kind"):
            raise self.refuse(reasons.PUTMASK_OF, describe(source))
        test = self.cast(self.as_array(mask), "bool")
        if test.rank != target.rank:
            raise self.refuse(reasons.PUTMASK_AT, describe(test))
        self._require_equal(test.shape, target.shape)
        return self._write_where(target, test, self.element_of(values, target.dtype))

    def place(self, arr: Abstract, mask: Abstract, vals: Abstract) -> Abstract:
        return self.put_mask(arr, mask, vals)

    def fill_diagonal(self, a: Abstract, val: Abstract, wrap: Abstract = FALSE) -> Abstract:
        target = self._target(a)
        source = self.element_of(val, target.dtype)
        if target.rank != 2 or source.rank or self.plain(wrap):
            raise self.refuse(reasons.FILL_DIAGONAL_MATRIX_NUMBER)
        rows, columns = (
            self.fresh(self.iota_value("int64", size), "int64", [size]) for size in target.shape
        )
        down = self.index(rows, Sequence([every_element(), NOTHING]))
        return self._write_where(target, self.ufunc(np.equal, [down, columns]), source)

    def _target(self, value: Abstract) -> Tensor:
        target = self.tensor(value)
        if target.is_scalar:
            raise self.refuse(reasons.SCALAR_WRITTEN)
        return target

    def _write_where(self, target: Tensor, test: Tensor, source: Tensor) -> Abstract:
        if source.rank > target.rank:
            raise self.refuse(reasons.VALUE_HIGHER_RANK_WRITTEN_INTO)
        old = self.fresh(self.value_of(target), target.dtype, target.shape, target.order)
        new = self.cast(source, target.dtype)
        chosen = self.elementwise("select", [test, new, old], target.dtype, target.order)
        self.assign(target, self.broadcast_value(self.value_of(chosen), self.stored_shape(target)))
        return NOTHING


__all__ = ["NumpyWrites"]
