"""np.sum and its kin, as functions and as array methods (NumPy: fromnumeric.py, _methods.py)."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from dvm.magpy_capture.meanings.numpy.fresh import fresh
from dvm.magpy_capture.meanings.numpy.layer import NumpyPart
from dvm.magpy_capture.meanings.numpy.ufuncs import FALSE, NONE
from dvm.magpy_capture.meanings.python.opaque import signature_of
from dvm.magpy_capture.registry import means
from dvm.magpy_capture.values import Abstract, Literal, Tensor, is_none

if TYPE_CHECKING:
    from dvm.magpy_capture.meanings.numpy.layer import NumpyPart


def fold_by(
    function: np.ufunc,
    *things: Any,
    dtype: Abstract = NONE,
    prepared: Callable[[NumpyPart, Abstract], Abstract] | None = None,
    checked: Callable[[NumpyPart, Tensor], None] | None = None,
) -> Callable[..., Tensor]:
    """Register what np.sum and its kin mean: each folds by a ufunc, with its own arguments.

    The first of `things` has the signature.
    dtype: in which it is done, where that is no argument.
    prepared, checked: what is folded, of the first argument; what must hold of the result.
    """
    own = signature_of(things[0])

    def fold(lower: NumpyPart, *given: Abstract, **named: Abstract) -> Tensor:
        arguments = {"axis": NONE, "dtype": dtype, **own.bind(*given, **named).arguments}
        array = arguments.pop("a")
        array = array if prepared is None else prepared(lower, array)
        result = lower.ufunc_methods.ufunc_reduce(function, array, **arguments)
        if checked is not None:
            checked(lower, result)
        return result

    lower = inspect.Parameter("lower", inspect.Parameter.POSITIONAL_ONLY, annotation="NumpyPart")
    fold.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [lower, *own.parameters.values()]
    )
    return means(*things)(fold)


sum_of = fold_by(np.add, np.sum, np.ndarray.sum)
prod_of = fold_by(np.multiply, np.prod, np.ndarray.prod)
max_of = fold_by(np.maximum, np.max, np.amax, np.ndarray.max)
min_of = fold_by(np.minimum, np.min, np.amin, np.ndarray.min)
any_of = fold_by(np.logical_or, np.any, np.ndarray.any, dtype=Literal(bool))
all_of = fold_by(np.logical_and, np.all, np.ndarray.all, dtype=Literal(bool))


@means(np.ptp)
def ptp_of(
    lower: NumpyPart,
    a: Abstract,
    axis: Abstract = NONE,
    out: Abstract = NONE,
    keepdims: Abstract = FALSE,
) -> Tensor:
    highest = max_of(lower, a, axis, NONE, keepdims)
    lowest = min_of(lower, a, axis, NONE, keepdims)
    return lower.ufunc_methods.deliver(
        lower.ufuncs.apply(np.subtract, [highest, lowest]), lower.ufunc_methods.result_array(out)
    )


class Reductions(NumpyPart):
    """Folds, positions of extremes, and running results."""

    needs = (
        "arrays elementwise graph heap indexing layouts reduced_axes rules ufunc_methods ufuncs "
        "views"
    )

    @means(np.count_nonzero)
    def count_nonzero(
        self, a: Abstract, axis: Abstract = NONE, *, keepdims: Abstract = FALSE, seen: Any
    ) -> Abstract:
        x = self.ufuncs.as_array(a)
        order = self.layouts.order_in_memory(x) if x.dtype == "bool" else self.rules.copied_order(x)
        x = fresh(self.layouts.arranged(x, order), x.dtype, x.shape, order)
        x = self.elementwise.cast(self.elementwise.cast(x, "bool"), "int64")
        result = self.reduced_axes.reduce(
            "sum", x, self.ufunc_methods.axes(axis, x.rank), self.ufunc_methods.keeps(keepdims)
        )
        if isinstance(seen, int):  # older versions of NumPy
            return self.heap.computed(self.graph.leave(self.arrays.value_of(result), "int"), seen)
        return result

    # ---- positions

    @means(np.argmax, np.ndarray.argmax)
    def argmax(
        self,
        a: Abstract,
        axis: Abstract = NONE,
        out: Abstract = NONE,
        *,
        keepdims: Abstract = FALSE,
    ) -> Tensor:
        return self._position("argmax", a, axis, out, keepdims)

    @means(np.argmin, np.ndarray.argmin)
    def argmin(
        self,
        a: Abstract,
        axis: Abstract = NONE,
        out: Abstract = NONE,
        *,
        keepdims: Abstract = FALSE,
    ) -> Tensor:
        return self._position("argmin", a, axis, out, keepdims)

    def _position(
        self, op: str, a: Abstract, axis: Abstract, out: Abstract, keepdims: Abstract
    ) -> Tensor:
        x, place = self._along(a, axis)
        value = self.graph.along_value(op, [self.layouts.in_c_order(x)], place)
        ones = [self.graph.size(1) if i == place else dim for i, dim in enumerate(x.shape)]
        if not self.ufunc_methods.keeps(keepdims):
            shape = ones[:place] + ones[place + 1 :]
        else:  # of a flattened array, one size for each axis that it had
            given = self.ufuncs.as_array(a).rank
            shape = ones if given == x.rank else [self.graph.size(1)] * given
        value = self.views.reshape_value(value, shape)
        found = fresh(value, "int64", shape, is_scalar=not shape)
        return self.ufunc_methods.deliver(found, self.ufunc_methods.result_array(out))

    def _along(self, a: Abstract, axis: Abstract) -> tuple[Tensor, int]:
        """The array and its axis to work along; flattened where no axis is named."""
        x = self.ufuncs.as_array(a)
        if is_none(axis) or x.rank == 0:
            self.ufunc_methods.axes(axis, x.rank)
            return self.flat(x), 0
        return x, self.ufunc_methods.axis(self.indexing.plain(axis), x.rank)

    def flat(self, x: Tensor) -> Tensor:
        """All elements in C order, as new memory."""
        size = self.graph.product(x.shape)
        value = self.layouts.in_c_order(x)
        if not x.contiguous:
            value = self.graph.copy_value(value)
        return fresh(self.views.reshape_value(value, [size]), x.dtype, [size])

    # ---- running results

    @means(np.cumsum, np.ndarray.cumsum)
    def cumsum(
        self, a: Abstract, axis: Abstract = NONE, dtype: Abstract = NONE, out: Abstract = NONE
    ) -> Tensor:
        return self._running(np.add, a, axis, dtype, out)

    @means(np.cumprod, np.ndarray.cumprod)
    def cumprod(
        self, a: Abstract, axis: Abstract = NONE, dtype: Abstract = NONE, out: Abstract = NONE
    ) -> Tensor:
        return self._running(np.multiply, a, axis, dtype, out)

    def _running(
        self, function: np.ufunc, a: Abstract, axis: Abstract, dtype: Abstract, out: Abstract
    ) -> Tensor:
        x, place = self._along(a, axis)
        return self.ufunc_methods.accumulate(function, x, Literal(place), dtype, out)
