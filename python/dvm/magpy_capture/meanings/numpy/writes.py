"""Functions of NumPy that write into an array they are given."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dvm import reasons
from dvm.magpy_capture.meanings.numpy.fresh import fresh
from dvm.magpy_capture.meanings.numpy.ranges import every_element
from dvm.magpy_capture.meanings.numpy.ufuncs import FALSE, TRUE
from dvm.magpy_capture.path.program import describe
from dvm.magpy_capture.path.spec import refuse
from dvm.magpy_capture.registry import means
from dvm.magpy_capture.values import Abstract, Literal, Sequence, Tensor, is_literal

if TYPE_CHECKING:
    from dvm.magpy_capture.meanings.numpy.layer import NumpyPart


NOTHING = Literal(None)


@means(np.copyto)
def copyto(
    lower: NumpyPart,
    dst: Abstract,
    src: Abstract,
    casting: Abstract = Literal("same_kind"),
    where: Abstract = TRUE,
) -> Abstract:
    target = _target(lower, dst)
    source = lower.ufuncs.as_array(src, target.dtype)
    if not np.can_cast(source.dtype, target.dtype, lower.indexing.plain(casting)):
        raise refuse(reasons.COPYTO, describe(source), describe(target))
    if is_literal(where, True):
        lower.writes.write(target, source)
        return NOTHING
    test = lower.ufuncs.as_array(where, "bool")
    if test.dtype != "bool" or test.rank > target.rank:
        raise refuse(reasons.COPYTO_WHERE, describe(test))
    return _write_where(lower, target, test, source)


@means(np.putmask)
def put_mask(lower: NumpyPart, a: Abstract, mask: Abstract, values: Abstract) -> Abstract:
    """Values that are not as many as elements are taken round and round."""
    target = _target(lower, a)
    source = lower.ufuncs.as_array(values)
    if source.rank or not np.can_cast(source.dtype, target.dtype, "same_kind"):
        raise refuse(reasons.PUTMASK_OF, describe(source))
    test = lower.elementwise.cast(lower.ufuncs.as_array(mask), "bool")
    if test.rank != target.rank:
        raise refuse(reasons.PUTMASK_AT, describe(test))
    lower.program.require_all_equal(test.shape, target.shape)
    return _write_where(lower, target, test, lower.ufuncs.element_of(values, target.dtype))


@means(np.place)
def place(lower: NumpyPart, arr: Abstract, mask: Abstract, vals: Abstract) -> Abstract:
    return put_mask(lower, arr, mask, vals)


@means(np.fill_diagonal)
def fill_diagonal(lower: NumpyPart, a: Abstract, val: Abstract, wrap: Abstract = FALSE) -> Abstract:
    target = _target(lower, a)
    source = lower.ufuncs.element_of(val, target.dtype)
    if target.rank != 2 or source.rank or lower.indexing.plain(wrap):
        raise refuse(reasons.FILL_DIAGONAL_MATRIX_NUMBER)
    rows, columns = (
        fresh(lower.graph.iota_value("int64", size), "int64", [size]) for size in target.shape
    )
    down = lower.indexing.index(rows, Sequence([every_element(), NOTHING]))
    return _write_where(lower, target, lower.ufuncs.apply(np.equal, [down, columns]), source)


def _target(lower: NumpyPart, value: Abstract) -> Tensor:
    target = lower.shapes.tensor(value)
    if target.is_scalar:
        raise refuse(reasons.SCALAR_WRITTEN)
    return target


def _write_where(lower: NumpyPart, target: Tensor, test: Tensor, source: Tensor) -> Abstract:
    if source.rank > target.rank:
        raise refuse(reasons.VALUE_HIGHER_RANK_WRITTEN_INTO)
    old = fresh(lower.arrays.value_of(target), target.dtype, target.shape, target.order)
    new = lower.elementwise.cast(source, target.dtype)
    chosen = lower.elementwise.apply("select", [test, new, old], target.dtype, target.order)
    lower.writes.assign(
        target,
        lower.graph.broadcast_value(
            lower.arrays.value_of(chosen), lower.arrays.stored_shape(target)
        ),
    )
    return NOTHING
