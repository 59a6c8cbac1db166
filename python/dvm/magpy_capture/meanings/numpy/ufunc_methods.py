"""Methods of universal functions: reduce, accumulate and outer, with all their keywords.

Reductions that no order of the elements changes are ops of their own, which work on tiles. All
others, and running results, take one element after the other (ordered_folds).

The dtype that a reduction or an accumulation works in is asked of the ufunc. `initial` is one more
element in front, and what `where=` leaves out counts as an element that changes nothing; with
either one, the maximum of no elements is defined.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dvm import reasons
from dvm.magpy_capture.meanings.numpy.fresh import fresh
from dvm.magpy_capture.meanings.numpy.layer import NumpyPart
from dvm.magpy_capture.meanings.numpy.tables import UFUNCS
from dvm.magpy_capture.meanings.numpy.ufuncs import ABSENT, FALSE, NONE, TRUE, ZERO
from dvm.magpy_capture.path.program import describe
from dvm.magpy_capture.path.spec import NotCapturable, refuse
from dvm.magpy_capture.values import (
    Abstract,
    Literal,
    Named,
    Sequence,
    Tensor,
    is_literal,
    is_none,
    resolve,
)

#: ufunc -> op of the graph that reduces with it
REDUCTIONS: dict[np.ufunc, str] = {
    np.add: "sum",
    np.multiply: "prod",
    np.maximum: "max",
    np.minimum: "min",
    np.fmax: "max",
    np.fmin: "min",
    np.logical_and: "all",
    np.logical_or: "any",
}
#: the same over bools, where it is another one
OF_BOOLS: dict[np.ufunc, str] = {
    np.add: "any",
    np.multiply: "all",
    np.bitwise_and: "all",
    np.bitwise_or: "any",
}
#: the op that has a value for no elements, of one that has none
DEFINED: dict[str, str] = {"max": "max_or_lowest", "min": "min_or_highest"}
#: What fmax and fmin reduce like where nothing is NaN.
OF_NUMBERS: dict[np.ufunc, np.ufunc] = {np.fmax: np.maximum, np.fmin: np.minimum}


def neutral(op: str, dtype: str) -> Any:
    """The element that changes no result of a reduction."""
    if op in ("sum", "prod"):
        return int(op == "prod")
    low = op in ("max", "any")
    kind = np.dtype(dtype)
    if kind.kind == "b":
        return not low
    if kind.kind == "f":
        return -np.inf if low else np.inf
    return int(np.iinfo(kind).min if low else np.iinfo(kind).max)


class UfuncMethods(NumpyPart):
    """`np.add.reduce(...)` and its kin."""

    needs = (
        "arrays elementwise folds graph indexing layouts opaque program promotion reduced_axes "
        "rules ufuncs views"
    )

    def ufunc_method(
        self, function: np.ufunc, name: str, positional: list[Abstract], named: Named, seen: Any
    ) -> Abstract:
        try:
            if name == "outer" and len(positional) == 2:
                return self.ufunc_outer(function, *positional, **named)
            if name == "reduce" and positional:
                return self.ufunc_reduce(function, *positional, **named)
            if name == "accumulate" and positional:
                return self.accumulate(function, *positional, **named)
            if name == "reduceat" and len(positional) > 1:
                return self.reduceat(function, *positional, **named)
        except (NotCapturable, TypeError):
            pass
        if name not in ("outer", "reduce", "accumulate", "reduceat", "at"):
            raise refuse(reasons.UFUNC_METHOD, function.__name__, name)
        return self.opaque.call(getattr(function, name), positional, named, seen)

    def ufunc_outer(
        self, function: np.ufunc, a: Abstract, b: Abstract, out: Abstract = NONE, **named: Abstract
    ) -> Abstract:
        x, y = self.ufuncs.as_array(a), self.ufuncs.as_array(b)
        ones = [self.graph.size(1)] * y.rank
        value = self.views.reshape_value(
            self.arrays.value_of(x), [*self.arrays.stored_shape(x), *ones]
        )
        order = (*x.order, *range(x.rank, x.rank + y.rank))
        out = resolve(out)
        if isinstance(out, Sequence) and len(out.elements) == 1:
            out = resolve(out.elements[0])
        return self.ufuncs.computed(
            function, [fresh(value, x.dtype, [*x.shape, *ones], order), y], named, out
        )

    # ---- arguments

    def axes(self, axis: Abstract, rank: int) -> list[int]:
        """The axes to reduce, ascending; NumPy lets a 0-d array have an axis of its own."""
        given = self.indexing.plain(axis)
        if given is None:
            return list(range(rank))
        if rank == 0 and type(given) is int and given in (0, -1):
            return []
        return sorted(self.axis(a, rank) for a in (given if isinstance(given, tuple) else (given,)))

    def axis(self, axis: Any, rank: int) -> int:
        if not isinstance(axis, (int, np.integer)) or not -rank <= axis < rank:
            raise refuse(reasons.AXIS_ARRAY_RANK, axis, rank)
        return int(axis) % rank

    def keeps(self, keepdims: Abstract) -> bool:
        return not is_literal(keepdims, np._NoValue) and bool(self.indexing.plain(keepdims))

    def result_array(self, out: Abstract) -> Tensor | None:
        """The array that out= names, if any."""
        out = resolve(out)
        if isinstance(out, Sequence) and len(out.elements) == 1:
            out = resolve(out.elements[0])
        if is_none(out):
            return None
        if not isinstance(out, Tensor):
            raise refuse(reasons.OUT, describe(out))
        return out

    def loop_dtype(
        self, function: np.ufunc, x: Tensor, wanted: Abstract, out: Tensor | None
    ) -> str:
        """The dtype in which NumPy reduces or accumulates `x`."""
        first = None if is_none(wanted) else np.dtype(self.ufuncs.dtype_name(wanted))
        given = None if out is None else np.dtype(out.dtype)
        try:
            loop = function.resolve_dtypes(
                (given, np.dtype(x.dtype), None),
                signature=(first, None, None),
                casting="unsafe",
                reduction=True,
            )
        except TypeError as mismatch:
            raise refuse(reasons.UFUNC_ARGUMENTS, function.__name__, mismatch) from None
        if len(set(loop)) != 1:
            raise refuse(reasons.REDUCE, function.__name__, x.dtype)
        return self.ufuncs.dtype_name(Literal(loop[0]))

    def first_element(self, initial: Abstract, dtype: str) -> Tensor:
        """`initial` as NumPy converts it: the way assignment converts."""
        initial = resolve(initial)
        if isinstance(initial, Literal):
            try:
                with np.errstate(all="raise"):
                    np.asarray(initial.object).astype(dtype)
            except (FloatingPointError, TypeError, ValueError):
                raise refuse(reasons.INITIAL, describe(initial)) from None
            if isinstance(initial.object, np.integer):
                initial = Literal(int(initial.object))  # whose range is checked likewise
        first = self.ufuncs.as_array(initial, dtype)
        exact = dtype.startswith("float") or np.can_cast(first.dtype, dtype, "safe")
        if first.rank or not exact:  # NumPy may raise
            raise refuse(reasons.INITIAL, describe(first))
        return self.elementwise.cast(first, dtype)

    def mask(self, where: Abstract, x: Tensor) -> Tensor | None:
        """where= as bools of the shape of `x`, or None where it is True."""
        if is_literal(where, True) or is_literal(where, np._NoValue):
            return None
        test = self.ufuncs.as_array(where, "bool")
        if test.dtype != "bool" or test.rank > x.rank:
            raise refuse(reasons.WHERE, describe(test))
        order = self.rules.result_order([x, test], x.rank)
        stored = [x.shape[axis] for axis in order]
        return fresh(
            self.graph.broadcast_value(self.layouts.arranged(test, order), stored),
            "bool",
            x.shape,
            order,
        )

    def deliver(self, result: Tensor, out: Tensor | None) -> Tensor:
        """The result, or `out` with the result in it, which must have its shape."""
        if out is None:
            return result
        if out.rank != result.rank:
            raise refuse(reasons.OUT_ANOTHER_RANK_RESULT)
        self.program.require_all_equal(out.shape, result.shape)
        return self.ufuncs.store_result(result, out)

    # ---- reduce

    def ufunc_reduce(
        self,
        function: np.ufunc,
        array: Abstract,
        axis: Abstract = ZERO,
        dtype: Abstract = NONE,
        out: Abstract = NONE,
        keepdims: Abstract = FALSE,
        initial: Abstract = ABSENT,
        where: Abstract = TRUE,
    ) -> Tensor:
        """`function.reduce` over any axes (NumPy: ufunc_object.c, PyUFunc_Reduce)."""
        x = self.layouts.in_order(self.ufuncs.as_array(array))
        axes = self.axes(axis, x.rank)
        into = self.result_array(out)
        x = self.elementwise.cast(x, self.loop_dtype(function, x, dtype, into))
        op = self._reduction(function, x.dtype)
        has_identity = op not in DEFINED if op else function.identity is not None
        if is_none(initial) and has_identity:
            raise refuse(reasons.REDUCE_WITHOUT_IDENTITY, function.__name__)
        absent = is_none(initial) or is_literal(initial, np._NoValue)
        first = None if absent else self.first_element(initial, x.dtype)
        result = self.fold(function, x, axes, self.keeps(keepdims), first, self.mask(where, x))
        return self.deliver(result, into)

    def _reduction(self, function: np.ufunc, dtype: str) -> str | None:
        """The op that reduces with the ufunc, if there is one."""
        op = OF_BOOLS.get(function) if dtype == "bool" else None
        return op or REDUCTIONS.get(function)

    def fold(
        self,
        function: np.ufunc,
        x: Tensor,
        axes: list[int],
        keepdims: bool,
        first: Tensor | None = None,
        mask: Tensor | None = None,
    ) -> Tensor:
        """Reduces in the dtype of `x`, with an element in front, what the mask lets through."""
        if function in OF_NUMBERS and x.dtype.startswith("float"):
            result = self._fold_numbers(OF_NUMBERS[function], x, axes, keepdims, first, mask)
        else:
            op = self._reduction(function, x.dtype)
            if op is None:
                return self.folds.ordered_fold(function, x, axes, keepdims, first, mask)
            if mask is not None:
                nothing = self.promotion.operand(Literal(neutral(op, x.dtype)), x.dtype)
                x = self.elementwise.apply("select", [mask, x, nothing], x.dtype, mask.order)
            if first is not None:
                op = DEFINED.get(op, op)
            result = self.reduced_axes.reduce(op, x, axes, keepdims)
        if first is None:
            return result
        return self.elementwise.apply(UFUNCS[function], [first, result], x.dtype, result.order)

    def _fold_numbers(
        self,
        function: np.ufunc,
        x: Tensor,
        axes: list[int],
        keepdims: bool,
        first: Tensor | None,
        mask: Tensor | None,
    ) -> Tensor:
        """The extreme of what is not NaN; NaN where all is."""
        if first is None and mask is None:
            return self.reduced_axes.reduce(f"nan{REDUCTIONS[function]}", x, axes, keepdims)
        missing = self.elementwise.apply("isnan", [x], "bool", x.order)
        nothing = self.promotion.operand(Literal(neutral(REDUCTIONS[function], x.dtype)), x.dtype)
        numbers = self.elementwise.apply("select", [missing, nothing, x], x.dtype, x.order)
        least = nothing if first is not None else None
        found = self.fold(function, numbers, axes, keepdims, least, mask)
        none = self.fold(np.logical_and, missing, axes, keepdims, None, mask)
        nan = self.promotion.operand(Literal(np.nan), x.dtype)
        return self.elementwise.apply("select", [none, nan, found], x.dtype, found.order)

    # ---- accumulate

    def accumulate(
        self,
        function: np.ufunc,
        array: Abstract,
        axis: Abstract = ZERO,
        dtype: Abstract = NONE,
        out: Abstract = NONE,
    ) -> Tensor:
        """`function.accumulate` along one axis."""
        x, place, into = self._running_operand(function, array, axis, dtype, out)
        return self.deliver(self.folds.scan(function, x, place), into)

    def reduceat(
        self,
        function: np.ufunc,
        array: Abstract,
        indices: Abstract,
        axis: Abstract = ZERO,
        dtype: Abstract = NONE,
        out: Abstract = NONE,
    ) -> Tensor:
        """`function.reduceat` along one axis."""
        x, place, into = self._running_operand(function, array, axis, dtype, out)
        return self.deliver(
            self.folds.pieces(function, x, self.ufuncs.as_array(indices), place), into
        )

    def _running_operand(
        self, function: np.ufunc, array: Abstract, axis: Abstract, dtype: Abstract, out: Abstract
    ) -> tuple[Tensor, int, Tensor | None]:
        """The array in the dtype of the loop, the axis, and the array that out= names."""
        x = self.layouts.in_order(self.ufuncs.as_array(array))
        place = self.axis(self.indexing.plain(axis), x.rank)
        into = self.result_array(out)
        x = self.elementwise.cast(x, self.loop_dtype(function, x, dtype, into))
        # Of two zeros the op keeps the second where NumPy's loop keeps the first, or the other way.
        others = (np.maximum, np.minimum) if x.dtype == "float16" else (np.fmax, np.fmin)
        if x.dtype.startswith("float") and function in others:
            raise refuse(reasons.TWO_ZEROS_FIRST)
        return x, place, into
